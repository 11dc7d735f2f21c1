#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Every path that the documents and comments name exists.
#
# usage: paths.sh TREE
#
# A path is a word that begins with a folder of the tree (tests/unit/lock.c) or that names a file in
# a room of src/ (core/acquire.c). Words with capitals (corpus/TARGET) stand for something else.
set -euo pipefail
cd "$1"

folders='cli|cmake|debian|docs|examples|include|lab|man|packaging|redlockd|scripts|src|tests'
rooms=$(cd src && printf '%s\n' */ | tr -d / | paste -sd '|')
path="(^|[^[:alnum:]_./:\$}~-])(($folders)/[[:alnum:]_.*/-]+|($rooms)/[[:alnum:]_*-]+[.](c|h|lua))"

words() {
    grep -rnoIE --include='*.md' --include='*.[1-9]' --include='*.[ch]' --include='*.lua' \
        --include='*.sh' --include='*.pml' --include=Makefile "$path" -- *.md Makefile docs man \
        include src cli redlockd lab fencing examples tests scripts
}

seen=0 missing=0
while IFS=: read -r file line word; do
    name=${word#[^[:alnum:]]}
    name=${name%%[./-]}
    seen=$((seen + 1))
    [[ $name != *[[:upper:]]* ]] || continue
    for place in "$name" "src/$name" "cli/$name"; do # #include "bench/latency.h" is of cli/
        compgen -G "$place" >/dev/null && continue 2
    done
    echo "$file:$line: there is no $name"
    missing=1
done < <(words)
if [ "$seen" -lt 500 ]; then
    echo "only $seen paths were found: the search is broken"
    exit 1
fi
exit "$missing"
