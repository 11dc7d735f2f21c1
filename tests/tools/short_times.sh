#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# short_times.sh ROOT: tests that run beside others rest on no short time, which a busy machine exceeds:
# no TTL below 2 s, no node timeout below 200 ms, no wait below a second, no upper bound in real time.
# What measures time is in tests/alone. A line in which being late does no harm says why in a comment that begins with "short:".
set -eu
cd "$1"
files=$(find tests bindings -type f \( -name '*.c' -o -name '*.h' -o -name '*.sh' -o -name '*.bash' \
    -o -name '*.py' -o -name '*.mjs' -o -name 'cases.json' \) |
    grep -E '^tests/|/(tests|cases|mixed)/' |
    grep -vE '^tests/(alone|unit|sim|packages)/|/(pulse[.][ch]|check[.]c|test_page[.]py|short_times[a-z_]*[.]sh)$|node_modules' | sort)
# shellcheck disable=SC2086 # words
awk '
    function complain(why) {
        text = $0
        sub(/^ +/, "", text)
        print FILENAME ":" FNR ": " why ": " text
        bad++
    }
    # number(PATTERN): the last number of what matches, or -1.
    function number(pattern,    found) {
        if (!match($0, pattern))
            return -1
        found = substr($0, RSTART, RLENGTH)
        gsub(/_/, "", found)
        sub(/[^0-9.]+$/, "", found)
        sub(/^.*[^0-9.]/, "", found)
        return found + 0
    }
    # time_ms(OPTION): the milliseconds of what follows it, as the command and Python have it (500ms, 1.5s, 2), or -1.
    function time_ms(option,    found) {
        if (!match($0, "(" option ")( = |[ =])[0-9.]+(ms|s)?([^0-9.a-z]|$)"))
            return -1
        found = substr($0, RSTART, RLENGTH)
        sub(/^[^0-9.]*/, "", found)
        return found ~ /ms/ ? found + 0 : found * 1000
    }
    function between(value, low, high) { return value >= low && value < high }

    /(\/\*|#|\/\/) short: ./ { marked++; next }
    # The call is refused before it reaches a node.
    /INVAL|FORKED|^mistake 64/ { next }

    FILENAME ~ /[.][ch]$/ {
        if (/pulse_(late|stalled)_ms|[^_]SLACK_MS|"pulse[.]h"/)
            complain("the pulse is for tests/alone")
        if (between(number("[A-Z_]*TTL[A-Z_]*_MS = [0-9]+[,; ]"), 1, 2000) ||
            between(number("ttl_ms\\\\\":[0-9]+"), 1, 2000) ||
            (/(client_lock|client_lock_on|client_try|kind_lock|kind_try|redlock_acquire|redlock_start_acquire|redlock_extend|redlock_start_extend|cluster_set)\(/ &&
                between(number(", [0-9][0-9]+[,)]"), 10, 2000)))
            complain("a TTL below 2 s")
        if (between(number("node_timeout_ms = [0-9]+"), 0, 200) || between(number("hasty\\(.*, [0-9]+\\)"), 0, 200) ||
            /hasty\(.*DEFAULT_MS/)
            complain("a node timeout below 200 ms")
        if (between(number("wait_ms( = |\\\\\":)[0-9]+[;,}]"), 1, 1000))
            complain("a wait below a second, in which a busy machine gets no vote")
        if ((/CHECK_BETWEEN\(.*now_[mn]s\(\) - / && !/SOON_MS|GIVE_UP_MS|[6-9][0-9][0-9][0-9][0-9],/ && !/_us\)/) ||
            (/CHECK\(now_[mn]s\(\) - [^>]*</ && !/SOON_MS|GIVE_UP_MS/) || /CHECK\(wait_within\(/)
            complain("an upper bound in real time")
        next
    }
    {
        if ((!/read -r|IFS= read/ && between(time_ms("-t|ttl"), 1, 2000)) ||
            between(number("ttl_ms[\"\047: =]+[0-9]+"), 1, 2000) || between(number("TTL_MS=[0-9]+"), 1, 2000) ||
            (FILENAME ~ /[.]mjs$/ && between(number("ttl: [0-9_]+[,} ]"), 1, 2000)))
            complain("a TTL below 2 s")
        if (between(time_ms("-w|wait"), 1, 1000) || between(number("wait_ms[\"\047: =]+[0-9]+"), 1, 1000) ||
            (FILENAME ~ /[.]mjs$/ && between(number("wait: [0-9_]+[,} ]"), 1, 1000)))
            complain("a wait below a second, in which a busy machine gets no vote")
        if (between(time_ms("node[-_]timeout"), 0, 200) || between(number("nodeTimeout: [0-9]+"), 0, 200))
            complain("a node timeout below 200 ms")
        if (/^ *(within|around) /)
            complain("an upper bound in real time")
    }
    END {
        if (bad)
            print "Wait for a state (wait_until(), eventually), take LONG_TTL_MS or RENEWED_TTL_MS, make what is ruled out\n" \
                "longer than SOON_MS, or measure in tests/alone; docs/testing.md has more. Where being late does no\n" \
                "harm, say why in a comment of that line: short: REASON."
        print FNR ? marked + 0 " lines are marked" : "no files"
        exit bad > 0
    }' $files
