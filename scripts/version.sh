#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# version.sh: prints the version, which the header alone states; tests/tools/version.sh compares the rest.
# version.sh --seconds: when the last commit was made, or, in a tree that came out of a tarball, its header.
set -eu
cd "$(dirname "$0")/.."
if [ "${1:-}" = --seconds ]; then
    if [ "$(git rev-parse --show-prefix 2>/dev/null || echo none)" = "" ]; then
        git log -1 --format=%ct
    else
        stat -c %Y include/redlock.h
    fi
    exit
fi
sed -n 's/^#define REDLOCK_VERSION_\(MAJOR\|MINOR\|PATCH\) \([0-9]*\)$/\2/p' include/redlock.h | paste -sd .
