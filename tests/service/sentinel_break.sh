#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `redlock break --wait --service` on a Sentinel group: it stays until the break is final, and breaks again what a
# failover has brought back.
. "$(dirname "$0")/lib.bash" "$@"
needs curl jq
if [ -z "${REDLOCK_DEV:-}" ]; then
    rm -rf "$tmp"
    exec "$redlock" dev --sentinel --no-init -- bash "$0" "$@"
fi
# The quarantine of a new master, and what a break waits for: max-ttl and 4 s.
printf 'node-timeout = 3s\nmax-ttl = 3s\n' >"$tmp/conf"
export REDLOCK_CONFIG=$tmp/conf
"$redlock" init --yes -q
start --allow "uid:$(id -u) * acquire,read,break,admin"
eventually ready || exit 1
by=(env -u REDLOCK_NODES "$redlock" break --yes --wait --service "unix:$socket")
master_port() { "$redlock" dev list | awk '$3 == "master" && $4 == "up" { sub(/.*:/, "", $2); print $2; exit }'; }

# copy FROM TO TIME_MS: of keys of the master; 0: for ever.
copy() {
    ask "$(master_port)" EVAL "return redis.call('RESTORE', KEYS[2], ARGV[1], redis.call('DUMP', KEYS[1]))" 2 "$@"
}

"$redlock" lock -t 3s one >/dev/null
http GET /v1/locks/one ''
tenure=$(field 'nodes[0].tenure')
like 'a lock tells what speaks for its group' "$tenure" '^[0-9a-f]{16}$'
began=$(now_ms)
try "${by[@]}" one
is 'a break that waits' "$status:$(grep -c 'it is final' <<<"$out")" 0:1
between '   for the longest TTL and 4 s' $(($(now_ms) - began)) 7000 30000
unlike '   and tells of no failover' "$err" 'promoted'

"$redlock" lock -t 3s -w 20s two >/dev/null
is 'what a failover may bring back' "$(copy redlock:two copy 0)" +OK
"${by[@]}" two >"$tmp/out2" 2>"$tmp/err2" &
breaking=$!
eventually grep -qs waiting "$tmp/err2"
old=$(master_port)
"$redlock" dev failover >/dev/null
moved() { [ -n "$(master_port)" ] && [ "$(master_port)" != "$old" ]; }
eventually moved
began=$(now_ms)
# As if the deletion had been lost, and the holder had renewed what it found.
is '   comes back' "$(copy copy redlock:two 60000)" +OK
status=0
wait $breaking || status=$?
is 'after a failover it goes on' "$status:$(grep -c 'it is final' "$tmp/out2")" 0:1
like '   says so' "$(cat "$tmp/err2")" 'another server was promoted'
is '   and breaks it again' "$(ask "$(master_port)" EXISTS redlock:two)" :0
between '   from where it counts anew' $(($(now_ms) - began)) 6000 30000
http GET /v1/locks/two ''
unlike '   with what speaks for the group then' "$(field 'nodes[0].tenure')" "$tenure"
for each in s1 s2; do "$redlock" dev hang $each >/dev/null; done
unsure() {
    http GET /v1/locks/two ''
    [ "$(field 'nodes[0].tenure')" = null ]
}
eventually unsure && ok 'with two of three sentinels hung nothing speaks for it' || not_ok 'with two of three sentinels hung nothing speaks for it' "$(seen)"
for each in s1 s2; do "$redlock" dev resume $each >/dev/null; done
stop
done_testing
