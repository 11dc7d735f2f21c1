#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `redlock wait`: ends when a lock is free, and takes nothing.
. "$(dirname "$0")/lib.bash" "$@"
inside_dev 3 "$@"

try "$redlock" wait a
is 'a free lock: at once, without a word' "$status:$out$err" 0:
value=$("$redlock" lock -t 60s --label alice a)
try "$redlock" wait -n a
expect '-n: 75, with the holder' 75 'a: held by alice, '
start=$(now_ms)
try "$redlock" wait -w 2s a
expect '-w: 75 as well' 75 'held by alice'
that '   after that time' [ $(($(now_ms) - start)) -ge 1990 ]
try "$redlock" wait --json -w 2s a
is '--json' "$(jq -r '[.ok, .error, .exit_status, .name] | @tsv' <<<"$out")" $'false\tTIMEOUT\t75\ta'
"$redlock" wait --json a b >"$tmp/out" 2>"$tmp/err" &
waiter=$!
looked=$(now_ms)
past_some_looks() { [ $(($(now_ms) - looked)) -gt 500 ]; }
eventually past_some_looks
that 'it stands in no queue' unqueued a
that '   and waits while it is held' kill -0 $waiter
"$redlock" unlock a "$value"
wait $waiter
is 'it is given back: 0' $? 0
is '   and printed' "$(jq -r '[.ok, .name, (.names | join(" ")), .waited_ms >= 0] | @tsv' "$tmp/out")" $'true\ta\ta b\ttrue'
that '   and nothing was taken' free a

start=$(now_ms)
"$redlock" lock -t 2s a >/dev/null
"$redlock" wait a
took=$(($(now_ms) - start))
that 'a lock that expires: not before that' [ $took -ge 1900 ]
value=$("$redlock" lock -t 60s a)
"$redlock" lock -t 2s b >/dev/null
"$redlock" wait b a &
waiter=$!
eventually free b
that 'of several names all have to be free' kill -0 $waiter
kill -TERM $waiter
wait $waiter
is 'TERM ends it: 143' $? 143
try "$redlock" run -n --shared --skip-ok other -- "$redlock" wait -n other
expect 'a reader keeps it from being free' 75 'held by 1 reader'

for k in 1 2; do "$redlock" dev hang $k >/dev/null; done
try "$redlock" wait -w 2s --node-timeout 200ms c
expect 'too few nodes answer until the end: 69' 69 'could vote'
"$redlock" wait --node-timeout 200ms c 2>"$tmp/few" &
waiter=$!
that 'without a limit it says so' eventually grep -q 'too few nodes answer' "$tmp/few"
for k in 1 2; do "$redlock" dev resume $k >/dev/null; done
wait $waiter
is '   and goes on until they do' $? 0
is '   once, with what would help' "$(grep -c . "$tmp/few"):$(grep -c 'next: .*--node-timeout' "$tmp/few")" 2:1
for k in 1 2 3; do ask "$(port $k)" CONFIG SET requirepass secret >/dev/null; done
try "$redlock" wait c
expect 'nodes that refuse us: 77 at once' 77
try "$redlock" wait
expect 'without a name: 64' 64 'NAME is missing'
done_testing
