#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `redlock dev`: real servers that come, obey and go without a trace.
. "$(dirname "$0")/lib.bash" "$@"
unset REDLOCK_DEV REDLOCK_NODES
export TMPDIR=$tmp
unhurried

# The pids of the servers that a shell inside can see.
pids='redlock dev list | awk "NR > 1 && \$4 != \"-\" { print \$4 }"'

try "$redlock" dev -- sh -c 'exit 17'
expect 'the status of the command' 17
try "$redlock" dev -c 1 -- sh -c 'kill -HUP $$'
expect '   128 + N for signals' 129
try "$redlock" dev -c 1 -- no-such-command-anywhere
expect '   127 when there is none' 127
is 'standard input gets through' "$(echo text | "$redlock" dev -c 1 -- cat)" text
for n in 1 3 5 15; do
    try "$redlock" dev -c $n -- sh -c 'redlock nodes --node-timeout 3s && redlock lock -n --node-timeout 3s x'
    expect "$n servers" 0
    is '   all up' "$(grep -c ' up ' "$tmp/out")" $n
done
try "$redlock" dev -c 2 -- sh -c "echo \$REDLOCK_DEV; $pids"
read -r dir <"$tmp/out"
for pid in $(tail -n +2 "$tmp/out"); do
    that 'no server is left' gone "$pid"
done
that 'no directory is left' [ ! -e "$dir" ]
try "$redlock" dev -c 1 -- sh -c 'mkdir -p $REDLOCK_DEV/a/b; : >$REDLOCK_DEV/a/b/c; echo $REDLOCK_DEV'
that '   whatever was put into it' [ ! -e "$out" ]
try "$redlock" dev -c 3 --no-init -- redlock lock -n --node-timeout 3s x
expect '--no-init: they are as young as any' 69 'in quarantine'
is 'other settings are kept out' \
    "$(REDLOCK_PASSWORD=x REDLOCK_CONFIG=/nonexistent "$redlock" dev -c 1 -- redlock lock -n --node-timeout 3s --no-fence --label "" x | wc -c)" 41

# Verbs. A busy machine may take its time to answer.
echo 'node-timeout = 500ms' >"$tmp/patient"
export patient=$tmp/patient
cat >"$tmp/verbs" <<'EOF'
set -e
export REDLOCK_CONFIG=$patient
redlock dev list | awk 'NR == 3 { print $3 }'
redlock lock -t 60s marker >/dev/null
redlock dev kill 2
redlock dev kill 2
redlock nodes | awk 'NR == 3 { print $2 }'
redlock dev start 2
redlock dev start 2
redlock lock -n -q --nodes "$(redlock dev list | awk 'NR == 3 { print $2 }')" young || echo "young=$?"
redlock init -q --yes --force
redlock nodes | awk 'NR == 3 { print $2 }'
redlock status -v marker | awk 'NR == 4 { print $2, $3, $4 }'
redlock dev hang 3
redlock dev start 3 || echo "start=$?"
redlock dev list | awk 'NR == 4 { print $3 }'
redlock dev kill 1
redlock lock -n other || echo "lock=$?"
redlock dev resume 3
redlock lock -n other >/dev/null && echo "lock=$?"
redlock dev hang 3
redlock dev kill 3
redlock dev start 3
redlock nodes | awk 'NR == 4 { print $2 }'
redlock dev hang 1 || echo "hang=$?"
redlock dev kill 9 || echo "kill=$?"
EOF
try "$redlock" dev -c 3 -- bash "$tmp/verbs"
expect 'kill, start, hang, resume, list' 0
is '   each does what it says' "$(sed 's/(127[^)]*)/()/' "$tmp/out")" 'up
node 2 () is down
node 2 () is down
down
node 2 () is up
node 2 () is up
young=69
up
no such key
node 3 () is hung
start=69
hung
node 1 () is down
lock=69
node 3 () is up
lock=0
node 3 () is hung
node 3 () is down
node 3 () is up
up
hang=69
kill=64'
like '   hang of a dead one says how to start it' "$err" 'node 1 is down; `redlock dev start 1`'
like '   start of a hung one says how to let it go on' "$err" 'node 3 is hung; `redlock dev resume 3`'
is '   a server started again is said to be in quarantine, once' \
    "$(grep -c 'it is empty and in quarantine.*`redlock init`' "$tmp/err")" 2
like '   a number too high says what there is' "$err" 'they are 1 to 3'

# Without a command, from elsewhere.
"$redlock" dev -c 2 --dir "$tmp/mine" >"$tmp/announced" 2>"$tmp/err" &
dev=$!
eventually grep -qs '^# node 2' "$tmp/announced"
like 'it prints what to export' "$(cat "$tmp/announced")" '^export REDLOCK_NODES=127.0.0.1:[0-9]+,127.0.0.1:[0-9]+$'
# shellcheck disable=SC1091
. "$tmp/announced"
is '   and where it is' "$REDLOCK_DEV" "$tmp/mine"
try "$redlock" nodes
expect '   and the servers are there' 0
unset REDLOCK_DEV
try "$redlock" dev --dir "$tmp/mine" kill 1
expect '--dir finds it from anywhere' 0
try "$redlock" dev --dir "$tmp/mine" -- true
expect 'a directory in use is refused' 78 'not an empty directory'
server=$("$redlock" dev --dir "$tmp/mine" list | awk 'NR == 3 { print $4 }')
kill -KILL "$server"
that 'a server that dies is noticed' eventually grep -q 'node 2 .* ended by itself' "$tmp/err"
"$redlock" dev --dir "$tmp/mine" start 2 >/dev/null
server=$("$redlock" dev --dir "$tmp/mine" list | awk 'NR == 3 { print $4 }')
"$redlock" dev --dir "$tmp/mine" hang 2 >/dev/null
kill -TERM $dev
wait $dev
is 'TERM ends it' $? 0
that '   with its servers, hung ones too' gone "$server"
that '   and its directory' [ ! -e "$tmp/mine" ]
mkdir "$tmp/there"
try "$redlock" dev -c 1 --dir "$tmp/there" -- true
is 'a directory that was there stays, empty' "$status:$(ls "$tmp/there")" 0:
try "$redlock" dev --dir "$tmp/there" list
expect 'no redlock dev in that directory: 69' 69 'no `redlock dev` answers'
unset REDLOCK_NODES

# Killed outright.
"$redlock" dev -c 2 --dir "$tmp/short" -- sh -c "$pids >'$tmp/pids'; echo \$\$ >>'$tmp/pids'; exec sleep 1000" &
dev=$!
three() { [ "$(cat "$tmp/pids" 2>/dev/null | wc -l)" = 3 ]; }
eventually three
kill -KILL $dev
wait $dev 2>/dev/null
left=0
while read -r pid; do eventually gone "$pid" || left=1; done <"$tmp/pids"
is 'kill -9 leaves no server and no command' $left 0

# Signals go to the command.
"$redlock" dev -c 1 -- bash -c "trap 'exit 12' TERM; echo up >'$tmp/up'; while :; do read -r -t 5 _ <><(:); done" &
dev=$!
eventually [ -s "$tmp/up" ]
kill -TERM $dev
wait $dev
is 'TERM goes to the command, and its status counts' $? 12

# Programs and ports.
server=$(command -v redis-server || command -v valkey-server)
try env PATH=/nonexistent "$redlock" dev -- true
expect 'no server program: 69, and how to get one' 69 'install one with: .*install'
try env REDLOCK_SERVER="$server" PATH=/usr/bin:/bin "$redlock" dev -c 1 -- true
expect 'REDLOCK_SERVER' 0
try "$redlock" dev --server /nonexistent -- true
expect 'a server that is not there: 78' 78 '/nonexistent is not a program'
try "$redlock" dev --server /bin/true -- true
expect 'a program that is no server: 69' 69 'ended at once'
printf '#!/bin/sh\necho broken on purpose\nexit 1\n' >"$tmp/broken"
chmod +x "$tmp/broken"
try "$redlock" dev --server "$tmp/broken" -- true
expect '   with what it said' 69 'it printed: broken on purpose'
cat >"$tmp/inner" <<'EOF'
taken=${REDLOCK_NODES%%,*}
redlock dev -c 1 --port "${taken##*:}" -- true
echo "taken=$?"
EOF
try "$redlock" dev -c 1 -- bash "$tmp/inner"
like 'a port that is taken: 78' "$out$err" 'port [0-9]+: Address already in use.*|taken=78'
is '   and says so' "$out" taken=78
try env TMPDIR=/nonexistent "$redlock" dev -- true
expect 'no place for the directory: 78' 78 'cannot make a directory in /nonexistent'
deep=$tmp/$(printf '%0100d' 0)/$(printf '%0100d' 0)
mkdir -p "$deep"
try env TMPDIR="$deep" "$redlock" dev -c 1 -- redlock dev list
expect 'a directory with a long path' 0
is 'nothing is left behind' "$(ls -d "$tmp"/redlock-dev-* 2>/dev/null)" ''
done_testing
