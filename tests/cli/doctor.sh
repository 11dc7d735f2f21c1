#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `redlock doctor` finds each planted fault, says what to do, and its status says whether one is there.
# Its cheap half is a warning of every subcommand that opens a client.
. "$(dirname "$0")/lib.bash" "$@"
inside_dev 3 "$@"

# finds WHAT STATUS PATTERN REMEDY OPTION...
finds() {
    local what=$1 want=$2 pattern=$3 remedy=$4
    shift 4
    try "$redlock" doctor "$@"
    expect "$what: $want" "$want"
    like '   what was found' "$out" "$pattern"
    like '   what to do' "$out" "-> .*$remedy"
}
nodes=$REDLOCK_NODES
first=127.0.0.1:$(port 1)
second=127.0.0.1:$(port 2)

try "$redlock" doctor
expect 'nothing wrong: 0' 0
is '   and only the promise and the summary' "$(sed 's/[0-9]\+/N/g' "$tmp/out")" \
    $'N independent servers, profile efficiency: one holder; N of N may be away, or wait N s after a restart\nN nodes, N checks: N ok, N warn, N fail, N unknown (-v shows all)'
like '   which counts' "$out" '3 nodes, [0-9]+ checks: [0-9]+ ok, 0 warn, 0 fail, 0 unknown'
unlike 'no colours without a terminal' "$out" $'\033'
is 'nothing is left behind' "$(ask "$(port 1)" KEYS 'redlock:*')" '*0'
try "$redlock" doctor -v
for check in reachable role identity membership max_ttl eviction persistence clock latency rights fencing waiting kinds guard; do
    is "-v: $check of every node" "$(grep -c "^  ok  *$check " "$tmp/out")" 3
done
is '-v: servers that forget are said to be no place for records of runs' \
    "$(grep -A1 '^  ok  *persistence .*ok for locks' "$tmp/out" | grep -c 'as records of periodic runs do, needs appendonly yes')" 3
try "$redlock" doctor -q
is '-q: the status alone' "$status:$out$err" 0:

# Some of the nodes only: the wrong number of them, and an even one.
finds 'some of the nodes' 1 '^  fail +membership +set [0-9a-f]{16} of 3 nodes: .*another number' 'init' \
    --nodes "$first,$second"
is '   of each' "$(grep -c 'fail *membership' "$tmp/out")" 2
like '   for which waiting is no remedy' "$out" '-> waiting does not help: see membership'
try "$redlock" lock -n --nodes "$first,$second" some
expect '   and they do not count' 69 'too few nodes count\. 127.* set of another number of nodes .* the same nodes'
like '   and where to look' "$err" 'next: .*`redlock doctor` shows'
unlike '   and init is not what to do next' "$(grep next: "$tmp/err")" 'redlock init'
like '   but the right nodes are' "$err" 'next: give this client the nodes that the others have'
finds 'an even number' 1 '^  warn +number ' 'odd' --nodes "$first,$second"
try "$redlock" lock -n --guard off --nodes "$first,$second" even
expect 'a subcommand that opens a client warns' 0 '^redlock: warning: .*even number'
is '   once' "$(grep -c 'warning.*even' "$tmp/err")" 1
like '   and that only the guard leaves them out' "$err" 'does not count while the guard is on'
try "$redlock" lock -n -q --guard off --nodes "$first,$second" even-quiet
is '   none with -q' "$status:$err" 0:
try "$redlock" run -n --skip-ok --guard off --nodes "$first,$second" even-cron -- true
is '   nor with --skip-ok' "$status:$err" 0:
try "$redlock" lock -n --json --guard off --nodes "$first,$second" even-json
is '   nor with --json' "$status:$err" 0:

finds 'another max_ttl' 0 '^  warn +max_ttl +initialised with 60.000 s, this client has 300.000 s' 'max-ttl' \
    --max-ttl 5m
is '   of each' "$(grep -c 'warn *max_ttl' "$tmp/out")" 3
finds 'a max_ttl below the default TTL' 0 '^  warn +max_ttl +initialised with 60.000 s, this client has 3.000 s' \
    'max-ttl' --max-ttl 3s
try "$redlock" lock -n --max-ttl 3s shorter
expect '   which gives way' 0
try "$redlock" lock -n --max-ttl 5m longer
expect '   and a warning' 0 '^redlock: warning: .*max_ttl of 60000 ms, here it is 300000 ms'
is '   in one line for all nodes' "$(grep -c warning "$tmp/err")" 1

finds 'the same server twice' 1 '^  fail +identity +the same server' 'server of its own' \
    --nodes "$nodes,localhost:$(port 1),127.0.0.2:1"
is '   both of its names' "$(grep -c 'fail *identity' "$tmp/out")" 2
try "$redlock" nodes --nodes "$first,$second,localhost:$(port 1)"
like '   and a warning' "$err" '^redlock: warning: .*same server'
try "$redlock" run -n --nodes "$first,localhost:$(port 1),127.0.0.2:1" twice -- true
expect '   and what to do when too few are left' 69 'next: give every node a server of its own: one server counts once'

ask "$(port 2)" CONFIG SET maxmemory 100mb >/dev/null
ask "$(port 2)" CONFIG SET maxmemory-policy volatile-lru >/dev/null
finds 'an evicting policy' 1 '^  fail +eviction .*volatile-lru' 'noeviction'
is '   on that node only' "$(grep -c "^127" "$tmp/out"):$(grep -o "^127.*" "$tmp/out")" "1:$second"
try "$redlock" status x
like '   and a warning' "$err" "^redlock: warning: $second: .*evicts"
ask "$(port 2)" CONFIG SET maxmemory-policy noeviction >/dev/null

ask "$(port 2)" REPLICAOF 127.0.0.1 "$(port 1)" >/dev/null
finds 'a replica' 1 '^  fail +role +a replica' 'REPLICAOF NO ONE'
unlike '   neither rights nor init would help' "$(sed -n "/^$second/,/^127/p" "$tmp/out")" '-> .*(rights listed|redlock init)'
try "$redlock" lock -n --guard off --nodes "$second" replica
like '   nor would it help to bring it back' "$err" 'next: a replica grants nothing: name its master'
ask "$(port 2)" REPLICAOF NO ONE >/dev/null

for k in 1 2 3; do
    ask "$(port $k)" ACL SETUSER weak on '>pw' '~*' +ping +set +get +pttl +del +eval +evalsha +script '+client|setname' >/dev/null
    ask "$(port $k)" ACL SETUSER poor on '>pw' '~*' +@all -set -eval -evalsha >/dev/null
    ask "$(port $k)" ACL SETUSER blind on '>pw' '~*' '&*' +@all -scan >/dev/null
done
export REDLOCK_PASSWORD=pw
try "$redlock" doctor --user weak
like 'no INFO: unknown, neither ok nor a crash' "$out" '^  unknown +role '
unlike '   and not ok' "$(grep 'role' "$tmp/out")" ' ok '
finds 'rights are missing' 1 '^  fail +rights +cannot acquire: not permitted: NOPERM' 'ACL SETUSER poor [+]set' --user poor
try "$redlock" list --user blind
expect 'list without the right to SCAN: 77' 77 'not permitted: SCAN'
like '   what to do' "$err" 'next: give this user the missing right on the servers .ACL SETUSER'
unlike '   which is no wrong password' "$err" 'authentication failed|check .*password'
try env REDLOCK_PASSWORD=wrong "$redlock" list --user blind
expect 'list with a wrong password: 77' 77 'authentication failed'
like '   what to do' "$err" 'next: check the user .* and the password'
unset REDLOCK_PASSWORD

finds 'TLS to a port without it' 69 '^  fail +reachable .*use redis://' 'write its address as the text says' \
    --nodes "rediss://$first"
unlike '   not that it should be started' "$out" 'start the server'
try "$redlock" status --nodes "rediss://$first" x
expect '   and other subcommands say so' 69 'next: write the addresses as the table shows'

if command -v openssl >/dev/null; then
    openssl req -x509 -newkey rsa:2048 -nodes -keyout "$tmp/key.pem" -out "$tmp/cert.pem" -subj /CN=localhost -days 1 2>/dev/null
    openssl s_server -www -accept 127.0.0.1:0 -cert "$tmp/cert.pem" -key "$tmp/key.pem" </dev/null >"$tmp/tls" 2>&1 &
    tls=$!
    eventually grep -q '^ACCEPT' "$tmp/tls"
    try "$redlock" status --nodes "rediss://$(sed -n 's/^ACCEPT //p' "$tmp/tls")" x
    expect 'a certificate of its own making: what to check' 69 'next: check the certificates'
    kill $tls
    wait $tls 2>/dev/null
else
    printf '# left out: openssl is not installed\n'
fi

"$redlock" dev kill 3 >/dev/null
finds 'a dead node' 1 "^  fail +reachable +connection refused" 'start the server'
like '   by its name' "$out" "^127.0.0.1:$(port 3)$"
"$redlock" dev start 3 >/dev/null 2>&1
finds 'a restarted node' 0 '^  warn +guard .*restarted not long ago; may vote in [0-9]+ s' 'redlock init'
"$redlock" dev kill 3 >/dev/null
"$redlock" dev kill 2 >/dev/null
finds 'no majority' 69 '^  fail +number +1 of 3 nodes reachable' 'no lock can be acquired'
try "$redlock" doctor --nodes 127.0.0.1:1
expect 'no node answers at all: 69' 69
done_testing
