#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# prebuilt-cc.sh x86_64|aarch64: prints the compiler, with its options, for what is shipped compiled to that processor:
# Debian's, native or cross, with the headers and libraries that sysroot.sh has unpacked, and none of this machine.
set -eu
cd "$(dirname "$0")/.."
case $1 in
x86_64) architecture=amd64 ;;
aarch64) architecture=arm64 ;;
*)
    echo "usage: prebuilt-cc.sh x86_64|aarch64" >&2
    exit 64
    ;;
esac
scripts/sysroot.sh "$architecture" >&2
sysroot=$PWD/build/sysroot/$architecture
# A cross compiler has a C library of its own, without Debian's security fixes, and looks there first.
libraries=$sysroot/usr/lib/$1-linux-gnu
echo "$1-linux-gnu-gcc --sysroot=$sysroot -B$libraries -L$libraries -isystem $sysroot/usr/include/python3.11"
