#!/bin/sh
# stubs.sh write: writes the type stubs of the installed bhclust._core into the package's sources.
# stubs.sh check: fails, showing the difference, unless they stand there already.
set -eu
out=python
if [ "$1" = check ]; then
  out=$(mktemp -d)
  trap 'rm -rf "$out"' EXIT
fi
rm -rf "$out"/bhclust/_core "$out"/bhclust/_core.pyi
pybind11-stubgen bhclust._core --output-dir "$out" --exit-code
ruff format --quiet "$out"/bhclust/_core*
[ "$1" = write ] || diff -r python/bhclust/_core* "$out"/bhclust/_core* || {
  echo 'The stubs do not match the bindings: run `make stubs`.' >&2
  exit 1
}
