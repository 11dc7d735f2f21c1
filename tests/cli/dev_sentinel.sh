#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `redlock dev --sentinel`: a master, two replicas and three sentinels that come, appoint another
# master and go without a trace.
. "$(dirname "$0")/lib.bash" "$@"
unset REDLOCK_DEV REDLOCK_NODES
export TMPDIR=$tmp

# refused WHAT PATTERN ARG...: nothing is started.
refused() {
    local what=$1 pattern=$2
    shift 2
    try "$redlock" dev --sentinel "$@" -- echo ran
    expect "$what: 64" 64 "$pattern"
    is '   nothing ran' "$out" ''
}
refused '--sentinel with --count' '3 servers and 3 sentinels; leave out --count' -c 3
refused '--sentinel with --quorums' 'leave out --quorums' --quorums 2
refused '--sentinel with a port too high for six' 'leaves no room for 6 ports' --port 65531
try "$redlock" dev -c 1 -- redlock dev failover
expect 'servers without sentinels have no failover: 64' 64 'no sentinels; `redlock dev --sentinel`'
try "$redlock" dev -c 1 -- redlock dev kill s1
expect '   and no server of that name' 64 'they are 1 to 1$'
try "$redlock" dev list 1
expect '   and a list takes no number' 64 "unexpected word '1'"

cat >"$tmp/helpers" <<'EOF'
. "$helpers" "$redlock"
list() { redlock dev list; }
# named SENTINEL: the port of the master, as that sentinel says.
named() { answer "$(port_of "$1")" 'SENTINEL GET-MASTER-ADDR-BY-NAME redlock' | sed -n 5p; }
# majority PORT: two sentinels name that one.
majority() {
    local each count=0
    for each in s1 s2 s3; do
        [ "$(list | awk -v name=$each '$1 == name { print $4 }')" = up ] || continue
        [ "$(named $each)" != "$1" ] || count=$((count + 1))
    done
    [ $count -ge 2 ]
}
# is_role NAME ROLE: what the server says of itself.
is_role() { [ "$(answer "$(port_of "$1")" ROLE | sed -n 3p)" = "$2" ]; }
EOF
export helpers=$here/lib.bash redlock
cat >"$tmp/first" <<'EOF'
. "$tmp_of_test/helpers"
echo "nodes $REDLOCK_NODES"
echo "sentinels $(port_of s1) $(port_of s2) $(port_of s3)"
list | awk 'NR > 1 { print $1, $3, $4 }'
for each in s1 s2 s3; do
    port=$(port_of $each)
    echo "$each $([ "$(named $each)" = "$(port_of 1)" ] && echo 1) $(answer "$port" 'SENTINEL REPLICAS redlock' | grep -cx name)" \
        "$(answer "$port" 'SENTINEL SENTINELS redlock' | grep -cx name)"
done
is_role 1 master && is_role 2 slave && is_role 3 slave && echo roles
ask "$(port_of 1)" SET key value
ask "$(port_of 1)" WAIT 2 60000
echo
ls "$REDLOCK_DEV"
EOF
export tmp_of_test=$tmp
try "$redlock" dev --sentinel -- bash "$tmp/first"
expect 'the group is there' 0
is '   REDLOCK_NODES names its sentinels and the group' "$(sed -n 's/^nodes //p' "$tmp/out")" \
    "$(sed -nE 's|^sentinels (.*) (.*) (.*)|sentinel://127.0.0.1:\1+127.0.0.1:\2+127.0.0.1:\3/redlock|p' "$tmp/out")"
is '   all know each other and both replicas, which follow the master' "$(sed 1,2d "$tmp/out")" '1 master up
2 replica up
3 replica up
s1 sentinel up
s2 sentinel up
s3 sentinel up
s1 1 2 2
s2 1 2 2
s3 1 2 2
roles
+OK:2
control
node-1.log
node-2.log
node-3.log
sentinel-1.log
sentinel-2.log
sentinel-3.log
state'
is '   nothing is left behind' "$(ls -d "$tmp"/redlock-dev-* 2>/dev/null)" ''

cat >"$tmp/failover" <<'EOF'
. "$tmp_of_test/helpers"
ask "$(port_of 1)" SET key value >/dev/null
ask "$(port_of 1)" WAIT 2 60000
echo
redlock dev failover | sed 's/[0-9] (.*) is/N is/'
now=$(master)
[ "$now" != 1 ] && echo "another"
majority "$(port_of "$now")" && echo "a majority names it"
eventually is_role "$now" master && echo "it is one"
ask "$(port_of "$now")" EXISTS key
echo
redlock dev failover --json | jq -r '.nodes[] | .role, (.number | tostring) == .name, .state'
[ "$(master)" != "$now" ] && echo "yet another"
redlock dev failover 1 || echo "failover=$?"
redlock dev hang s1
redlock dev kill s2
redlock dev failover || echo "failover=$?"
redlock dev kill master || echo "kill=$?"
list | awk 'NR == 2 { print $3 }'
redlock dev resume s1
redlock dev start s2
eventually majority "$(port_of "$(master)")" && echo "a majority again"
EOF
try "$redlock" dev --sentinel -- bash "$tmp/failover"
expect 'failover' 0
is '   another master, which most sentinels name' "$(sed 's/(127[^)]*)/()/' "$tmp/out")" ':2
node N is the master
another
a majority names it
it is one
:1
master
true
up
yet another
failover=64
sentinel s1 () is hung
sentinel s2 () is down
failover=69
kill=69
unknown
sentinel s1 () is up
sentinel s2 () is up
a majority again'
like '   a group has one master, which needs no number' "$err" 'a Sentinel group has one master; leave out 1'
is '   with too few sentinels both say so' "$(grep -c 'no majority of the sentinels names a master' "$tmp/err")" 2

cat >"$tmp/dead" <<'EOF'
. "$tmp_of_test/helpers"
switched() { [ -n "$(master)" ] && [ "$(master)" != "$old" ]; }
ask "$(port_of 1)" SET key value >/dev/null
ask "$(port_of 1)" WAIT 2 60000
echo
old=1
redlock dev kill master
eventually switched && majority "$(port_of "$(master)")" && echo switched
eventually is_role "$(master)" master && ask "$(port_of "$(master)")" EXISTS key
echo
redlock dev start 1
eventually is_role 1 slave && echo "a replica now"
copied() { [ "$(ask "$(port_of 1)" EXISTS key)" = :1 ]; }
eventually copied && echo "which has the key again"
redlock dev kill 1
redlock dev start 1
eventually is_role 1 slave && eventually copied && echo "also when it was killed"

old=$(master)
redlock dev hang master | sed 's/[0-9] (.*) is/N is/'
redlock dev start "$old" 2>/dev/null || echo "start=$?"
eventually switched && majority "$(port_of "$(master)")" && echo switched
redlock dev resume "$old" | sed 's/[0-9] (.*) is/N is/'
eventually is_role "$old" slave && echo "a replica now"

last=$(master)
for each in s1 s2 s3; do redlock dev kill $each >/dev/null; done
redlock dev kill "$last" >/dev/null
redlock dev start "$last" >/dev/null
ask "$(port_of "$last")" EXISTS key
echo
EOF
try "$redlock" dev --sentinel -- bash "$tmp/dead"
expect 'the master is killed, and the next one hung' 0
is '   most sentinels name another one, the old one becomes a replica, and a restart forgets all' \
    "$(sed 's/(127[^)]*)/()/' "$tmp/out")" ':2
node 1 () is down
switched
:1
node 1 () is up
a replica now
which has the key again
node 1 () is down
node 1 () is up
also when it was killed
node N is hung
start=69
switched
node N is up
a replica now
:0'
is '   nothing is left behind' "$(ls -d "$tmp"/redlock-dev-* 2>/dev/null)" ''

pids='redlock dev list | awk "NR > 1 { print \$5 }"'
mkdir "$tmp/there"
try "$redlock" dev --sentinel --dir "$tmp/there" -- sh -c "$pids"
is 'six processes' "$(wc -l <"$tmp/out")" 6
for pid in $(cat "$tmp/out"); do
    that '   none is left' gone "$pid"
done
is '   and a directory that was there is empty' "$status:$(ls -A "$tmp/there")" 0:
"$redlock" dev --sentinel -- sh -c "redlock dev hang s3 >/dev/null; $pids >'$tmp/pids'; echo \$\$ >>'$tmp/pids'; exec sleep 1000" &
dev=$!
seven() { [ "$(cat "$tmp/pids" 2>/dev/null | wc -l)" = 7 ]; }
eventually seven
kill -KILL $dev
wait $dev 2>/dev/null
left=0
while read -r pid; do eventually gone "$pid" || left=1; done <"$tmp/pids"
is 'kill -9 leaves no server, no sentinel and no command' $left 0

"$redlock" dev --sentinel --dir "$tmp/mine" >"$tmp/announced" 2>"$tmp/err" &
dev=$!
eventually grep -qs '^# sentinel s3' "$tmp/announced"
# shellcheck disable=SC1091
. "$tmp/announced"
like 'what it prints can be evaluated' "$REDLOCK_NODES" '^sentinel://127.0.0.1:[0-9]+[+]127.0.0.1:[0-9]+[+]127.0.0.1:[0-9]+/redlock$'
is '   and says which is which' "$(sed -nE 's/^# ([a-z]+ [s0-9]+) .*/\1/p' "$tmp/announced" | tr '\n' ,)" \
    'master 1,replica 2,replica 3,sentinel s1,sentinel s2,sentinel s3,'
kill -KILL "$("$redlock" dev list | awk '$1 == "s1" { print $5 }')"
that 'a sentinel that dies is noticed' eventually grep -q 'sentinel s1 .* ended by itself; `redlock dev start s1`' "$tmp/err"
kill -TERM $dev
wait $dev
is 'TERM ends it' $? 0
that '   and its directory' [ ! -e "$tmp/mine" ]
done_testing
