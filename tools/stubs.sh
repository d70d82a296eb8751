#!/bin/sh
# stubs.sh write: writes the type stubs of the installed extension modules into the package's sources.
# stubs.sh check: fails, showing the difference, unless they stand there already.
set -eu
out=python
if [ "$1" = check ]; then
  out=$(mktemp -d)
  trap 'rm -rf "$out"' EXIT
fi
for module in _core _cpu; do
  rm -rf "$out"/bhclust/$module "$out"/bhclust/$module.pyi
  pybind11-stubgen bhclust.$module --output-dir "$out" --exit-code
  # What plain containers hold would be unknown, and with it whatever has to do with their classes.
  sed -i -E 's/(: |-> )tuple([,):])/\1tuple[typing.Any, ...]\2/; s/(: |-> )list([,):])/\1list[typing.Any]\2/
    s/(: |-> )dict([,):])/\1dict[str, typing.Any]\2/' "$out"/bhclust/$module.pyi
  ruff format --quiet "$out"/bhclust/$module*
  [ "$1" = write ] || diff -r python/bhclust/$module* "$out"/bhclust/$module* || {
    echo 'The stubs do not match the bindings: run `make stubs`.' >&2
    exit 1
  }
done
