#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A wait without a terminal says again every minute what it waits for. Takes a minute, of idleness.
. "$(dirname "$0")/lib.bash" "$@"
inside_dev 3 "$@"

# says SECONDS: the next line of the waiter comes within that time.
says() {
    local line
    read -r -t "$1" line <&"$said" && grep -q '^redlock run: waiting for long: 1st in line, held by the holder, for' <<<"$line"
}

"$redlock" run -t 60s --label 'the holder' long -- sleep 300 &
holder=$!
eventually held long
mkfifo "$tmp/said"
exec {said}<>"$tmp/said"
"$redlock" run long -- true 2>&"$said" &
waiter=$!
# At the same time, one that waits for a service that is not there.
env -u REDLOCK_NODES "$redlock" run --service "unix:$tmp/none" long -- true 2>"$tmp/unserved" &
unserved=$!
reasons() { [ "$(grep -c 'cannot be reached: .*/none: No such file.*; trying until it can' "$tmp/unserved")" = "$1" ]; }
that 'the reason for which a service is waited for: at once' eventually reasons 1
that 'once after a second' says 30
start=$SECONDS
that 'and again' says 120
that '   not before a minute has passed' [ $((SECONDS - start)) -ge 55 ]
that 'the reason for which a service is waited for: again after a minute' eventually reasons 2
kill $waiter $holder $unserved
wait $unserved
wait $waiter
wait $holder
done_testing
