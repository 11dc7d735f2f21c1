#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# bare-debian.sh DIRECTORY [PACKAGE...]: unpacks a Debian 12 there that has what every Debian has, the packages
# and nothing else. What was downloaded for it stays in build/chroot and serves the next one. ARCHITECTURE: one that this
# machine cannot run (arm64): packages are unpacked without being configured, for an emulator to run their programs.
#
# It comes from where this machine gets its own Debian from: the sources that apt has here.
set -eu
cd "$(dirname "$0")/.."
into=$1
shift

sources=$(scripts/debian-sources.sh)
native=$(dpkg --print-architecture)
variant=minbase
[ "${ARCHITECTURE:=$native}" = "$native" ] || variant=extract
key=$(echo "$sources $ARCHITECTURE $*" | sha256sum | cut -c1-12)
tarball=build/chroot/bookworm-$key.tar
if [ ! -e "$tarball" ]; then
    mkdir -p build/chroot
    echo "$sources" | mmdebstrap --quiet --format=tar --variant=$variant --architectures="$ARCHITECTURE" \
        --include="ca-certificates $*" --aptopt='Acquire::Retries "3"' bookworm "$tarball.part" -
    mv "$tarball.part" "$tarball"
fi
mkdir -p "$into"
tar -xpf "$tarball" -C "$into" --numeric-owner
