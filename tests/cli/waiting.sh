#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Waiting: in line, for exactly as long as was said, and gone without a trace when it is ended.
. "$(dirname "$0")/lib.bash" "$@"
inside_dev 3 "$@"
unhurried

value=$("$redlock" lock -t 40s w)

# A place in the queue, and what becomes of it.
for signal in INT TERM HUP; do
    # A job of a shell ignores INT; what a user starts does not.
    env --default-signal=INT "$redlock" run w -- echo ran >"$tmp/ran" 2>&1 &
    waiter=$!
    that "a waiter stands in line ($signal)" eventually queued w
    start=$(now_ms)
    kill -$signal $waiter
    wait $waiter
    status=$?
    took=$(($(now_ms) - start))
    is "$signal ends the wait: 128 + its number" $status $((128 + $(kill -l $signal)))
    within '   at once' $took 0 1000
    that '   without a place left behind' unqueued w
    is '   and nothing ran' "$(cat "$tmp/ran")" ''
done
for options in -s '--slots 2' '--owner me' --fair; do
    # shellcheck disable=SC2086
    env --default-signal=INT "$redlock" lock $options w >/dev/null 2>&1 &
    waiter=$!
    that "lock $options stands in line too" eventually queued w
    kill -INT $waiter
    wait $waiter
    is '   INT: 130' $? 130
    that '   without a place left behind' unqueued w
done
try "$redlock" run -w 300ms w -- true
expect 'a wait that has passed' 75
that '   leaves no place behind either' unqueued w
env --default-signal=INT "$redlock" run w other -- true &
waiter=$!
eventually queued w
kill -INT $waiter
wait $waiter
that '   nor does one for several names' unqueued w
that '   with any of them' unqueued other

# As long as was said: by the best reading, a busy machine only adds.
cat >"$tmp/time" <<'END'
start=${EPOCHREALTIME/./}
"$@"
echo $((${EPOCHREALTIME/./} - start))
END
# took OPTION...: in microseconds; what a program takes to start and to end is in it.
took() {
    bash "$tmp/time" "$redlock" run -q "$@" w -- true
}
at_once=$(for _ in 1 2 3 4 5; do took -n; done | sort -n | head -n 1)
best=999999999
for ((i = 0; i < 10 && best - at_once > 505000; i++)); do
    half=$(took -w 0.5)
    [ "$half" -ge 500000 ] || not_ok '-w 0.5 never ends earlier' "$half us"
    [ "$half" -ge "$best" ] || best=$half
done
between '-w 0.5 waits half a second, and not until the next sign of life' \
    "$best" 500000 $((at_once + 900000))
between '-n does not wait' "$at_once" 0 2000000

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
