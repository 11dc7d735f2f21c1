#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# One cluster as a quorum: three slots of it are the votes. How it is named and initialised, what works on it, and what
# becomes of locks when a slot moves or a master is replaced.
. "$(dirname "$0")/lib.bash" "$@"
needs jq
inside_cluster "$@"
echo $'max-ttl = 10s\nttl = 9s' >>"$REDLOCK_CONFIG"

refused() { # WHAT URL PATTERN
    try "$redlock" nodes --nodes "$2"
    expect "$1: 78" 78 "$3"
}
three=127.0.0.1:1+127.0.0.1:2+127.0.0.1:3
refused 'two nodes' cluster://127.0.0.1:1+127.0.0.1:2 'three of its nodes, or more'
refused 'two votes' cluster://$three/2 '1, 3, 5 or 7'
refused 'a database' cluster://$three/0 'no other database than 0'
refused 'a node twice' cluster://$three+127.0.0.1:1 'a node is named twice'
refused 'one cluster twice' cluster://$three,cluster://$three 'are the same server'
refused 'more votes than a lock has nodes' cluster://$three/7,cluster://a+b+c/7,cluster://d+e+f/3 'more than 15 votes'

# nodes K: what it says of all nodes, a line each.
nodes() { answer "${port[$1]}" 'CLUSTER NODES' | tail -n +2; }
all() { # COMMAND...: on each of the six
    local k
    for k in 1 2 3 4 5 6; do "$@" $k || return 1; done
}
owner() { # SLOT K: the port of its owner, as K sees it
    nodes "$2" | awk -v slot="$1" '$3 ~ /master/ { for (i = 9; i <= NF; i++) { split($i, r, "-")
        if (slot >= r[1] && slot <= (r[2] ? r[2] : r[1])) { sub(/@.*/, "", $2); sub(/.*:/, "", $2); print $2 } } }'
}
for k in 1 2 3; do ids[k]=$(nodes $k | awk '/myself/ { print $1 }'); done
follows() { [ "$1" -le 3 ] || answer "${port[$1]}" 'INFO replication' | grep -q master_link_status:up; }
that 'the cluster comes up' eventually all follows
sees_slots() {
    [[ $(ask "${port[$1]}" GET x) != -CLUSTERDOWN* ]] &&
        [ "$(owner 2727 $1)/$(owner 8193 $1)/$(owner 13650 $1)" = "${port[1]}/${port[2]}/${port[3]}" ]
}
that '   and every node knows the owners' eventually all sees_slots
at() { # K...: a URL of these nodes
    local url= k
    for k; do url+=+127.0.0.1:${port[k]}; done
    printf 'cluster://%s' "${url#+}"
}
REDLOCK_NODES=$(at 2 3 4 5 6)

try "$redlock" run -n x -- echo ran
expect 'a cluster without init: 69' 69 'not initialised'
is '   nothing ran' "$out" ''
try "$redlock" run -n x --nodes "127.0.0.1:${port[1]},127.0.0.1:${port[2]},127.0.0.1:${port[3]}" -- echo ran
expect 'its masters as plain nodes: 69' 69 'this is a Redis Cluster'
like '   and how to name it' "$err" 'cluster://host1\+host2\+host3'
try "$redlock" init --yes --nodes "$(at 1 2 3 | sed 's/127.0.0.1:[0-9]*$/127.0.0.1:1/')"
expect 'init without one of the nodes: 69' 69 'cluster node 127.0.0.1:1: Connection refused; the set needs all'
try "$redlock" init --yes --nodes "$(at 1 2)+localhost:${port[1]}"
expect 'init with one node by two names: 69' 69 'two of the sentinels are one, or of the cluster nodes'
for k in 1 2 3 4 5 6; do ask "${port[k]}" ACL SETUSER app on '>pass' '~redlock*' '&redlock*' +@all '-cluster' >/dev/null; done
try "$redlock" init --yes --nodes "$(at 1 2 3 | sed 's|//|//app:pass@|')"
expect 'a user that may not ask: 69' 69 "cluster node .*NOPERM|a right is missing"
for k in 1 2 3 4 5 6; do
    ask "${port[k]}" ACL SETUSER app '+cluster|nodes' '+cluster|info' '+cluster|myid' >/dev/null
done

try "$redlock" init --yes
expect 'init: 0' 0
try "$redlock" nodes -v
like 'nodes: the votes and their masters' "$out" "um: 127.0.0.1:${port[1]}, term 1: named by 5 of 5 cluster nodes"
try "$redlock" doctor -v
expect 'doctor: 0' 0
like '   a master for each vote' "$out" 'ok +masters +3 votes on 3 masters'
like '   and all five are asked' "$out" 'ok +electors +5 of 5 name'
for kind in '' --fence --shared '--slots 2'; do
    # shellcheck disable=SC2086
    try "$redlock" run -w 20s $kind "kind$kind" -- echo ran
    is "run ${kind:-(a mutex)}" "$status $out" '0 ran'
done
try "$redlock" run -w 20s a b c -- echo ran
is 'several names' "$status $out" '0 ran'
try "$redlock" run -w 20s --nodes "$(at 2 3 4 5 6 | sed 's|//|//app:pass@|')" narrow -- echo ran
is 'a user with the rights that are listed' "$status $out" '0 ran'
first=$("$redlock" run -w 20s --fence f -- sh -c 'echo $REDLOCK_FENCE')
second=$("$redlock" run -w 20s --fence f -- sh -c 'echo $REDLOCK_FENCE')
that 'tokens grow' [ "${second:-0}" -gt "${first:-0}" ]
"$redlock" lock l >/dev/null
try "$redlock" status l
like 'status of a lock that is held' "$out" '^l: held'
try "$redlock" list --json
is 'list: its name, as elsewhere' "$(jq -r '.name' <<<"$out")" l
tagged() { # every key and channel has the tag of a vote, in the slot of which it is
    local k key
    for k in 1 2 3; do
        key=$(ask "${port[k]}" EVAL "for _, k in ipairs(redis.call('KEYS', '*')) do
            if not string.find(k, '^redlock%.{[usp]m}redlock[.:]') then return k end end return 'none'" 0)
        [[ $key == \$4 ]] || { echo "$k: $key"; return 1; }
        [ "$(ask "${port[k]}" DBSIZE)" != :0 ] || return 1
    done
}
that 'all keys are tagged' tagged
try "$redlock" break --yes l
expect 'break: done at once' 0
like '   and final after the guard time' "$out" 'final in 14'
try "$redlock" status l
like '   and gone' "$out" '^l: free'

"$redlock" run --fence w -- sh -c "echo >$tmp/held; while [ ! -e $tmp/go ]; do sleep 0.05; done" &
holder=$!
eventually test -e "$tmp/held"
"$redlock" run -w 60s w -- echo got >"$tmp/got" 2>/dev/null &
waiter=$!
listens() { # shard channels of a waiter, on the owner of each slot
    local k count=0
    for k in 1 2 3; do
        [ "$(ask "${port[k]}" PUBSUB SHARDCHANNELS 'redlock.{?m}redlock.wake:*')" = '*1' ] && count=$((count + 1))
    done
    [ $count = 3 ]
}
case $(ask "${port[1]}" INFO server; ask "${port[1]}" PUBSUB SHARDCHANNELS) in
*ERR*) ;;
*) that 'a waiter listens to a sharded channel of every vote' eventually listens ;;
esac
touch "$tmp/go"
wait $waiter
is '   and gets the lock' "$(cat "$tmp/got")" got
wait $holder

"$redlock" run -t 9s moved -- sh -c "echo \$\$ >$tmp/moved; exec sleep 600" 2>"$tmp/moved.err" &
holder=$!
eventually test -s "$tmp/moved"
ask "${port[1]}" CLUSTER SETSLOT 13650 IMPORTING "${ids[3]}" >/dev/null
ask "${port[3]}" CLUSTER SETSLOT 13650 MIGRATING "${ids[1]}" >/dev/null
try "$redlock" run -w 20s while -- echo ran
is 'while a slot is being moved' "$status $out" '0 ran'
# Its keys, then the slot.
move() {
    local key
    while key=$(nodes_keys 3) && [ -n "$key" ]; do
        ask "${port[3]}" MIGRATE 127.0.0.1 "${port[1]}" "$key" 0 5000 >/dev/null
    done
}
nodes_keys() { answer "${port[$1]}" 'CLUSTER GETKEYSINSLOT 13650 1' | grep -v '^[*$]'; } # K: a key of the slot
move
for k in 1 3 2; do ask "${port[k]}" CLUSTER SETSLOT 13650 NODE "${ids[1]}" >/dev/null; done
moved() { [ "$(owner 13650 $1)" = "${port[1]}" ]; }
that '   it is with the other master' eventually all moved
try "$redlock" run -w 20s after -- echo ran
is '   and locks go on' "$status $out" '0 ran'
that '   as does the one that was held' kill -0 "$(cat "$tmp/moved")"
two_on_one() {
    "$redlock" doctor >"$tmp/doctor" 2>&1
    grep -Eq 'warn +masters +2 of 3 votes are on the master' "$tmp/doctor"
}
that 'two votes on one master: doctor says so' eventually two_on_one
unlike '   and not that they count once' "$(cat "$tmp/doctor")" 'same server'

counts_all() { [ "$("$redlock" nodes --json | jq '[.nodes[] | select(.answered and (.quarantined | not))] | length')" = 3 ]; }
that 'the guard time after it all three vote again' eventually counts_all

"$redlock" dev kill 2 >/dev/null
for i in 1 2 3; do
    try "$redlock" run -w 20s "dead$i" -- echo ran
    is "a master is dead: lock $i" "$status $out" '0 ran'
done
replaced() { [ "$(owner 8193 1)" = "${port[5]}" ]; }
that 'its replica takes over' eventually replaced
try "$redlock" run -w 20s after -- echo ran
is '   and locks go on' "$status $out" '0 ran'
that '   as does the one that was held' kill -0 "$(cat "$tmp/moved")"
that 'the guard time after it the new master votes' eventually counts_all
is_whole() { [ "$("$redlock" status --json moved | jq .votes)" = 3 ]; }
that '   and the lock is on it, too' eventually is_whole
kill "$(cat "$tmp/moved")"
wait $holder

"$redlock" dev start 2 >/dev/null
came_back() { nodes 2 | grep -q 'myself,slave'; }
that 'the old master comes back as a replica' eventually came_back
try "$redlock" run -w 2s x --nodes "$(at 1 3 4)" -- echo ran
expect 'other nodes than init was run with: 69' 69 'are not those that the set was made with'
is '   nothing ran' "$out" ''
# What was granted without counting is on the servers until it expires.
nothing_held() { "$redlock" list --nodes "$(at 1 3 4)" 2>&1 | grep -q 'no locks'; }
eventually nothing_held
try "$redlock" init --yes --nodes "$(at 1 3 4)"
expect '   until init draws a new set: 0' 0
try "$redlock" run -w 2s x --nodes "$(at 1 3 4)" -- echo ran
is '   with which they count' "$status $out" '0 ran'
done_testing
