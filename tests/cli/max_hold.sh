#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `run --max-hold`: the command is stopped after that time, however healthy the lock is, and the lock
# is given back.
. "$(dirname "$0")/lib.bash" "$@"
needs "${CC:-cc}"
inside_dev 3 "$@"
"${CC:-cc}" -D_GNU_SOURCE -o "$tmp/stamp" "$here/stamp.c" || exit 1

start=$(now_ms)
try "$redlock" run --max-hold 700ms a -- sleep 60
took=$(($(now_ms) - start))
expect 'a command that obeys TERM: 76' 76 'a: the command ran for longer than 700 ms \(--max-hold\), and was stopped$'
that '   not before its time' [ $took -ge 690 ]
that '   and the lock is free' free a
start=$(now_ms)
try "$redlock" run --max-hold 2s --grace 2s a -- bash -c "trap 'echo >\"$tmp/term\"' TERM; (trap '' TERM; exec \"$tmp/stamp\" \"$tmp/log\" 30000 stubborn) & while :; do sleep 0.05; done"
took=$(($(now_ms) - start))
expect 'a command that does not: KILL' 76 'and was killed$'
that '   TERM came first' [ -e "$tmp/term" ]
that '   and KILL after the grace' [ $took -ge 3990 ]
that '   and the lock is free' free a
lines=$(wc -l <"$tmp/log")
read -r -t 0.3 _ <> <(:)
is '   and nothing of it is alive' "$(wc -l <"$tmp/log")" "$lines"
try "$redlock" run --max-hold 300ms --on-lost kill a -- sh -c 'trap "" TERM; sleep 60'
expect '--on-lost kill: at once' 76 'and was killed$'
try "$redlock" run --max-hold 2s --on-lost USR1 a -- sh -c "trap 'echo >\"$tmp/usr1\"; exit 0' USR1; while :; do sleep 0.05; done"
expect '--on-lost USR1: 76, whatever the command makes of it' 76 'and was stopped$'
that '   and it got USR1' [ -e "$tmp/usr1" ]
try "$redlock" run -t 6s --max-hold 8s a -- sleep 60
expect 'longer than the TTL: renewed until then' 76 'longer than 8.0 s'
try "$redlock" run --json --max-hold 200ms a -- sleep 60
is '--json' "$(jq -r '.error, .exit_status, .name' <<<"$out" | paste -sd' ')" 'EXPIRED 76 a'
try "$redlock" run --max-hold 1m a -- sh -c 'exit 5'
expect 'a command that ends in time keeps its status' 5
try "$redlock" run --max-hold 20s a -- sh -c 'sleep 60 >/dev/null & exit 6'
expect 'what it leaves behind is not waited for' 6
try "$redlock" run --max-hold 1s --min-hold 2s a -- true
expect 'a maximum below the minimum is refused' 64 'shorter than --min-hold'
try "$redlock" run --max-hold 1s --on-lost ignore a -- true
expect '   and --on-lost ignore' 64 'leave one of them out'
for none in 0 0s 0m; do
    try "$redlock" run --max-hold $none a -- sh -c "echo ran >'$tmp/unlimited'"
    expect "   and $none, which would be no limit" 64 '--max-hold: 0 is no limit'
done
that '   and then nothing runs' [ ! -e "$tmp/unlimited" ]
done_testing
