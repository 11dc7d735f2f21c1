#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A wait without a terminal says again every minute what it waits for. Takes a minute, of idleness.
. "$(dirname "$0")/lib.bash" "$@"
inside_dev 3 "$@"
unhurried

# said N: so many lines so far; patiently FOR COMMAND...: until it succeeds, for so many seconds.
said() {
    [ "$(grep -c "^redlock run: waiting for long: 1st in line, held by the holder, for" "$tmp/said")" = "$1" ]
}
patiently() {
    local until=$((SECONDS + $1))
    shift
    until "$@"; do
        [ $SECONDS -lt $until ] || return 1
        eventually "$@" && return 0
    done
}

"$redlock" run -t 60s --label 'the holder' long -- sleep 300 &
holder=$!
eventually held long
"$redlock" run long -- true 2>"$tmp/said" &
waiter=$!
eventually queued long
that 'once after a second' eventually said 1
start=$SECONDS
that 'and again' patiently 120 said 2
that '   not before a minute has passed' [ $((SECONDS - start)) -ge 55 ]
kill $waiter $holder
wait $waiter
wait $holder
done_testing
