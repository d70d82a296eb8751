# Which instruction sets the Python module is built for: a list of
#   baseline     whatever the compiler makes without options
#   x86-64-v2    SSE4.2 and POPCNT (2009)
#   x86-64-v3    AVX2, FMA and BMI2 (2013 and 2017)
#   x86-64-v4    AVX-512
# Every set is the whole module compiled once more. "all" is for modules that others are to run:
# x86-64-v2, v3 and v4, or the baseline on other processors. Empty is for this machine and most
# others: one, x86-64-v3 where this machine has it, else the baseline.
include(CheckCXXSourceCompiles)
include(CheckCXXSourceRuns)

set(BHCLUST_INSTRUCTION_SETS "" CACHE STRING
    "Instruction sets of the Python module: a list, all, or empty for one that suits this machine")

# Where the compiler knows the levels of x86-64, by options and at run time: GCC >= 12, Clang >= 18.
function(bhclust_knows_levels found)
  set(CMAKE_REQUIRED_FLAGS -march=x86-64-v4)
  check_cxx_source_compiles(
    "int main() { return __builtin_cpu_supports(\"x86-64-v4\") ? 1 : 0; }" BHCLUST_KNOWS_LEVELS)
  set(${found} ${BHCLUST_KNOWS_LEVELS} PARENT_SCOPE)
endfunction()

function(bhclust_instruction_sets result)
  bhclust_knows_levels(levels)
  set(sets ${BHCLUST_INSTRUCTION_SETS})
  if(sets STREQUAL "all" AND levels)
    set(sets x86-64-v2 x86-64-v3 x86-64-v4)
  elseif(sets STREQUAL "all" OR NOT sets)
    set(sets baseline)
    if(levels AND NOT BHCLUST_INSTRUCTION_SETS AND NOT CMAKE_CROSSCOMPILING)
      check_cxx_source_runs("int main() { return __builtin_cpu_supports(\"x86-64-v3\") ? 0 : 1; }"
                            BHCLUST_HAS_V3)
      if(BHCLUST_HAS_V3)
        set(sets x86-64-v3)
      endif()
    endif()
  endif()
  foreach(set IN LISTS sets)
    if(NOT set MATCHES "^(baseline|x86-64-v[234])$")
      message(FATAL_ERROR "BHCLUST_INSTRUCTION_SETS has '${set}'; it must be all, empty, or a list "
                          "of baseline, x86-64-v2, x86-64-v3, x86-64-v4")
    elseif(NOT set STREQUAL "baseline" AND NOT levels)
      message(FATAL_ERROR "BHCLUST_INSTRUCTION_SETS has '${set}', but this compiler cannot build "
                          "for it or ask for it at run time; leave it empty or say baseline")
    endif()
  endforeach()
  set(${result} ${sets} PARENT_SCOPE)
endfunction()
