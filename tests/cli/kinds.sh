#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Readers and writers, slots, several names at once: which exclude each other, by every way to take and
# to give back.
. "$(dirname "$0")/lib.bash" "$@"
inside_dev 3 "$@"

# holding OPTION... NAME...: holds it in the background until `let_go`; returns when it is held.
holding() {
    rm -f "$tmp/go" "$tmp/up"
    mkfifo "$tmp/go"
    "$redlock" run "$@" -- sh -c "echo up >'$tmp/up'; read -r x <'$tmp/go'" &
    holder=$!
    eventually [ -s "$tmp/up" ]
}

let_go() {
    echo >"$tmp/go"
    wait $holder
}

# enters WHAT OPTION..., refused WHAT OPTION...: one try.
enters() {
    local what=$1
    shift
    try "$redlock" run -n "$@" -- echo in
    is "$what" "$status:$out" 0:in
}

refused() {
    local what=$1
    shift
    try "$redlock" run -n "$@" -- echo in
    is "$what" "$status:$out" 75:
}

holding --shared x
enters 'readers share' --shared x
enters '   -s is short for --shared' -s x
refused 'a writer has to wait for them' x
refused '   slots too' --slots 5 x
refused '   and several names' x y
that '   which leave nothing behind' free y
let_go
that '   then it is free' free x

holding x
refused 'a writer excludes readers' -s x
refused '   writers' x
refused '   slots' --slots 5 x
let_go

holding --slots 2 x
enters 'two slots: a second may come' --slots 2 x
other=$("$redlock" lock -t 30s --slots 2 x)
refused '   a third may not' --slots 2 x
refused '   nor a holder with another number of slots' --slots 3 x
refused '   nor a reader' -s x
like 'status counts them' "$("$redlock" status x)" '^x: 2 of 2 slots taken '
"$redlock" unlock x "$other"
enters '   when one is given back there is room' --slots 2 x
let_go
slot=$("$redlock" run --slots 3 x -- sh -c 'echo "$REDLOCK_SLOT $REDLOCK_KIND"')
like 'REDLOCK_SLOT and REDLOCK_KIND' "$slot" '^[123] semaphore$'
slots=$(for i in 1 2 3; do "$redlock" lock -t 20s --slots 3 gpu --json | grep -o '"slot":[0-9]*'; done | sort | paste -sd' ')
is 'every holder has another slot' "$slots" '"slot":1 "slot":2 "slot":3'
is 'no slot without --slots' "$("$redlock" run x -- sh -c 'echo ${REDLOCK_SLOT-none}')" none

# Several names.
holding b c a
refused 'several names: each of them is taken' a
refused '   also for readers' -s b
refused '   also together with others' c d
that '   and d stays free' free d
let_go
that '   and given back' free c
names=$("$redlock" run one 'two words' one three -- sh -c 'echo "$REDLOCK_NAME/$REDLOCK_NAMES/$REDLOCK_KIND"')
is 'REDLOCK_NAMES, a line each' "$names" $'one/one\ntwo words\nthree/mutex'
is 'not with one name' "$("$redlock" run one -- sh -c 'echo "${REDLOCK_NAMES-none}"')" none
is 'names that begin with a dash' "$("$redlock" run -- -a -b -- sh -c 'echo "$REDLOCK_NAMES"')" $'-a\n-b'
holding b
try "$redlock" run -n a b c -- true
expect 'the message names the one that is held' 75 "b: held by .*; none of the 3 names was locked"
let_go
cross() {
    local i
    for i in 1 2 3 4 5 6 7 8; do "$redlock" run "$@" -- true || return 1; done
}
cross x y z &
first=$!
cross z y x &
second=$!
cross y x &
wait $first && wait $second && wait $!
is 'in any order, without a deadlock' $? 0

# By value.
for options in '' --shared '--slots 2' '--owner me'; do
    # shellcheck disable=SC2086
    value=$("$redlock" lock -t 20s $options v)
    that "lock $options" held v
    try "$redlock" extend -t 55s v "$value"
    expect '   extend' 0
    like '   is seen' "$("$redlock" status v)" 'up to (2[1-9]|[345][0-9])\.[0-9] s more'
    try "$redlock" unlock v 0123456789abcdef0123456789abcdef01234567
    expect '   unlock with another value' 76
    try "$redlock" unlock v "$value"
    expect '   unlock' 0
    that '   and it is free' free v
    try "$redlock" unlock v "$value"
    expect '   once only' 76
done
value=$("$redlock" lock -t 20s p q r)
try "$redlock" extend -t 55s p q r "$value"
expect 'extend of several names' 0
like '   all of them' "$("$redlock" status r)" 'up to (2[1-9]|[345][0-9])\.[0-9] s more'
try "$redlock" unlock p q - <<<"$value"
expect 'unlock of some' 0
that '   p' free p
that '   not of the rest' held r
try env REDLOCK_VALUE="$value" "$redlock" unlock r
expect '   which comes later' 0
that '   r' free r
value=$("$redlock" lock -t 20s p q)
try "$redlock" unlock p other q "$value"
expect 'unlock of a name too many: the rest is released' 76 "other"
that '   p' free p
that '   q' free q

# Fencing tokens.
read -r value token <<<"$("$redlock" lock -t 20s f)"
like 'lock prints the token too' "$token" '^[0-9]{10,}$'
"$redlock" unlock f "$value"
that '   which grows' [ "$("$redlock" run f -- sh -c 'echo $REDLOCK_FENCE')" -gt "$token" ]
like 'none with --no-fence' "$("$redlock" lock -t 20s --no-fence unfenced)" '^[0-9a-f]{40}[^ ]*$'
is 'readers have none' "$("$redlock" run -s f -- sh -c 'echo ${REDLOCK_FENCE-none}')" none
like 'several names have one' "$("$redlock" run f g -- sh -c 'echo ${REDLOCK_FENCE-none}')" '^[0-9]+$'

# What does not go together.
mistake() {
    local pattern=$1
    shift
    try "$redlock" "$@"
    expect "$*" 64 "$pattern"
}
mistake '--shared and --slots exclude each other' run --shared --slots 2 x -- true
mistake '--fence does not go with --shared' run --shared --fence x -- true
mistake '--fence does not go with --slots' lock --slots 2 --fence x
mistake 'several names .* leave --shared out' run --shared x y -- true
mistake 'several names .* leave --slots out' lock --slots 2 x y
mistake '--owner does not go with --shared' run --shared --owner me x -- true
mistake '--owner does not go with --slots' run --slots 2 --owner me x -- true
mistake '--owner goes with one name' run --owner me x y -- true
mistake '--slots takes a number from 1 to 1024' run --slots 0 x -- true
mistake '--slots takes a number from 1 to 1024' run --slots 1025 x -- true
mistake '--slots takes a number from 1 to 1024' lock --slots 2x x
# shellcheck disable=SC2046
mistake 'at most 16 names' run $(seq 17) -- true
# shellcheck disable=SC2046
mistake 'at most 16 names' unlock $(seq -f n%g 18)
mistake 'NAME is missing in front of --' run -- -- true
mistake 'NAME is missing in front of --' run -- x
mistake 'COMMAND is missing' run x y --
done_testing
