#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `redlock init` looks before it states: what is all right is left alone, what is held is listed and refused, and a node
# is replaced under held locks in the time that this takes, whatever interrupts it.
. "$(dirname "$0")/lib.bash" "$@"
inside_dev 4 "$@"
needs jq
first=127.0.0.1:$(port 1) second=127.0.0.1:$(port 2) third=127.0.0.1:$(port 3) fourth=127.0.0.1:$(port 4)
for k in 1 2 3 4; do ask "$(port $k)" FLUSHALL >/dev/null; done
export REDLOCK_NODES=$first,$second,$third
# The longest TTL is 15 s here, so that the time of a replacement is 17.
printf 'max-ttl = 15s\nttl = 15s\n' >>"$REDLOCK_CONFIG"

markers() {
    local k
    for k in 1 2 3; do
        answer "$(port $k)" 'HMGET redlock.admit id max_ttl set'
    done | sed -n '/^[*$]/!p' | paste -sd-
}

try "$redlock" init --yes
expect 'a new set' 0
like '   of three nodes' "$out" '^3 of 3 nodes may vote$'
before=$(markers)
"$redlock" run busy -- sh -c "touch $tmp/held; until [ -e $tmp/go ]; do sleep 0.05; done" &
holder=$!
that 'a lock is held' eventually test -e "$tmp/held"
try "$redlock" init --yes
expect 'again, while a lock is held: 0' 0
like '   says that nothing was to be done' "$out" '^3 of 3 nodes may vote already: nothing was to be done$'
try "$redlock" init --yes --json
is '   with --json' "$(jq -c '[.ok, .changed]' <<<"$out")" '[true,false]'
try "$redlock" init </dev/null
expect '   and asks nothing' 0
try "$redlock" init --max-ttl 16s --force </dev/null
expect '   but what would change something is asked, and without a terminal not done: 64' 64 'no terminal to ask on; --yes'
is '   and nothing was written' "$(markers)" "$before"
try "$redlock" init --yes --max-ttl 16s
expect 'what would change something, while a lock is held: 73' 73 'locks are held on these nodes\. Nothing was changed'
like '   who holds it, and since when' "$err" '^  busy: held by .*\(sh\), for (at least )?[0-9.]+ (ms|s|min)'
like '   what to do' "$err" 'next: wait until they are released.*--replace OLD.*--force'
is '   nothing was written' "$(markers)" "$before"
try "$redlock" init --yes --max-ttl 16s --json
is '   with --json' "$(jq -c '[.ok, .error, .exit_status, .held[0].name, (.held[0].holders | length > 0), .more]' <<<"$out")" \
    '[false,"HELD",73,"busy",true,0]'
try "$redlock" init --yes --max-ttl 16s --force
expect '   with --force: 0' 0
like '   it is done' "$out" '^3 of 3 nodes may vote$'
unlike '   and written' "$(markers)" "$before"
try "$redlock" init --yes --force
expect '   and back' 0
ask "$(port 1)" SET redlock:forgotten of-another PX 60000 >/dev/null
try "$redlock" init --yes --max-ttl 16s
like 'a lock that two of three nodes do not have' "$err" '^  forgotten: on 1 node only; the others may have forgotten it$'
ask "$(port 1)" DEL redlock:forgotten >/dev/null
try "$redlock" init --yes --nodes "$first,localhost:$(port 1),$second"
expect 'a list in which one server stands twice: 69' 69 'the same server as another node of the list.*Nothing was changed'
like '   what to do' "$err" 'next: give every node a server of its own'
is '   nothing was written' "$(markers)" "$before"
for k in 1 2 3; do
    ask "$(port $k)" ACL SETUSER operator on '>pw' resetkeys -@all '~redlock.admit' +ping +info +time +hmget +hset +eval +evalsha >/dev/null
done
try env REDLOCK_PASSWORD=pw "$redlock" init --yes --max-ttl 16s --user operator
expect 'a user that may not list what is held: 77' 77 'not permitted: SCAN'
for k in 1 2 3; do ask "$(port $k)" ACL SETUSER operator +scan >/dev/null; done
try env REDLOCK_PASSWORD=pw "$redlock" init --yes --max-ttl 16s --user operator
expect '   nor look at it: 77' 77 'busy: .*not permitted'
try env REDLOCK_PASSWORD=pw "$redlock" init --yes --user operator
expect '   needs neither where nothing is to be done' 0
touch "$tmp/go"
wait $holder
rm -f "$tmp/held" "$tmp/go"
ask "$(port 2)" DEL redlock.admit >/dev/null
try "$redlock" run -n --guard off --every 1h nightly -- true
try "$redlock" init --yes
expect 'records of --every are no locks' 0 ''

"$redlock" run -q busy -- sh -c "touch $tmp/held; until [ -e $tmp/go ]; do sleep 0.05; done" &
holder=$!
eventually test -e "$tmp/held"
replace() { # OPTION...
    "$redlock" init --yes --nodes "$first,$second,$fourth" "$@"
}
try replace --replace "$third"
expect 'an old server that answers: 69' 69 "$third still answers: stop it for good.*Nothing was changed"
before=$(markers)
"$redlock" dev kill 3 >/dev/null
try replace
expect 'a new node without --replace, while a lock is held: 73' 73 '^  busy: held by'
try replace --replace "$third" --force
expect '--replace does not go with --force' 64
try "$redlock" init --yes --nodes "$first,127.0.0.1:1,$fourth" --replace "$third"
expect 'a node that is not there: 69' 69 'Nothing was changed'
try "$redlock" init --nodes "$first,$second,$fourth" --replace "$third" </dev/null
expect 'without a terminal it needs --yes' 64 'the old server is stopped for good'
# Interrupted, it has written nothing.
(exec "$redlock" init --yes --nodes "$first,$second,$fourth" --replace "$third" >"$tmp/interrupted" 2>&1) &
interrupted=$!
that 'it says what it waits for' eventually grep -q 'waiting .* until no lock leans on the old server' "$tmp/interrupted"
kill -9 $interrupted
wait $interrupted 2>/dev/null
is 'interrupted: nothing was written on a new node' "$(ask "${fourth##*:}" EXISTS redlock.admit)" :0
start=$(now_ms)
try replace --replace "$third"
expect 'a node is replaced under a held lock' 0 'waiting'
that '   after the longest TTL and two seconds' [ $(($(now_ms) - start)) -ge 17000 ]
like '   and votes' "$out" '^3 of 3 nodes may vote$'
that '   the lock is held still' kill -0 $holder
try "$redlock" lock -n --nodes "$first,$second,$fourth" busy
expect '   and excludes clients with the new nodes' 75
try "$redlock" lock -n busy
expect '   and those with the old ones' 75
touch "$tmp/go"
wait $holder
is '   it was not lost' $? 0
try "$redlock" lock -n --nodes "$first,$second,$fourth" after
expect '   the new nodes decide' 0
try replace --replace "$third"
expect 'once more: nothing is to be done' 0
like '   and it does not wait' "$out$err" 'nothing was to be done'

"$redlock" dev kill 4 >/dev/null
"$redlock" dev start 4 >/dev/null 2>&1
# As an init leaves it that ended while it wrote the sets.
set=$(answer "$(port 1)" 'HGET redlock.admit set' | sed -n 2p)
ask "$(port 1)" HSET redlock.admit set "0123456789abcdef:${set:17:16}/3?$set" >/dev/null
try replace --replace "$fourth"
expect 'a server that was set up anew under its name, after an init that has not finished' 0 'waiting'
like '   votes' "$out" '^3 of 3 nodes may vote$'
for node in $first $second $fourth; do ask "${node##*:}" DEL redlock.admit >/dev/null; done
try replace --replace "$third"
expect 'more than one new node is refused' 69 '3 of these nodes are new to the set of the others.*Nothing was changed'
done_testing
