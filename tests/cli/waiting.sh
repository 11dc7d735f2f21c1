#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Waiting: in line, and gone without a trace when it is ended.
. "$(dirname "$0")/lib.bash" "$@"
inside_dev 3 "$@"

value=$("$redlock" lock -t 40s w)

# A place in the queue, and what becomes of it.
for signal in INT TERM HUP; do
    # A job of a shell ignores INT; what a user starts does not.
    env --default-signal=INT "$redlock" run w -- echo ran >"$tmp/ran" 2>&1 &
    waiter=$!
    that "a waiter stands in line ($signal)" eventually queued w
    kill -$signal $waiter
    wait $waiter
    status=$?
    is "$signal ends the wait: 128 + its number" $status $((128 + $(kill -l $signal)))
    that '   without a place left behind' unqueued w
    is '   and nothing ran' "$(cat "$tmp/ran")" ''
done
for options in -s '--slots 2' '--owner me' --fair; do
    # shellcheck disable=SC2086
    env --default-signal=INT "$redlock" lock -w 60s $options w >/dev/null 2>&1 &
    waiter=$!
    that "lock $options stands in line too" eventually queued w
    kill -INT $waiter
    wait $waiter
    is '   INT: 130' $? 130
    that '   without a place left behind' unqueued w
done
try "$redlock" run -w 2s w -- true
expect 'a wait that has passed' 75
that '   leaves no place behind either' unqueued w
env --default-signal=INT "$redlock" run w other -- true &
waiter=$!
eventually queued w
kill -INT $waiter
wait $waiter
that '   nor does one for several names' unqueued w
that '   with any of them' unqueued other

# First come, first served.
for i in 1 2 3; do
    "$redlock" run w -- sh -c "echo $i >>'$tmp/order'" &
    eventually queued w $i
done
try "$redlock" run -n --fair w -- true
expect '--fair: not before a waiter that came earlier' 75
"$redlock" unlock w "$value"
wait
is 'in the order in which they came' "$(paste -sd' ' "$tmp/order")" '1 2 3'
that 'no waiter is left in the queue' unqueued w

# One line on standard error where no terminal shows it.
value=$("$redlock" lock -t 40s w)
for option in -v --fair; do
    "$redlock" run $option w -- true 2>"$tmp/said$option" &
done
"$redlock" run -q w -- true 2>"$tmp/quiet" &
eventually queued w 3
for option in -v --fair; do
    that "run $option: one line when the waiting begins" \
        eventually grep -q "^redlock run: waiting for w: [123].. in line, held by [^,]*,.* up to" "$tmp/said$option"
done
"$redlock" unlock w "$value"
wait
is '   and only one' "$(grep -c waiting "$tmp/said--fair")" 1
is '   none with -q' "$(cat "$tmp/quiet")" ''
value=$("$redlock" lock -t 40s --label 'me, here' w)
try "$redlock" run -w 1100ms w -- true
expect '   also right before the end of the wait' 75 'waiting for w: 1st in line, held by me, here, up to'
try "$redlock" hold --json -w 1100ms w </dev/zero
expect '   and with --json, beside it' 75 '^redlock hold: waiting for w: 1st in line, held by me, here, up to'
is '   which is one line' "$(jq -r .error <<<"$out")" TIMEOUT
"$redlock" unlock w "$value"
for option in -v --fair; do
    try "$redlock" run $option w -- true
    unlike "run $option: none when there is nothing to wait for" "$err" waiting
done
done_testing
