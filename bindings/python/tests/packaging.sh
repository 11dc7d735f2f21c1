#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# packaging.sh PYTHON BUILD-DIRECTORY: the package builds from its own setup.py against an installed library, as for a
# distribution, offline, as one abi3 extension, with the version of the library and its types beside it.
set -eu
python=$1 build=$(readlink -f "$2") source=$(readlink -f "$(dirname "$0")/..")
"$python" -c 'import setuptools' 2>/dev/null || { echo "no setuptools here"; exit 77; }
command -v pkg-config >/dev/null || { echo "no pkg-config here"; exit 77; }

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
printf 'Name: redlock\nDescription: as built\nVersion: %s\nCflags: -I%s\nLibs: -L%s -lredlock\n' \
    "$(sed -n 's/^#define REDLOCK_VERSION_[A-Z]* //p' "$source/../../include/redlock.h" | paste -sd.)" \
    "$source/../../include" "$build" >"$tmp/redlock.pc"
export REDLOCK_SYSTEM_LIBRARY=1 PKG_CONFIG_PATH="$tmp" LD_LIBRARY_PATH="$build"

cp -r "$source" "$tmp/python" # alone: the tree around it is not there
cd "$tmp/python"
"$python" -B setup.py --quiet build --build-base "$tmp/build" >"$tmp/log" 2>&1 || { cat "$tmp/log"; exit 1; }
library=$(echo "$tmp"/build/lib*)
for file in _native.abi3.so py.typed _native.pyi __init__.py; do
    test -f "$library/redlock_native/$file" || { echo "no $file"; exit 1; }
done
cd "$tmp"
PYTHONPATH=$library "$python" -B - "$tmp/redlock.pc" <<'CODE'
import sys
import redlock_native as redlock
with open(sys.argv[1], encoding="ascii") as file:
    assert f"Version: {redlock.__version__}\n" in file, redlock.__version__
try:
    redlock.Client([])
except redlock.InvalidRequest:
    print("ok")
CODE
