#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# One cluster as a quorum, on `redlock dev --cluster`: other numbers of votes, locks that are entered again, endpoints that are no
# nodes of it, and what becomes of votes when epochs are bumped or a master restarts before it is replaced.
. "$(dirname "$0")/lib.bash" "$@"
needs jq
own_servers
if [ -z "${CLUSTER_PORTS:-}" ]; then
    has_bus_port
    inside_dev '2 --no-init' "$@"
    CLUSTER_PORTS="$(take_port 1) $(take_port 2)"
    export CLUSTER_PORTS
    unset REDLOCK_DEV REDLOCK_NODES
fi
inside_cluster "$@"
read -r -a spare <<<"$CLUSTER_PORTS"
echo $'max-ttl = 6s\nttl = 5s' >>"$REDLOCK_CONFIG"
all=$REDLOCK_NODES
that 'all replicas are known' eventually eval '[ "$("$redlock" dev list | grep -c replica)" = 3 ]'

try "$redlock" run -n --nodes "127.0.0.1:${port[4]}" x -- echo ran
expect 'a replica as a plain node: 69' 69 'this is a Redis Cluster'
like '   and how to name it' "$err" 'cluster://host1\+host2\+host3'
try "$redlock" init --yes --nodes "127.0.0.1:${port[4]}"
expect '   init refuses it' 69 'this is a Redis Cluster'

# endpoint K [OPTION...]: a server of its own, at the port ${spare[K]}.
endpoint() {
    local k=$1
    shift
    mkdir "$tmp/endpoint-$k"
    "$server" --port "${spare[k]}" --bind 127.0.0.1 --save '' --dir "$tmp/endpoint-$k" "$@" >/dev/null 2>&1 &
    servers+=($!)
    eventually is_up "$k"
}
is_up() { [ "$(ask "${spare[$1]}" PING 2>/dev/null)" = +PONG ]; }
endpoint 0
endpoint 1 --rename-command CLUSTER '' # as a proxy that hides the nodes behind it
for k in 0 1; do
    try "$redlock" init --yes --nodes "cluster://127.0.0.1:${port[1]}+127.0.0.1:${port[2]}+127.0.0.1:${spare[k]}"
    expect "an endpoint that hides CLUSTER ($k): 69" 69 "cluster node 127.0.0.1:${spare[k]}: this is no node of a Redis Cluster"
    like '   and what to name' "$err" 'name nodes of the cluster themselves.*and no proxy'
done

# One tag is the middle of every number of votes: so no two numbers are sets at the same time (G8).
for votes in 5 7 3; do
    if [ $votes != 5 ]; then
        try "$redlock" run -n --nodes "$all/$votes" x -- echo ran
        expect 'another number of votes than init was run with: 69' 69
        is '   nothing ran' "$out" ''
        try "$redlock" init --yes --nodes "$all/$votes"
        like '   and init refuses it, with the key to delete' "$status $err" '^69 .*delete the key redlock\.\{sm\}redlock\.admit on sm@'
        that '   which is there' eval '[[ $(ask "${port[2]}" DEL "redlock.{sm}redlock.admit") = :1 ]]'
    fi
    try "$redlock" init --yes --nodes "$all/$votes"
    expect "init of $votes votes: 0" 0
    try "$redlock" run -n --fence --nodes "$all/$votes" "with-$votes" -- echo ran
    is '   a lock on them' "$status $out" '0 ran'
    try "$redlock" doctor -v --nodes "$all/$votes"
    expect '   doctor: 0' 0
    like '   and on how many masters they are' "$out" "ok +masters +$votes votes on 3 masters"
done

IFS=+ read -r -a places <<<"${all#cluster://}"
twice="cluster://${places[0]}+${places[1]}+${places[2]},cluster://${places[3]}+${places[4]}+${places[5]}"
for k in 1 2 3; do
    for tag in um sm pm; do ask "${port[k]}" DEL "redlock.{$tag}redlock.admit" >/dev/null; done
done
try "$redlock" init --yes --nodes "$twice"
expect 'one cluster by two URLs is no second set of votes: 69' 69 'the same server as another node of the list'
try "$redlock" run -w 0 --nodes "$twice" x -- echo ran
expect '   and without a set no vote counts: 69' 69 'not initialised'
is '   nothing ran' "$out" ''
try "$redlock" init --yes
expect '   init of the one: 0' 0

fences=$("$redlock" run a -- sh -c 'echo $REDLOCK_FENCE; redlock run b -- redlock run a -- sh -c "echo \$REDLOCK_FENCE"')
is 'a lock is entered again by its owner, with one token' "$(sort -u <<<"$fences" | wc -l):$(wc -l <<<"$fences")" 1:2
"$redlock" lock --owner me c >/dev/null
is '   also from another process' "$("$redlock" run -n --owner me c -- echo in)" in
try "$redlock" run -n --owner you c -- echo in
expect '   and by no other: 75' 75

count() { "$redlock" nodes --json | jq "[.nodes[] | select($1)] | length"; }
votes_are() { [ "$(count '.answered and (.quarantined | not)')" = "$1" ]; }
that 'all three vote' eventually votes_are 3
"$redlock" run -t 5s held -- sh -c "echo \$\$ >$tmp/held; exec sleep 600" 2>"$tmp/held.err" &
holder=$!
eventually test -s "$tmp/held"
# Where two masters have one epoch, one of them takes another: none is as it was.
for k in 1 2 3; do eventually eval '[[ $(ask "${port[k]}" CLUSTER BUMPEPOCH) = +BUMPED* ]]'; done
try "$redlock" run -w 0 bumped -- echo ran
expect 'all epochs are bumped: no new lock' 69
is '   nothing ran' "$out" ''
that '   all votes are in quarantine' eventually votes_are 0
try "$redlock" doctor
like '   doctor says so' "$out$err" 'warn +guard +another master, '
try "$redlock" run -w 30s bumped -- echo ran
is '   until the guard time is over' "$status $out" '0 ran'
that '   and the lock that was held goes on' kill -0 "$(cat "$tmp/held")"
that '   all three vote' eventually votes_are 3

that 'a master is killed' "$redlock" dev kill 1
that '   and restarts at once' "$redlock" dev start 1
try "$redlock" run -w 30s restarted -- echo ran
is '   locks go on without it' "$status $out" '0 ran'
that '   as does the one that was held' kill -0 "$(cat "$tmp/held")"
# On a slow machine its replica may be faster.
serves() { [[ $(ask "${port[1]}" SET '{um}key' value) = @(+OK|-MOVED)* ]]; }
that '   its server answers again' eventually serves
that '   empty as it is, it has no vote' eventually votes_are 2
kill "$(cat "$tmp/held")"
wait $holder
try "$redlock" init --yes
expect '   until init: 0' 0
that '   all three vote' eventually votes_are 3
done_testing
