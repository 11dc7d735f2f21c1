#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# coverage.sh BUILD: which lines of each room have run, from what the tests of BUILD left behind.
#
# A line counts once, however many programs it was compiled into, and has run if it ran in any of
# them. Lists the lines of src/core that never ran; status 1 if they are more than 5 %.
set -eu
cd "$(dirname "$0")/.."

build=$1
least=95
root=$(pwd)

# Each count of each object: "FILE LINE 0|1".
lines() {
    # The objects whose tests were killed left no counts: their notes alone make zeros.
    find "$build" -name '*.gcno' -print0 |
        xargs -0 -n 32 gcov --stdout 2>/dev/null |
        awk -v root="$root/" '
            /^ *-: *0:Source:/ {
                file = substr($0, index($0, "Source:") + 7)
                wanted = index(file, root) == 1
                file = substr(file, length(root) + 1)
                wanted = wanted && file ~ /^(src|cli)\//
                next
            }
            !wanted { next }
            {
                count = $0
                sub(/:.*/, "", count)
                gsub(/[ *]/, "", count)
                if (count == "-") next
                line = $0
                sub(/^[^:]*: */, "", line)
                sub(/:.*/, "", line)
                if (line + 0 == 0) next
                print file, line, count != "#####" && count != "=====" && count != "$$$$$"
            }'
}

lines | sort | awk '
    { key = $1 " " $2; if ($3) ran[key] = 1; seen[key] = 1 }
    END { for (key in seen) print key, ran[key] + 0 }' | sort -k1,1 -k2,2n >"$build/lines.txt"

awk -v least="$least" '
    {
        n = split($1, part, "/")
        room = part[1] == "src" && n > 2 ? part[1] "/" part[2] : part[1]
        total[room]++
        covered[room] += $3
        if (room == "src/core" && !$3) missed[++misses] = $1 ":" $2
    }
    END {
        split("src/core src/protocol src/engine src/io src/client cli", order, " ")
        printf "%-12s %8s %8s %8s\n", "room", "covered", "lines", "%"
        for (i = 1; i in order; i++) {
            room = order[i]
            if (!total[room]) continue
            printf "%-12s %8d %8d %7.1f%%\n", room, covered[room], total[room],
                100 * covered[room] / total[room]
        }
        if (!total["src/core"]) {
            print "coverage: nothing is known about src/core"
            exit 1
        }
        if (misses) print "\nlines of src/core that no test has run:"
        for (i = 1; i <= misses; i++) print "  " missed[i]
        if (100 * covered["src/core"] < least * total["src/core"]) {
            printf "\ncoverage: src/core is below %d %%\n", least
            exit 1
        }
    }' "$build/lines.txt"
