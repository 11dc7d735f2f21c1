#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `redlock dev --cluster`: three masters and their replicas, cut off from each other on demand, that go without a trace.
. "$(dirname "$0")/lib.bash" "$@"
unset REDLOCK_DEV REDLOCK_NODES
export TMPDIR=$tmp
find_server
has_bus_port

# refused WHAT PATTERN ARG...: nothing is started.
refused() {
    local what=$1 pattern=$2
    shift 2
    try "$redlock" dev --cluster "$@" -- echo ran
    expect "$what: 64" 64 "$pattern"
    is '   nothing ran' "$out" ''
}
refused '--cluster with --count' 'one cluster of 6 servers; leave out --count' -c 3
refused '--cluster with --quorums' 'leave out --quorums' --quorums 2
refused '--cluster with --sentinel' '--cluster and --sentinel exclude each other' --sentinel
refused '--cluster with a port too high for eighteen' 'leaves no room for 18 ports' --port 65519
try "$redlock" dev -c 1 -- redlock dev isolate 1
expect 'servers without a bus are not cut off from it: 64' 64 'no bus.*`redlock dev --cluster` have one'

cat >"$tmp/helpers" <<'EOF'
. "$helpers" "$redlock"
list() { redlock dev list; }
# say NAME COMMAND...: what that server says to it.
say() {
    local port
    port=$(port_of "$1")
    shift
    ask "$port" "$@"
}
# has WORD NAME COMMAND...: whether it is in the first line of what the server says.
has() {
    local word=$1
    shift
    [[ $(say "$@") == *"$word"* ]]
}
# copied REPLICA: it has as many keys as its master, which are some.
copied() { [ "$(say "$1" DBSIZE)" = "$(say $(($1 - 3)) DBSIZE)" ]; }
# A node that is slow to answer has no part in a majority, so each of these may take a while to be so.
is_role() { [ "$(role_of "$1")" = "$2" ]; }
leads() { [ "$(list | awk -v vote="$2" '$4 == vote { print $1 }')" = "$1" ]; }
all_known() { redlock dev list >"$tmp_of_test/list" && [ "$(grep -c replica "$tmp_of_test/list")" = 3 ] && [ "$(grep -c 'v[1-3]' "$tmp_of_test/list")" = 3 ]; }
all_in_json() { redlock dev list --json >"$tmp_of_test/list" && jq -e '[.nodes[] | .votes // [] | length] == [1, 1, 1, 0, 0, 0] and (.nodes | all(.role != "unknown"))' "$tmp_of_test/list" >/dev/null; }
EOF
export helpers=$here/lib.bash redlock tmp_of_test=$tmp

cat >"$tmp/first" <<'EOF'
. "$tmp_of_test/helpers"
echo "nodes $REDLOCK_NODES"
echo "ports $(port_of 1) $(port_of 2) $(port_of 3) $(port_of 4) $(port_of 5) $(port_of 6)"
eventually all_known
awk 'NR > 1 { print $1, $3, NF == 6 ? $4 : "-" }' "$tmp_of_test/list"
eventually all_in_json
jq -c '.nodes[] | [.role, .votes]' "$tmp_of_test/list"
redlock lock -n --node-timeout 3s order >/dev/null && echo locked
say 1 SET '{um}key' value
say 2 SET '{sm}key' value
say 3 SET '{pm}key' value
for each in 4 5 6; do eventually copied $each && echo -n " copied"; done
say 1 GET '{sm}key' | sed 's/ .*//'
echo
ls "$REDLOCK_DEV"
EOF
try "$redlock" dev --cluster -- bash "$tmp/first"
expect 'the cluster is there' 0
is '   REDLOCK_NODES names its nodes' "$(sed -n 's/^nodes //p' "$tmp/out")" \
    "$(sed -nE 's/^ports //p' "$tmp/out" | sed 's|^|cluster://127.0.0.1:|; s/ /+127.0.0.1:/g')"
is '   three masters have a vote and a replica each' "$(sed 1,2d "$tmp/out")" '1 master v1
2 master v2
3 master v3
4 replica -
5 replica -
6 replica -
["master",["v1"]]
["master",["v2"]]
["master",["v3"]]
["replica",null]
["replica",null]
["replica",null]
locked
+OK+OK+OK copied copied copied-MOVED
control
node-1.log
node-2.log
node-3.log
node-4.log
node-5.log
node-6.log
state'
is '   nothing is left behind' "$(ls -d "$tmp"/redlock-dev-* 2>/dev/null)" ''

try "$redlock" dev --cluster --no-init -- redlock lock -n --node-timeout 3s order
expect '--no-init: no vote counts' 69

cat >"$tmp/failover" <<'EOF'
. "$tmp_of_test/helpers"
say 1 SET '{um}key' value
eventually copied 4 && echo ' copied'
redlock dev failover v1
eventually leads 4 v1 && eventually is_role 1 replica && echo 'a majority says so'
say 4 EXISTS '{um}key'
echo
redlock dev failover 1 || echo "failover=$?"
redlock dev failover || echo "failover=$?"
redlock dev failover v4 || echo "failover=$?"
redlock dev failover 4
redlock dev isolate v2
list | grep -q ' isolated ' && echo 'the list says so'
has PONG 2 PING && echo 'it answers'
eventually leads 5 v2 && echo 'v2 has moved'
has PONG 2 PING && eventually has CLUSTERDOWN 2 SET '{sm}key' late && echo 'it answers clients, and refuses writes'
redlock dev resume 2
eventually is_role 2 replica && echo 'a replica now'
redlock dev isolate 6
redlock dev kill 6
redlock dev isolate 6 || echo "isolate=$?"
redlock dev failover v3 || echo "failover=$?"
EOF
try "$redlock" dev --cluster -- bash "$tmp/failover"
expect 'failover, and a master cut off from the bus' 0
is '   another master, which most nodes name' "$(sed 's/(127[^)]*)/()/; s/ of v1$//' "$tmp/out")" '+OK copied
node 4 () is the master
a majority says so
:1
failover=64
failover=64
failover=64
node 1 () is the master
node 2 () is isolated
the list says so
it answers
v2 has moved
it answers clients, and refuses writes
node 2 () is up
a replica now
node 6 () is isolated
node 6 () is down
isolate=69
failover=69'
like '   and says what is wrong' "$err" 'node 1 is a replica of node 4'
like '   and what is missing' "$err" 'which master\? `redlock dev failover v1`'
like '   and what there is' "$err" 'they are 1 to 6, and v1 to v3 are the masters of the votes'
like '   and that the last one has no replica' "$err" 'node 3 has no replica that is up'

cat >"$tmp/dead" <<'EOF'
. "$tmp_of_test/helpers"
say 1 SET '{um}key' value
eventually copied 4 && echo ' copied'
redlock dev kill 1
eventually leads 4 v1 && say 4 EXISTS '{um}key'
echo
redlock dev start 1
eventually is_role 1 replica && echo 'a replica now'
redlock dev hang 2
eventually leads 5 v2 && echo switched
redlock dev resume 2
eventually is_role 2 replica && echo 'a replica now'
EOF
try "$redlock" dev --cluster -- bash "$tmp/dead"
expect 'a master is killed, and another one hung' 0
is '   its replica takes the vote, and the old one becomes a replica' "$(sed 's/(127[^)]*)/()/' "$tmp/out")" '+OK copied
node 1 () is down
:1
node 1 () is up
a replica now
node 2 () is hung
switched
node 2 () is up
a replica now'

"$redlock" dev --cluster --dir "$tmp/mine" >"$tmp/announced" 2>"$tmp/err" &
dev=$!
eventually grep -qs '^# replica 6' "$tmp/announced"
# shellcheck disable=SC1091
. "$tmp/announced"
like 'what it prints can be evaluated' "$REDLOCK_NODES" '^cluster://127.0.0.1:[0-9]+([+]127.0.0.1:[0-9]+){5}$'
is '   and says which is which' "$(sed -nE 's/^# ([a-z]+ [0-9]) .* pid [0-9]+(.*)/\1\2/p' "$tmp/announced" | tr '\n' ,)" \
    'master 1  vote v1,master 2  vote v2,master 3  vote v3,replica 4,replica 5,replica 6,'
bus=$(sed -n 's/^cluster-port //p' "$tmp/mine/state/node-1.conf")
try "$redlock" dev -c 1 --port "$bus" -- true
expect 'the port of a bus is taken' 78 "port $bus: Address already in use"
"$redlock" dev list | awk 'NR > 1 { print $NF }' >"$tmp/pids"
kill -TERM $dev
wait $dev
is 'TERM ends it' $? 0
is '   six servers' "$(wc -l <"$tmp/pids")" 6
while read -r pid; do that '   none is left' gone "$pid"; done <"$tmp/pids"
that '   and its directory is gone' [ ! -e "$tmp/mine" ]
done_testing
