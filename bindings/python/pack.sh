#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# pack.sh OUTPUT [sdist|x86_64|aarch64]...: packs the package into OUTPUT, with the C library inside: its source, or a wheel
# for that processor with OpenSSL inside as well, tagged with the oldest glibc that has what it uses. A copy of the tree
# is used, so that nothing is left in the clone. A python3 that is not the system's may stand before it and have
# none of what is needed: both are tried, after PYTHON.
set -eu
umask 022 # archives keep the modes
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
setup() {
    rm -rf ./*.egg-info
    "$python" -B setup.py --quiet "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
}

# wheel PROCESSOR: compiled for it, whatever this machine is.
wheel() {
    CC=$("$tree/scripts/prebuilt-cc.sh" "$1")
    sysroot=${CC#*--sysroot=}
    "$tree/scripts/openssl-licence.sh" "${sysroot%% *}" >LICENSE.OpenSSL
    export CC LDSHARED="$CC -shared" CFLAGS="-g0 -ffile-prefix-map=$work=." REDLOCK_OPENSSL_INSIDE=1
    export _PYTHON_HOST_PLATFORM="linux-$1"
    rm -rf build
    setup build
    glibc=$("$tree/scripts/check-inside.sh" build/lib*/redlock_native/_native.abi3.so)
    setup bdist_wheel --skip-build --plat-name "manylinux_$(echo "$glibc" | tr . _)_$1" --dist-dir "$output"
}

rm -rf build dist
# The same commit gives the same wheels, byte by byte: they get its time.
SOURCE_DATE_EPOCH=$("$tree/scripts/version.sh" --seconds)
export SOURCE_DATE_EPOCH
for kind in "$@"; do
    case $kind in
    sdist) setup sdist --dist-dir "$output" ;;
    *) (wheel "$kind") ;;
    esac
done
