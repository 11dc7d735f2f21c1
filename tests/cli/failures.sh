#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A failed operation says, node by node, what happened, and what to do next. Passwords are never
# shown.
. "$(dirname "$0")/lib.bash" "$@"
inside_dev 3 "$@"

echo 'node-timeout = 200ms' >"$tmp/hurried" # for the node that hangs
export REDLOCK_CONFIG=$tmp/hurried
secret=sEcReT-0815
row() {
    like "$1" "$err" "127.0.0.1:$(port "$2") +$3"
}

"$redlock" dev kill 1 >/dev/null
"$redlock" dev hang 2 >/dev/null
for sub in 'lock -n x' 'run -n x true' 'extend x 00' 'unlock x 00' 'status x'; do
    try "$redlock" $sub
    expect "$sub, one of three left: 69" 69 'next: '
    row '   the dead one' 1 'connection refused'
    row '   the hung one' 2 '(timed out|no answer yet)'
    is '   nothing on standard output' "$out" ''
done
try "$redlock" nodes
expect 'nodes, one of three left: 69' 69 'next: '
like 'the table is on standard output' "$out" "127.0.0.1:$(port 3) +(up|late) +yes +(redis|valkey) [0-9.]+"
like 'the dead one' "$out" "127.0.0.1:$(port 1) +(down|connecting) .*[Cc]onnection refused"
# Its question, or its connection: whichever ran out of time first.
like 'the hung one' "$out" "127.0.0.1:$(port 2) .*(timed out|no answer for [0-9]+ ms)"
try "$redlock" lock -n -q x
is '-q: the status alone' "$status:$out$err" 69:
try "$redlock" lock -w 1s x
expect 'with a wait: 69 when it has passed' 69
("$redlock" run patient -- echo at last >"$tmp/patient" 2>"$tmp/warning"; echo $? >>"$tmp/patient") &
that 'waiting for ever for nodes is not silent' \
    eventually grep -qs 'too few nodes can vote' "$tmp/warning"
"$redlock" dev resume 2 >/dev/null
wait
is '   and succeeds when they come back' "$(cat "$tmp/patient")" $'at last\n0'
"$redlock" dev start 1 >/dev/null 2>&1
unhurried
"$redlock" init -q --yes --force || not_ok init
try "$redlock" nodes
expect 'all back: nodes says 0' 0
is '   and all are up' "$(grep -c ' up ' "$tmp/out")" 3
try "$redlock" lock -n --nodes "127.0.0.1:$(port 1)" x
expect 'one node of the three does not count' 69 'set of another number of nodes .* redlock_admit\(\)'
like '   and where to look' "$err" 'next: .*`redlock doctor` shows which node belongs where'
try "$redlock" lock -n --guard off --nodes "127.0.0.1:$(port 1)" x
expect 'one node is a majority of one' 0

# A server that does not speak the protocol: the control socket of `redlock dev`.
control=unix://$REDLOCK_DEV/control
try "$redlock" lock -n --nodes "$control" x
like 'not a Redis server: 69' "$status" '^69$'
like '   its path is shown' "$err" "$REDLOCK_DEV/control"

# Passwords.
for k in 1 2 3; do ask "$(port $k)" CONFIG SET requirepass "$secret" >/dev/null; done
try "$redlock" lock -n x
expect 'no password: 77' 77 'next: .*--password-file'
like '   node by node' "$err" "^ +127.0.0.1:[0-9]+ +authentication failed"
try env REDLOCK_PASSWORD=wrong-"$secret" "$redlock" lock -n x
expect 'a wrong password: 77' 77 'next: check the user .* and the password'
unlike '   which is not shown' "$out$err" "$secret"
try env REDLOCK_NODES="redis://:$secret@127.0.0.1:$(port 1),127.0.0.1:$(port 2),127.0.0.1:$(port 3)" "$redlock" lock -n one-url
expect 'the password in one URL of three: 77' 77 'next: give the password for every node'
unlike '   and waiting is no advice' "$err" 'next: wait'
printf '%s\nsecond line\n' "$secret" >"$tmp/password"
try "$redlock" lock -n --password-file "$tmp/password" by-file
expect '--password-file: its first line' 0
try env REDLOCK_PASSWORD="$secret" "$redlock" lock -n by-environment
expect 'REDLOCK_PASSWORD' 0
try env REDLOCK_PASSWORD=wrong "$redlock" lock -n --password-file "$tmp/password" stronger
expect '--password-file is stronger than REDLOCK_PASSWORD' 0
echo "password-file = $tmp/password" >"$tmp/conf"
try "$redlock" lock -n --config "$tmp/conf" by-config
expect 'password-file in the configuration file' 0
try env REDLOCK_PASSWORD=wrong "$redlock" lock -n --config "$tmp/conf" weaker
expect '   which is weaker than REDLOCK_PASSWORD' 77
with=
for k in 1 2 3; do with=$with,redis://:$secret@127.0.0.1:$(port $k); done
try env REDLOCK_NODES="$with" "$redlock" lock -n by-url
expect 'in a URL in REDLOCK_NODES' 0
is '   without a word' "$err" ''
try "$redlock" lock -n --nodes "$with" by-argument
expect 'in a URL on the command line, with a warning' 0 'can see the password.*ps'
unlike '   that does not repeat it' "$out$err" "$secret"
try "$redlock" lock -n -q --nodes "$with" by-argument-quietly
is '   or none with -q' "$err" ''

# shown ARGUMENT...: is the secret ever repeated?
hidden() {
    try "$redlock" "$@"
    unlike "not shown: redlock ${*//$secret/...}" "$out$err" "$secret"
    try "$redlock" "$@" --json
    unlike '   nor with --json' "$out$err" "$secret"
}
url=redis://me:$secret@
hidden lock -n --nodes "${url}127.0.0.1:1" x
hidden lock -n --nodes "rdis://me:$secret@host" x
hidden lock -n --nodes "${url}host:99999" x
hidden lock -n --nodes "${url}host,${url}host" x
hidden lock -n --nodes "redis://me:$secret%zz@host" x
hidden nodes "${url}host"
hidden lock --password "$secret" x
hidden lock --password="$secret" x
hidden lock --passwrod="$secret" x
hidden dev "${url}host"
hidden "${url}host"
hidden run -t "${url}host" x true
hidden nodes --nodes "$with"
hidden status --nodes "$with" x
done_testing
