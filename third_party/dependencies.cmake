# How our build finds each dependency: what is installed first; a pinned download only if asked for,
# so that a build never reaches for the network by surprise. README.md beside this file lists them.
include(FetchContent)
include(${PROJECT_SOURCE_DIR}/cpp/cmake/bhclustEigen.cmake)

option(BHCLUST_DOWNLOAD "Download the pinned version of a dependency that is not installed" OFF)

set(BHCLUST_EIGEN_VERSIONS 3.4...<6)

function(bhclust_missing what remedy)
  message(FATAL_ERROR "bhclust needs ${what}, which was not found. ${remedy}, "
                      "or configure with -DBHCLUST_DOWNLOAD=ON.")
endfunction()

# Makes `target` of a header-only project: its headers are used in place, its own build is not run.
function(bhclust_download_headers target name url)
  FetchContent_Declare(${name} URL ${url} SOURCE_SUBDIR no-build)
  FetchContent_MakeAvailable(${name})
  string(TOLOWER ${name} lower)
  add_library(${target} INTERFACE IMPORTED)
  target_include_directories(${target} INTERFACE ${${lower}_SOURCE_DIR})
endfunction()

# Eigen and threads: all that the headers need. Imported targets are seen in one folder unless made
# global, and whoever adds us with add_subdirectory links them from another.
function(bhclust_find_header_dependencies)
  if(NOT TARGET Threads::Threads)
    find_package(Threads REQUIRED)
    set_target_properties(Threads::Threads PROPERTIES IMPORTED_GLOBAL TRUE)
  endif()
  if(TARGET Eigen3::Eigen)
    return()
  endif()
  bhclust_cmeel_prefix(prefix)
  find_package(Eigen3 ${BHCLUST_EIGEN_VERSIONS} CONFIG QUIET HINTS "${prefix}")
  if(NOT TARGET Eigen3::Eigen AND BHCLUST_DOWNLOAD)
    bhclust_download_headers(
      Eigen3::Eigen Eigen3 https://gitlab.com/libeigen/eigen/-/archive/3.4.0/eigen-3.4.0.tar.gz)
  elseif(NOT TARGET Eigen3::Eigen)
    bhclust_missing("Eigen 3.4" "Install it (pip install cmeel-eigen, or Debian's libeigen3-dev)")
  endif()
  set_target_properties(Eigen3::Eigen PROPERTIES IMPORTED_GLOBAL TRUE)
endfunction()

function(bhclust_find_doctest)
  find_package(doctest 2.4 CONFIG QUIET)
  if(NOT TARGET doctest::doctest AND BHCLUST_DOWNLOAD)
    bhclust_download_headers(
      doctest::doctest doctest
      https://github.com/doctest/doctest/archive/refs/tags/v2.4.11.tar.gz)
  elseif(NOT TARGET doctest::doctest)
    bhclust_missing("doctest for its tests" "Install it (Debian's doctest-dev)")
  endif()
endfunction()

function(bhclust_find_json)
  find_package(nlohmann_json 3.11 CONFIG QUIET)
  if(NOT TARGET nlohmann_json::nlohmann_json AND BHCLUST_DOWNLOAD)
    bhclust_download_headers(
      nlohmann_json::nlohmann_json nlohmann_json
      https://github.com/nlohmann/json/releases/download/v3.11.2/include.zip)
  elseif(NOT TARGET nlohmann_json::nlohmann_json)
    bhclust_missing("nlohmann's JSON for its tests" "Install it (Debian's nlohmann-json3-dev)")
  endif()
endfunction()

function(bhclust_find_benchmark)
  find_package(benchmark 1.7 CONFIG QUIET)
  if(NOT TARGET benchmark::benchmark_main AND BHCLUST_DOWNLOAD)
    set(BENCHMARK_ENABLE_TESTING OFF)
    FetchContent_Declare(
      benchmark URL https://github.com/google/benchmark/archive/refs/tags/v1.7.1.tar.gz)
    FetchContent_MakeAvailable(benchmark)
  elseif(NOT TARGET benchmark::benchmark_main)
    bhclust_missing("Google Benchmark for its benchmarks"
                    "Install it (Debian's libbenchmark-dev)")
  endif()
endfunction()
