#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# abi.sh describe LIBRARY HEADERS FILE   writes what programs that were built with this library rely on
# abi.sh compare FILE LIBRARY HEADERS    prints what of that has changed, with status 1; more functions are no change
#
# Of the shared library: its functions, and the types of the headers in the directory HEADERS.
set -eu

describe() { # LIBRARY HEADERS FILE
    abidw --headers-dir "$2" --drop-private-types --no-corpus-path --no-comp-dir-path --no-show-locs \
        --out-file "$3" "$1"
}

case ${1:-} in
describe)
    describe "$2" "$3" "$4"
    ;;
compare)
    now=$(mktemp)
    trap 'rm -f "$now"' EXIT
    describe "$3" "$4" "$now"
    abidiff --no-added-syms "$2" "$now" || exit 1
    ;;
*)
    echo "usage: abi.sh describe LIBRARY HEADERS FILE | compare FILE LIBRARY HEADERS" >&2
    exit 64
    ;;
esac
