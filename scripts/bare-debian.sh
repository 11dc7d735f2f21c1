#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# bare-debian.sh DIRECTORY [PACKAGE...]: unpacks a Debian 12 there that has what every Debian has, the packages
# and nothing else. What was downloaded for it stays in build/chroot and serves the next one.
#
# It comes from where this machine gets its own Debian from: the sources that apt has here.
set -eu
cd "$(dirname "$0")/.."
into=$1
shift

sources=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(COMPONENT) $(ORIGIN)' 'Created-By: Packages' |
    awk '$2 ~ /^bookworm/ && $3 == "main" && $4 == "Debian" { print "deb", $1, $2, $3 }' | sort -u)
if [ -z "$sources" ]; then
    echo "bare-debian: apt on this machine has no Debian 12 (bookworm) among its sources" >&2
    exit 1
fi
key=$(echo "$sources $*" | sha256sum | cut -c1-12)
tarball=build/chroot/bookworm-$key.tar
if [ ! -e "$tarball" ]; then
    mkdir -p build/chroot
    echo "$sources" | mmdebstrap --quiet --format=tar --variant=minbase --include="ca-certificates $*" \
        --aptopt='Acquire::Retries "3"' bookworm "$tarball.part" -
    mv "$tarball.part" "$tarball"
fi
mkdir -p "$into"
tar -xpf "$tarball" -C "$into" --numeric-owner
