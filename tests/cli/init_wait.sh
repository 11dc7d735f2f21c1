#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `redlock init --wait` may be run whenever a deployment starts: it writes nothing where all nodes are admitted, watches
# nodes without a marker for the longest TTL and two seconds, begins anew when one restarts, and admits them
# while locks are held; it refuses what no wait makes safe.
. "$(dirname "$0")/lib.bash" "$@"
inside_dev '4 --no-init' "$@"
first=127.0.0.1:$(port 1) second=127.0.0.1:$(port 2) third=127.0.0.1:$(port 3) fourth=127.0.0.1:$(port 4)
export REDLOCK_NODES=$first,$second,$third
# The longest TTL is 3 s here, so that the nodes are watched for 5.
printf 'max-ttl = 3s\nttl = 3s\n' >>"$REDLOCK_CONFIG"

admitted() { # how many of the three have a marker
    local k count=0
    for k in 1 2 3; do
        [ "$(ask "$(port $k)" HEXISTS redlock.admit id)" != :1 ] || count=$((count + 1))
    done
    echo $count
}
wait_for_nodes() { # FILE [OPTION...]: in the background; its process is $waiter
    (exec "$redlock" init --wait "${@:2}" >"$1" 2>&1 </dev/null) &
    waiter=$!
}
says() { # FILE PATTERN
    eventually grep -Eq "$2" "$1"
}

try "$redlock" init --wait --force
expect '--wait does not go with --force' 64 'does not wait'
try "$redlock" init --wait --replace "$fourth"
expect '--wait does not go with --replace' 64 '--replace waits by itself'

ask "$(port 1)" SET redlock:of-another value PX 60000 >/dev/null
try "$redlock" init --wait
expect 'locks on nodes without a set, whose clients may have other nodes: 73' 73 'locks are held on these nodes'
ask "$(port 1)" DEL redlock:of-another >/dev/null
"$redlock" dev kill 2 >/dev/null
wait_for_nodes "$tmp/fresh"
fresh=$waiter
that 'a server that is not there yet is waited for' says "$tmp/fresh" "waiting until all nodes are there: .*$second"
"$redlock" dev start 2 >/dev/null 2>&1
that '   then all of them are watched, without a question' says "$tmp/fresh" \
    'waiting 5\.0 s until all that a node may have forgotten has expired'
started=$(now_ms)
wait_for_nodes "$tmp/interrupted"
that 'the same command at the same time waits, too' says "$tmp/interrupted" 'waiting 5'
is 'nothing is written meanwhile' "$(admitted)" 0
kill -9 $waiter
wait $waiter 2>/dev/null
wait_for_nodes "$tmp/beside"
wait $fresh
is 'a new set' $? 0
that '   after the longest TTL and two seconds' [ $(($(now_ms) - started)) -ge 4500 ]
like '   of all nodes' "$(cat "$tmp/fresh")" '^3 of 3 nodes may vote$'
is '   and their markers are written' "$(admitted)" 3
wait $waiter
is '   and a second job beside it succeeds as well' $? 0

"$redlock" run -q busy -- sh -c "touch $tmp/held; until [ -e $tmp/go ]; do sleep 0.05; done" &
holder=$!
that 'a lock is held' eventually test -e "$tmp/held"
try "$redlock" init --wait
expect 'again: 0' 0 '^$'
like '   nothing was to be done' "$out" '^3 of 3 nodes may vote already: nothing was to be done$'

"$redlock" dev kill 3 >/dev/null
"$redlock" dev start 3 >/dev/null 2>&1
wait_for_nodes "$tmp/anew"
that 'a node without its marker is watched' says "$tmp/anew" 'waiting 5\.0 s'
"$redlock" dev kill 3 >/dev/null
"$redlock" dev start 3 >/dev/null 2>&1
started=$(now_ms)
that '   if it restarts meanwhile, from there' says "$tmp/anew" 'a node was connected to anew: waiting 5\.0 s'
is '   and is not admitted before' "$(ask "$(port 3)" HEXISTS redlock.admit id)" :0
wait $waiter
is '   then it votes' $? 0
that '   after the longest TTL and two seconds' [ $(($(now_ms) - started)) -ge 5000 ]
is '   by a marker' "$(ask "$(port 3)" HEXISTS redlock.admit id)" :1
that '   while a lock is held' kill -0 $holder
try "$redlock" lock -n busy
expect '   and excludes others' 75
touch "$tmp/go"
wait $holder
is '   and was not lost' $? 0

try "$redlock" init --wait --nodes "$first,$second,$fourth"
expect 'another node in the list: 69' 69 'set of other nodes.*--replace\. Nothing was changed'
try "$redlock" init --wait --nodes "$first"
expect 'fewer nodes: 69' 69 'Nothing was changed'
try "$redlock" init --wait --max-ttl 2s
expect 'a smaller longest TTL: 69' 69 'allow a TTL of 3\.0 s.*Nothing was changed'
is '   nothing was written' "$(ask "$(port 1)" HGET redlock.admit max_ttl; ask "${fourth##*:}" EXISTS redlock.admit)" '$4:0'
done_testing
