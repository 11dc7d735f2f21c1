#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `redlock top`: frames for scripts (terminal_top.sh: a screen for people).
. "$(dirname "$0")/lib.bash" "$@"
inside_dev 3 "$@"

try "$redlock" top -c 1
expect 'one frame' 0
like '   of nothing' "$out" '^no locks$'
like '   with the nodes' "$out" "^127.0.0.1:$(port 2) +up +yes +[a-z]+ [0-9.]+ +[0-9.]+ ms"
"$redlock" lock -t 60s -s readers >/dev/null
"$redlock" lock -t 60s -s readers >/dev/null
"$redlock" lock -t 60s --slots 3 gpu >/dev/null
busy=$("$redlock" lock -t 60s --fence busy)
"$redlock" run busy -- true &
eventually queued busy
"$redlock" lock -t 60s "$(printf '%0200d' 7)" >/dev/null

try "$redlock" top -c 1
like 'readers' "$out" '^readers +2 readers.* shared +[^ ]+ +[0-9.]+s +0 +-$'
like 'slots' "$out" '^gpu +1 of 3.* slots +[^ ]+ +[0-9.]+s +0 +-$'
like 'a long name is cut' "$out" '^0{10,}…  .*exclusive'
is 'what most wait for comes first' "$(sed -n '/^NAME/{n;p}' <<<"$out" | cut -d' ' -f1)" busy
that 'a frame is 80 columns wide' [ "$(wc -L <<<"$out")" -le 80 ]
unlike '   without escapes' "$out" $'\033'
like 'the sum' "$out" '3 of 3 vote, 2 needed; 4 held, 1 waiting'

try "$redlock" top -c 1 'r*' busy
is 'names that match a pattern' "$(sed -n '/^NAME/,$p' <<<"$out" | grep -Ev '^(NAME|  waiting|$)' | cut -d' ' -f1 | paste -sd,)" busy,readers
try "$redlock" top -c 1 --sort name
is 'in the order of their names' "$(sed -n '/^NAME/,$p' <<<"$out" | grep -Ev '^(NAME|  waiting|$)' | cut -c1-3 | paste -sd,)" 000,bus,gpu,rea
start=$(now_ms)
try "$redlock" top -c 3 -d 300ms
that '-n 3 -d 300ms: three frames' [ $(($(now_ms) - start)) -ge 590 ]
is '   one after another' "$(grep -c '^redlock top' <<<"$out")" 3
like '   the second knows what has changed' "$out" '^readers .* 0\.0$'

# Changes of holder.
"$redlock" unlock busy "${busy% *}"
wait
"$redlock" top --json -c 2 -d 2s >"$tmp/frames" &
watcher=$!
eventually [ -s "$tmp/frames" ]
wait $watcher
is 'a frame is a line of JSON' "$(wc -l <"$tmp/frames")" 2
like '   with nodes and locks' "$(head -n 1 "$tmp/frames")" '"nodes":\[\{"address":.*"locks":\[\{"name":'
like '   and kinds' "$(head -n 1 "$tmp/frames")" '"name":"gpu","held":true,"kind":"semaphore",.*"holders":1,"owner":null,"slots":3,.*"remaining_ms":[0-9]+,.*"changes":null'
"$redlock" run --min-hold 20s turns -- true &
holder=$!
eventually "$redlock" status --held -q turns # by a majority: a look that sees less sees no holder
"$redlock" top --json -c 3 -d 4s >"$tmp/turns" &
watcher=$!
frames() { [ "$(wc -l <"$tmp/turns")" -ge "$1" ]; }
eventually frames 2
kill -STOP $watcher # until there were other holders
kill $holder
wait $holder
for i in 1 2 3; do "$redlock" run turns -- true; done
kill -CONT $watcher
wait $watcher
like 'the same holder is no change' "$(sed -n 2p "$tmp/turns")" '"name":"turns","held":true,"kind":"reentrant",.*"changes":0,'
like 'holders between two looks are one, though none is seen' "$(sed -n 3p "$tmp/turns")" '"name":"turns","held":false,"kind":null,.*"changes":1,"span_ms":[1-9][0-9]{3,5}\}'

# A node that is down, nodes that disagree.
ask "$(port 1)" DEL redlock:readers >/dev/null
"$redlock" dev kill 3 >/dev/null
try "$redlock" top -c 1
like 'a node that is down' "$out" "^127.0.0.1:$(port 3) +down( +-){3,4} +Connection refused"
like 'nodes that disagree' "$out" '^readers .* !$'
"$redlock" dev kill 2 >/dev/null
try "$redlock" top -c 1
expect 'no majority: 69' 69
like '   and it says so' "$out" '1 of 3 nodes could vote'
try "$redlock" top -c 1 --json
like '   in JSON' "$out" '^\{"ok":false,"command":"top","error":"NOQUORUM"'
"$redlock" dev start 2 >/dev/null 2>&1
"$redlock" dev start 3 >/dev/null 2>&1
"$redlock" init --yes --force >/dev/null 2>&1

for bad in '-d 1ms' '-d x' '-n 0' '-n x' '--sort x'; do
    # shellcheck disable=SC2086
    try "$redlock" top $bad
    expect "top $bad" 64
done
"$redlock" top >"$tmp/endless" &
pid=$!
eventually [ -s "$tmp/endless" ]
kill -TERM $pid
wait $pid
is 'TERM: 143' $? 143
"$redlock" top -d 100ms 2>"$tmp/err" | head -n 1 >/dev/null
is 'a reader that goes away ends it in silence' "$(cat "$tmp/err")" ''
done_testing
