#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# pack.sh OUTPUT [sdist|bdist_wheel]...: packs the package into OUTPUT, with the C library inside. A copy of the tree is
# used, so that nothing is left in the clone. A python3 that is not the system's may stand before it and have none
# of what is needed: both are tried, after PYTHON.
set -eu
output=$(mkdir -p "$1" && readlink -f "$1") tree=$(readlink -f "$(dirname "$0")/../..")
shift
for python in "${PYTHON:-python3}" python3 /usr/bin/python3 ''; do
    [ -n "$python" ] || { echo "pack.sh: no Python has setuptools, wheel and cffi" >&2; exit 1; }
    "$python" -c 'import setuptools, wheel, cffi' 2>/dev/null && break
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bindings"
cp -r "$tree/LICENSE" "$tree/include" "$tree/src" "$tree/cmake" "$work"
cp -r "$tree/bindings/python" "$work/bindings"
cd "$work/bindings/python"
rm -rf build dist ./*.egg-info
for kind in "$@"; do
    "$python" -B setup.py --quiet "$kind" --dist-dir "$output" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
done
