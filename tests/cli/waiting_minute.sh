#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A wait without a terminal says again every minute what it waits for. Takes a minute, of idleness.
. "$(dirname "$0")/lib.bash" "$@"
inside_dev 3 "$@"
unhurried

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
that 'once after a second' says 30
start=$SECONDS
that 'and again' says 120
that '   not before a minute has passed' [ $((SECONDS - start)) -ge 55 ]
kill $waiter $holder
wait $waiter
wait $holder
done_testing
