# Where the Python package cmeel-eigen keeps Eigen, or nothing if it is not installed. It lies inside
# site-packages, where find_package does not look, and under pip's build isolation in a folder that
# only the interpreter knows. Read by our build and, installed, by find_package(bhclust).
function(bhclust_cmeel_prefix result)
  set(python "${Python_EXECUTABLE}")
  if(NOT python)
    find_program(python NAMES python3 python NO_CACHE)
  endif()
  set(prefix "")
  if(python)
    execute_process(
      COMMAND
        "${python}" -c "
from importlib.metadata import files
config = next(f for f in files('cmeel-eigen') if f.name == 'Eigen3Config.cmake')
print(config.locate().resolve().parents[3].as_posix())"
      OUTPUT_VARIABLE prefix
      OUTPUT_STRIP_TRAILING_WHITESPACE
      ERROR_QUIET)
  endif()
  set(${result} "${prefix}" PARENT_SCOPE)
endfunction()
