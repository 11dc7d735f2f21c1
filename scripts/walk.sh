#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# walk.sh: the way of a lock. Builds the library into build/walk so that every function reports
# its entry, runs uncontended blocking cycles of acquire and release against five servers of
# `redlock dev`, and prints the files and functions of src/ in the order of their first call, with
# a new line for every change of file; then how many there are.
set -eu
cd "$(dirname "$0")/.."
build=build/walk
jobs=${JOBS:-2}

cmake -S . -B "$build" -DCMAKE_BUILD_TYPE=Debug -DREDLOCK_WERROR=OFF \
    -DCMAKE_C_FLAGS="-O0 -gdwarf-4 -finstrument-functions" >/dev/null
cmake --build "$build" --parallel "$jobs" --target redlock_static redlock >"$build/log" 2>&1 || {
    tail -20 "$build/log" >&2
    exit 1
}
${CC:-cc} -gdwarf-4 -no-pie -Iinclude -o "$build/cycles" scripts/walk.c "$build/libredlock.a" \
    -lssl -lcrypto -lpthread

"$build/redlock" dev -c 5 -- "$build/cycles" >"$build/addresses"
# Two lines an address: the function, then FILE:LINE. An inline function has an address in every
# file that uses it, and counts once.
grep '^0x' "$build/addresses" | addr2line -f -e "$build/cycles" | paste - - |
    sed -n 's|^\([^	]*\)	.*/src/\([^:]*\):.*|\2 \1|p' |
    awk '!seen[$0]++' >"$build/functions"

awk '
$1 != file {
    file = $1
    printf "%s%s\n", (NR > 1 ? "\n" : ""), file
    width = 0
}
{
    if (width == 0 || width + length($2) > 88) {
        printf "%s    %s", (width ? "\n" : ""), $2
        width = 4 + length($2)
    } else {
        printf " %s", $2
        width += 1 + length($2)
    }
    functions++
    if ($1 ~ /\.c$/ && !($1 in seen)) {
        seen[$1] = 1
        files++
        split($1, part, "/")
        if (!(part[1] in rooms)) order[++room_count] = part[1]
        rooms[part[1]]++
    }
    split($1, part, "/")
    in_room[part[1]]++
}
END {
    print "\n"
    for (i = 1; i <= room_count; i++)
        printf "%-10s %2d files %4d functions\n", order[i], rooms[order[i]], in_room[order[i]]
    printf "%-10s %2d files %4d functions\n", "together", files, functions
}' "$build/functions"
