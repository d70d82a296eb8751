#!/bin/sh
# need_header.sh HEADER DEBIAN_PACKAGE PURPOSE: installs the package that has the C++ header if it is
# missing and we may, else says what to install and why.
set -eu
header=$1 package=$2 purpose=$3
present() { echo "#include <$header>" | "${CXX:-c++}" -E -x c++ - >/dev/null 2>&1; }

present && exit
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "Installing $package for $purpose"
  { apt-get -qq update && apt-get -qq install -y --no-install-recommends "$package"; } >/dev/null
fi
present || {
  echo "bhclust: $purpose need <$header>. Install it, for example with" >&2
  echo "    sudo apt-get install $package" >&2
  exit 1
}
