#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Decisions make no system call, read no clock and no randomness: what an object file of a pure
# layer refers to outside of the pure layers is a short list, or this fails.
#
# usage: purity.sh LAYER KNOWN-SYMBOL 'ALLOWED NAMES'|none OBJECT... [-- OBJECT OF A LAYER BELOW...]
set -eu
layer=$1 known=$2 allowed=$3
shift 3
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

objects='' below='' into=objects
for file in "$@"; do
    if [ "$file" = -- ]; then
        into=below
    elif [ $into = objects ]; then
        objects="$objects $file"
    else
        below="$below $file"
    fi
done

# shellcheck disable=SC2086 # lists of paths without spaces, made by the build
nm --defined-only $objects $below | awk 'NF == 3 { print $3 }' | sort -u >"$tmp/defined"
# shellcheck disable=SC2086
nm -u $objects | awk '$1 == "U" || $1 == "w" { print $2 }' | sort -u >"$tmp/undefined"
# Functions of memory and text alone, and what compilers add: stack protection, checked
# variants, position independence.
{
    printf '%s\n' $allowed
    printf '%s\n' __stack_chk_fail _GLOBAL_OFFSET_TABLE_ memcpy memcmp memset memmove memchr \
        strlen strcmp strncmp strncasecmp strcpy strchr strrchr strcspn strspn strstr \
        __memcpy_chk __memmove_chk __memset_chk __strcpy_chk
} | sort -u >"$tmp/allowed"

if ! grep -qx "$known" "$tmp/defined"; then
    echo "# $layer: $known is not defined in the objects given: looking at the wrong files?"
    exit 1
fi
sort -u "$tmp/defined" "$tmp/allowed" >"$tmp/fine"
comm -23 "$tmp/undefined" "$tmp/fine" >"$tmp/foreign"
if [ -s "$tmp/foreign" ]; then
    echo "# $layer refers to what a pure layer must not know:"
    sed 's/^/#   /' "$tmp/foreign"
    echo "not ok - purity of $layer"
    exit 1
fi
echo "ok - purity of $layer ($(wc -l <"$tmp/undefined") symbols from outside its files)"
