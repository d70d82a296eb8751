# `make` lists the targets. VENV and BUILD may name other folders.
VENV ?= .venv
BUILD ?= build
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(shell nproc 2>/dev/null || echo 2)
MAKEFLAGS += --no-print-directory
export CTEST_PARALLEL_LEVEL ?= $(CMAKE_BUILD_PARALLEL_LEVEL)
export PATH := $(abspath $(VENV))/bin:$(PATH)

PYTHON := $(VENV)/bin/python
PACKAGE := $(VENV)/.package
TOOLS := $(VENV)/.tools
# Without build isolation the compiler sees the same paths every time, so only what changed is rebuilt.
PIP_INSTALL := $(PYTHON) -m pip install --disable-pip-version-check --quiet --no-build-isolation
# Uninstalled first: a build asks every installed CMake package for its place, imports ours to do so, and
# could not mend one that fails to import.
INSTALL := $(PYTHON) -m pip uninstall --quiet --quiet --yes bhclust && \
  $(PIP_INSTALL) -C build-dir=$(BUILD)/package
CMAKE := cmake -DPython_EXECUTABLE=$(abspath $(PYTHON))
PACKAGE_SOURCES := pyproject.toml CMakeLists.txt README.md LICENSE \
  $(shell find cpp python third_party -type f -not -name '*.pyc')
CXX_FILES = $(shell git ls-files -co --exclude-standard '*.hpp' '*.cpp')

.PHONY: help setup demo test docs asan tsan bench lint format stubs clean
.DEFAULT_GOAL := help

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 10

setup: $(PACKAGE) $(TOOLS) ## what the other targets need: .venv, Debian packages
	@tools/need_header.sh doctest/doctest.h doctest-dev 'the C++ tests'
	@tools/need_header.sh nlohmann/json.hpp nlohmann-json3-dev 'the C++ tests'
	@tools/need_header.sh benchmark/benchmark.h libbenchmark-dev 'the benchmarks'

demo: $(PACKAGE) ## cluster a real table, draw it, sum it up
	$(VENV)/bin/bhclust demo

test: setup ## C++ tests, Python tests
	$(CMAKE) --preset dev -B $(BUILD)/dev && cmake --build $(BUILD)/dev
	ctest --test-dir $(BUILD)/dev --output-on-failure
	$(PYTHON) -m pytest

docs: setup ## the documentation, in build/docs
	$(PYTHON) -m sphinx -W --keep-going -j auto -b html docs $(BUILD)/docs

asan: setup ## both under AddressSanitizer and UndefinedBehaviorSanitizer
	$(CMAKE) --preset asan -B $(BUILD)/asan && cmake --build $(BUILD)/asan
	ctest --test-dir $(BUILD)/asan --output-on-failure
	$(PIP_INSTALL) --no-deps --upgrade --target $(BUILD)/asan/site -C build-dir=$(BUILD)/asan/package \
	  -C cmake.build-type=Debug -C cmake.define.BHCLUST_SANITIZE=address,undefined .
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
	  ASAN_OPTIONS=detect_leaks=0 PYTHONPATH=$(BUILD)/asan/site $(PYTHON) -m pytest

tsan: setup ## C++ tests under ThreadSanitizer
	$(CMAKE) --preset tsan -B $(BUILD)/tsan && cmake --build $(BUILD)/tsan
	ctest --test-dir $(BUILD)/tsan --output-on-failure

bench: setup ## benchmarks, then the peers side by side
	$(CMAKE) --preset release -DBHCLUST_TESTS=OFF -B $(BUILD)/release && cmake --build $(BUILD)/release
	for program in $(BUILD)/release/bench/*_bench; do $$program || exit 1; done
	$(PYTHON) bench/compare.py

lint: setup ## style, types, stubs, clang-tidy
	ruff check && ruff format --check && mypy
	basedpyright --level error
	cd / && basedpyright --verifytypes bhclust --ignoreexternal
	clang-format --dry-run -Werror $(CXX_FILES)
	tools/stubs.sh check
	$(CMAKE) --preset tidy -B $(BUILD)/tidy && cmake --build $(BUILD)/tidy

format: setup ## put every file into the house's style
	ruff check --fix-only --quiet && ruff format
	clang-format -i $(CXX_FILES)

stubs: setup ## write the type stubs of bhclust._core anew
	tools/stubs.sh write

clean: ## remove what was built (.venv stays)
	rm -rf $(BUILD) dist $(PACKAGE)

$(PYTHON):
	python3 -m venv $(VENV)

# pip has no command for "the build requirements of this project".
$(VENV)/build-requirements.txt: pyproject.toml | $(PYTHON)
	$(PYTHON) -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['build-system']['requires'], sep='\n')" > $@
	$(PIP_INSTALL) -r $@

$(PACKAGE): $(PACKAGE_SOURCES) $(VENV)/build-requirements.txt
	@echo 'Building and installing bhclust in $(VENV): some minutes the first time'
	$(INSTALL) '.[all]' && touch $@

$(TOOLS): pyproject.toml | $(PACKAGE)
	$(INSTALL) '.[all,docs,lint,test]' && touch $@
