#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# version.sh: prints the version, which the header alone states; tests/tools/version.sh compares the rest.
set -eu
cd "$(dirname "$0")/.."
sed -n 's/^#define REDLOCK_VERSION_\(MAJOR\|MINOR\|PATCH\) \([0-9]*\)$/\2/p' include/redlock.h | paste -sd .
