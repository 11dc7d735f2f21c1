#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# format.sh          formats every C and C++ file of the tree
# format.sh --check  changes nothing; status 1 if a file is not formatted
set -eu
cd "$(dirname "$0")/.."

# Each major version of clang-format has its own taste; the tree follows that of Debian 12.
wanted=14
tool=$(command -v "clang-format-$wanted" || command -v clang-format || true)
if [ -z "$tool" ]; then
    echo "format: clang-format $wanted is not installed; run 'make deps'" >&2
    exit 1
fi
case $("$tool" --version) in
*"version $wanted."*) ;;
*)
    echo "format: skipped: this tree is formatted by clang-format $wanted, not by" \
        "$("$tool" --version)" >&2
    exit 0
    ;;
esac

files=$(find include src cli redlockd tests lab examples bindings scripts fencing \
    \( -name '*.c' -o -name '*.h' -o -name '*.cc' \) -type f 2>/dev/null | sort)
[ -n "$files" ] || exit 0

if [ "${1:-}" = --check ]; then
    # shellcheck disable=SC2086 # no name in the tree has a space
    unformatted=$("$tool" --dry-run $files 2>&1 | sed -n 's/^\([^ :]*\):[0-9]*:.*/\1/p' | sort -u)
    if [ -n "$unformatted" ]; then
        echo "format: not formatted:" >&2
        echo "$unformatted" >&2
        echo "format: run 'make format' and look at what it changed" >&2
        exit 1
    fi
    # clang-format breaks neither comments nor string literals.
    # shellcheck disable=SC2086
    wide=$(grep -nE '.{97,}' $files || true)
    if [ -n "$wide" ]; then
        echo "format: wider than 96 columns:" >&2
        echo "$wide" >&2
        exit 1
    fi
else
    # shellcheck disable=SC2086
    "$tool" -i $files
fi
