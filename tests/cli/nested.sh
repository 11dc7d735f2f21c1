#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# One `redlock run` inside another: the same owner enters again, also by way of another lock, and
# a `redlock run` that would wait for itself is refused at once.
. "$(dirname "$0")/lib.bash" "$@"
inside_dev 3 "$@"
export redlock

try timeout 60 "$redlock" run a -- redlock run b -- redlock run a -- \
    sh -c 'redlock status --held -q a b && echo "$REDLOCK_NAME"'
expect 'a, b and a again' 0
is '   runs the innermost command' "$out" a
that '   and all is given back' free a
that '   b too' free b
try timeout 60 "$redlock" run -n a -- redlock run -n a -- redlock run -n a -- echo deep
is 'as deep as one likes, without waiting' "$status:$out" 0:deep

try "$redlock" run a -- sh -c 'redlock run a -- true; redlock status --held -q a'
expect 'the inner end leaves the outer hold alone' 0
fences=$("$redlock" run a -- sh -c 'echo $REDLOCK_FENCE; redlock run a -- sh -c "echo \$REDLOCK_FENCE"')
is 'all nested runs have one token' "$(sort -u <<<"$fences" | wc -l)" 1

# The owner.
"$redlock" run a -- sh -c 'echo "$REDLOCK_OWNER $REDLOCK_KIND"; redlock run b -- sh -c "echo \$REDLOCK_OWNER"' >"$tmp/owners"
{ read -r outer kind; read -r inner; } <"$tmp/owners"
like 'REDLOCK_OWNER is made up' "$outer" '^[0-9a-f]{32}$'
unlike '   and not for another name' "$inner" "$outer"
is 'REDLOCK_KIND' "$kind" reentrant
unlike 'another run has another one' "$("$redlock" run a -- sh -c 'echo $REDLOCK_OWNER')" "$outer"
is '--owner' "$("$redlock" run --owner me a -- sh -c 'echo $REDLOCK_OWNER')" me
value=$("$redlock" lock -t 30s --owner me shop)
is 'the same owner enters from another process' "$("$redlock" run -n --owner me shop -- echo in)" in
is '   also by REDLOCK_OWNER' "$(REDLOCK_OWNER=me "$redlock" run -n shop -- echo in)" in
try "$redlock" run -n --owner you shop -- echo in
expect '   another owner does not' 75
try "$redlock" run -n shop -- echo in
expect '   nor does a request without an owner' 75
try "$redlock" lock -n shop
expect '   nor a plain lock' 75
second=$(REDLOCK_OWNER=me "$redlock" lock -n -t 30s shop)
try "$redlock" unlock shop "$value"
expect 'one of two holds is given back' 0
that '   and the other stays' held shop
try "$redlock" unlock shop "$second"
expect '   until it is given back as well' 0
that '   then it is free' free shop
try "$redlock" run --owner '' a -- true
expect 'an empty owner' 64 '1 to 64 bytes'
try env REDLOCK_OWNER="$(printf '%065d' 1)" "$redlock" run a -- true
expect 'a long one' 64 '1 to 64 bytes'

# What one run starts side by side is not one owner of everything.
try timeout 60 "$redlock" run outer -- sh -c '
    redlock run x -- sh -c "redlock run outer -- true; mkdir \"$1/in\" && sleep 0.2; rmdir \"$1/in\"" &
    redlock run x -- sh -c "mkdir \"$1/in\" && sleep 0.2; rmdir \"$1/in\"" & first=$!
    wait $first && wait' _ "$tmp"
expect 'two children of one lock exclude each other on another' 0
unlike '   and never met' "$err" 'exists'

# A wait for a lock that an enclosing run holds.
refused() {
    local what=$1 pattern=$2
    shift 2
    try timeout 60 "$@"
    expect "$what" 64 "$pattern"
    is '   and nothing ran' "$out" ''
}
refused 'a reader inside its own writer' "'a' is held already .* exclusively" \
    "$redlock" run a -- redlock run --shared a -- echo ran
refused '   also by way of another lock' "'a' is held already" \
    "$redlock" run a -- redlock run b -- redlock run --shared a -- echo ran
refused 'a writer inside its own reader' 'as a reader' \
    "$redlock" run -s a -- redlock run a -- echo ran
refused 'a reader inside its own reader: a writer may wait between them' 'as a reader' \
    "$redlock" run -s a -- redlock run -s a -- echo ran
refused 'a second slot' 'one of its slots' \
    "$redlock" run --slots 2 a -- redlock run --slots 2 a -- echo ran
refused 'several names around one of them' 'together with other names' \
    "$redlock" run a b -- redlock run b -- echo ran
refused 'one name inside several' 'exclusively' \
    "$redlock" run b -- redlock run a b -- echo ran
refused 'another owner' 'for another owner' \
    "$redlock" run a -- redlock run --owner me a -- echo ran
refused 'lock as well' 'exclusively' "$redlock" run a -- redlock lock --shared a
refused 'names of any bytes' 'exclusively' \
    "$redlock" run $'odd %20 \x01' -- redlock run -s $'odd %20 \x01' -- echo ran
is 'another name is fine' "$("$redlock" run 'a b' -- redlock run -s 'a%20b' -- echo ran)" ran
is 'another prefix too, when it is said' \
    "$("$redlock" run a -- env -u REDLOCK_HELD redlock run -s --prefix other: a -- echo ran)" ran
is '   and other servers' \
    "$("$redlock" run -s a -- redlock dev -c 1 -- redlock run -n --node-timeout 3s a -- echo ran)" ran
is 'different kinds of different names nest' \
    "$("$redlock" run a -- redlock run -s b -- redlock run --slots 2 c -- redlock run d e -- \
        redlock run a -- sh -c 'echo "$REDLOCK_HELD"' | sed 's/:[0-9a-f]\{32\}//g')" \
    'reentrant:a shared:b semaphore:c mutex:d mutex:e reentrant:a'
try "$redlock" run a -- redlock run -s b -- sh -c 'echo "${REDLOCK_FENCE-none} ${REDLOCK_SLOT-none} ${REDLOCK_NAMES-none}"'
is 'what the lock around has set does not leak' "$out" 'none none none'
done_testing
