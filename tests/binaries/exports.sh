#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The shared library exports what the header declares and nothing else, under its SONAME.
#
# usage: exports.sh LIBRARY HEADER
set -eu
library=$1 header=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

nm -D --defined-only "$library" | awk '$2 ~ /[TDBRVW]/ { sub(/@.*/, "", $3); print $3 }' |
    sort -u >"$tmp/exported"
# Declarations begin with REDLOCK_API; the name is the last word before the parenthesis.
sed -n 's/^REDLOCK_API [^(]*[ *]\(redlock_[a-z_]*\)(.*/\1/p' "$header" | sort -u >"$tmp/declared"

status=0
if [ "$(wc -l <"$tmp/declared")" -lt 20 ]; then
    echo "# only $(wc -l <"$tmp/declared") declarations found in $header"
    status=1
fi
if ! diff "$tmp/declared" "$tmp/exported" >"$tmp/diff"; then
    echo "# declared (<) and exported (>) differ:"
    sed 's/^/#   /' "$tmp/diff"
    status=1
fi
major=$(sed -n 's/^#define REDLOCK_VERSION_MAJOR \([0-9]*\)$/\1/p' "$header")
if ! readelf -d "$library" | grep -q "SONAME.*\[libredlock\.so\.$major\]"; then
    echo "# SONAME is not libredlock.so.$major:"
    readelf -d "$library" | grep SONAME || true
    status=1
fi
[ $status = 0 ] && echo "ok - exports" || echo "not ok - exports"
exit $status
