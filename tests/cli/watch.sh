#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `redlock watch`: a line for every change of holder, state or number of waiters, and no other.
. "$(dirname "$0")/lib.bash" "$@"
inside_dev 3 "$@"
unhurried

lines() { [ "$(wc -l <"$tmp/lines")" -ge "$1" ]; }
# watch OPTION...: in the background; its lines are in $tmp/lines.
watch() {
    : >"$tmp/lines"
    "$redlock" watch -d 50ms "$@" >"$tmp/lines" 2>"$tmp/errors" &
    watcher=$!
}
line() { sed -n "$1p" "$tmp/lines"; }

watch a
that 'the first line says what is' eventually lines 1
like '   it is free, at this time' "$(line 1)" '^20[0-9-]{8} [0-9:]{8} a: free$'
value=$("$redlock" lock -t 60s --label 'alice@web1' a)
that 'it is taken: a line' eventually lines 2
like '   with the holder' "$(line 2)" ' a: held by alice@web1$'
"$redlock" lock -w 60s --label bob a >"$tmp/bob" &
that 'another waits: a line' eventually lines 3
like '   with how many' "$(line 3)" ' a: held by alice@web1, 1 waiting$'
"$redlock" extend -t 60s a "$value"
"$redlock" unlock a "$value"
that 'it is handed over: a line' eventually grep -q 'held by bob$' "$tmp/lines"
wait $!
count=$(wc -l <"$tmp/lines")
"$redlock" extend -t 50s a "$(cat "$tmp/bob")"
looked=$(now_ms)
past_some_looks() { [ $(($(now_ms) - looked)) -gt 500 ]; }
eventually past_some_looks
is 'a renewal changes nothing' "$(wc -l <"$tmp/lines")" "$count"
for k in 1 2; do "$redlock" dev hang $k >/dev/null; done
that 'too few nodes answer: a line' eventually grep -q ' a: unknown: too few nodes' "$tmp/lines"
for k in 1 2; do "$redlock" dev resume $k >/dev/null; done
that '   and when they do again' eventually eval '[[ $(tail -n1 "$tmp/lines") == *"held by bob" ]]'
free_all a
that 'the keys are deleted: a line' eventually eval '[[ $(tail -n1 "$tmp/lines") == *"a: free" ]]'
kill -INT $watcher 2>/dev/null
kill -TERM $watcher
wait $watcher
is 'a signal ends it: 0' $? 0
is 'nothing on standard error' "$(cat "$tmp/errors")" ''

watch --json -n 4 b c
eventually lines 2
value=$("$redlock" lock -t 3s --label carol b)
eventually lines 4
wait $watcher
is '--count: it ends by itself' "$?:$(wc -l <"$tmp/lines")" 0:4
that '--json: each line is JSON' json_lines <"$tmp/lines"
is '   names, states and holders, until it has expired' \
    "$(jq -r '[.ok, .command, .name, .state, .label] | @tsv' "$tmp/lines" | tr '\t' ' ' | paste -sd'|')" \
    'true watch b free |true watch c free |true watch b held carol|true watch b free '
is '   and the time of day' "$(jq 'select(.time_ms > 1700000000000)' "$tmp/lines" | jq -s length)" 4

# Whatever the kind.
watch d
eventually lines 1
"$redlock" lock --shared -t 60s d >/dev/null
eventually lines 2
like 'a reader' "$(tail -n1 "$tmp/lines")" 'd: held by 1 reader \('
"$redlock" lock --shared -t 60s d >/dev/null
that 'and a second one' eventually grep -q 'held by 2 readers' "$tmp/lines"
kill $watcher
wait
timeout 20 "$redlock" watch -d 50ms a | head -n1 >/dev/null
is 'a reader that goes away ends it, though nothing changes' "${PIPESTATUS[0]}" 141

try "$redlock" watch
expect 'without a name: 64' 64 'NAME is missing'
try "$redlock" watch -d 10ms a
expect 'too fast: 64' 64 '50ms'
try "$redlock" watch --nodes 127.0.0.1:1 -n 1 a
is 'no nodes: unknown' "$status:${out#* * }" '0:a: unknown: too few nodes could vote'
done_testing
