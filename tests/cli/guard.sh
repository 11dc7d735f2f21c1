#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Servers that have just started do not vote: which, why, for how long, and the two ways out.
. "$(dirname "$0")/lib.bash" "$@"
inside_dev 5 "$@"

try "$redlock" run -n a -- true
expect 'servers of `redlock dev` vote at once' 0
is '   without a word' "$err" ''
for k in 1 2 3; do
    "$redlock" dev kill $k >/dev/null
    try "$redlock" dev start $k
    expect "restarted: node $k" 0 'in quarantine.*`redlock init`'
done
try "$redlock" dev start 3
is 'one that was up already is not' "$status:$err" 0:

for sub in 'lock -n x' 'run -n x true' 'run -w 1s x true'; do
    try timeout 60 "$redlock" $sub
    expect "$sub: 69" 69 'of 5 nodes are in quarantine'
    for k in 1 2 3; do
        like "   node $k: why and for how long" "$err" \
            "127.0.0.1:$(port $k) +in quarantine .*restarted not long ago; may vote in [0-9]+ s"
    done
    like '   the ways out: wait, or vouch for them, and why' "$err" 'next: wait (1 min|[0-9]+)[^,]* s .*may have forgotten locks.* `redlock init --yes`'
done
("$redlock" run patient -- echo at last >"$tmp/patient" 2>"$tmp/warning"; echo $? >>"$tmp/patient") &
that 'waiting for ever is not silent' eventually grep -qs 'waiting for patient: the nodes are in quarantine, .* more' "$tmp/warning"
that '   and names them' eventually grep -qs 'next: wait' "$tmp/warning"
like '   and says what to do' "$(cat "$tmp/warning")" 'next: wait .*`redlock init --yes`'

try "$redlock" nodes
expect 'nodes: a majority answers' 0
like '   quarantine and the time that is left' "$out" "127.0.0.1:$(port 2) +up +in [^ ].* restarted not long ago; may vote in"
like '   the others vote' "$out" "127.0.0.1:$(port 4) +up +yes "
like '   with their clocks' "$out" "127.0.0.1:$(port 5) .* [+-]0\.0[0-9]+ s "
try "$redlock" status x
like 'status: which node is in quarantine, why and for how long' "$out" "^in quarantine: 127.0.0.1:$(port 2) .restarted not long ago; may vote in [0-9]+ s"
try "$redlock" nodes --guard off
like 'nodes --guard off' "$out" "127.0.0.1:$(port 2) +up +unchecked "
try "$redlock" lock -n --guard off trusting
expect '--guard off: they count' 0
printf 'guard = off\nnode-timeout = 1s\n' >"$tmp/conf"
try "$redlock" lock -n --config "$tmp/conf" trusting-too
expect 'guard = off in the configuration file' 0
try "$redlock" lock -n --config "$tmp/conf" --guard strict strict
expect '--guard strict is stronger' 69 'in quarantine'

# The way out: `redlock init`.
try "$redlock" init --force </dev/null
expect 'init without a terminal needs --yes' 64 'no terminal'
try "$redlock" lock -n still
expect '   and nothing was changed' 69
if has_terminal; then
    asked() {
        printf '%s\n' "$1" | script -q -e -c "$redlock init --force --node-timeout 20s" /dev/null >"$tmp/out" 2>&1
        status=$?
        out=$(tr -d '\r' <"$tmp/out")
    }
    asked n
    is 'init on a terminal asks, and n is no' "$status" 1
    like '   what is stated is explained' "$out" 'If a client still holds a lock on them'
    like '   for which nodes' "$out" "127.0.0.1:$(port 1)"
    like '   the user learns that nothing was changed' "$out" 'nothing was changed'
    asked y
    is '   and y is yes' "$status" 0
else
    left_out 'init on a terminal'
    try "$redlock" init --yes --force --node-timeout 20s
    expect 'init --yes' 0
fi
wait
is 'a run that waited gets the lock' "$(cat "$tmp/patient")" $'at last\n0'
try "$redlock" lock -n now
expect 'now they vote' 0
try "$redlock" init --yes
expect 'init --yes: again is fine' 0
is '   a row for each node' "$(grep -c 'granted' "$tmp/out")" 5
like '   and how many' "$out" '^5 of 5 nodes may vote already: nothing was to be done$'
try "$redlock" lock -n --guard strict strictly
expect '--guard strict: with markers they vote' 0
for k in 1 2 3; do ask "$(port $k)" FLUSHALL >/dev/null; done
try "$redlock" lock -n --guard strict flushed
expect '--guard strict: FLUSHALL is noticed' 69 'in quarantine'
"$redlock" dev hang 4 >/dev/null
try "$redlock" init --yes --force --node-timeout 1s
expect 'init with a node that hangs: 69' 69 "127.0.0.1:$(port 4) +timed out"
"$redlock" dev resume 4 >/dev/null
"$redlock" dev kill 4 >/dev/null
try "$redlock" init --yes --force
expect 'init with a node down: 69' 69 "127.0.0.1:$(port 4) +connection refused"
like '   and what to do' "$err" 'next: bring back'
try "$redlock" lock -n --guard strict admitted
expect '   the others took it' 0
for k in 1 2 3 5; do ask "$(port $k)" DEL redlock.admit >/dev/null; done
try "$redlock" init --yes --force
expect 'a new set with a node down: 69' 69 'Nothing was changed'
unlike '   none is said to have granted it' "$err" 'granted|may vote'

# The password in the URL of one node only: that node is in quarantine, but what decides are those that refuse.
for k in 2 3 5; do ask "$(port $k)" CONFIG SET requirepass secret >/dev/null; done
one_url=redis://:secret@127.0.0.1:$(port 1)
for k in 2 3 4 5; do one_url=$one_url,127.0.0.1:$(port $k); done
for try in 1 2 3; do
    try env REDLOCK_NODES="$one_url" "$redlock" lock -n x
    expect "a password for one node of five, try $try: 77" 77 'next: give the password for every node'
    unlike '   and waiting is no advice' "$err" 'next: wait'
done
done_testing
