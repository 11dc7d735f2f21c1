#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# deb.sh [DIRECTORY]: builds the Debian packages of the last commit there (build/deb), with their source.
set -eu
cd "$(dirname "$0")/.."

into=${1:-build/deb}
version=$(scripts/version.sh)
rm -rf "$into"
mkdir -p "$into"
tarball=$(scripts/dist.sh "$into")
tar -xpf "$tarball" -C "$into"
rm "$tarball"
log=$into/build.log
# Not what this machine would like a build to be: no compiler cache, no flags of its user.
cd "$into/redlock-$version"
if ! env -u CMAKE_C_COMPILER_LAUNCHER -u CFLAGS -u LDFLAGS \
    dpkg-buildpackage -us -uc >../build.log 2>&1; then
    tail -n 30 ../build.log >&2
    echo "deb: failed; all of it is in $log" >&2
    exit 1
fi
cd ..
rm -rf "redlock-$version"
ls -1 ./*.deb ./*.dsc ./*.changes | sed "s|^\./|$into/|"
