#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# scripts/abi.sh distinguishes a library that programs can go on using from one that breaks them.
set -euo pipefail
cd "$(dirname "$0")/../.."
if ! command -v abidw >/dev/null || ! command -v abidiff >/dev/null; then
    echo '# skipped: abigail-tools is not installed'
    exit 77
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# library NAME STRUCT-FIELDS [MORE]: as libredlock is built, with debug information and a version script.
library() {
    mkdir "$tmp/$1"
    printf 'struct pair { %s };\nint pair_sum(const struct pair *pair);\n%s\n' "$2" "${3:+int pair_$3(void);}" >"$tmp/$1/pair.h"
    {
        printf '#include "pair.h"\n'
        [ "${3:-}" = gone ] || printf 'int pair_sum(const struct pair *pair) { return pair->a + pair->b; }\n'
        [ -z "${3:-}" ] || printf 'int pair_%s(void) { return 1; }\n' "$3"
    } >"$tmp/$1/pair.c"
    cc -g -shared -fPIC -Wl,-soname,libpair.so.0 -I"$tmp/$1" "$tmp/$1/pair.c" -o "$tmp/$1/libpair.so"
}
judged() {
    if scripts/abi.sh compare "$tmp/first.xml" "$tmp/$1/libpair.so" "$tmp/$1" >"$tmp/said" 2>&1; then
        echo same
    else
        echo changed
    fi
}

library first 'int a; int b;'
scripts/abi.sh describe "$tmp/first/libpair.so" "$tmp/first" "$tmp/first.xml"
library again 'int a; int b;'
library more 'int a; int b;' product
library moved 'int a; int between; int b;'
library wider 'int a; long b;'
library less 'int a; int b;' gone
for case in 'again same' 'more same' 'moved changed' 'wider changed' 'less changed'; do
    set -- $case
    got=$(judged "$1")
    [ "$got" = "$2" ] || { echo "not ok - $1: $got, expected $2"; cat "$tmp/said"; exit 1; }
done
