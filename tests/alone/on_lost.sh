#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `redlock run` when three of five nodes hang: when the command gets its signal, and that nothing of it is left
# when the validity ends.
. "$(dirname "$0")/lib.bash" "$@"
needs "${CC:-cc}"
inside_dev 5 "$@"
# Longer than a busy machine takes to answer, and soon enough for several renewals in a TTL.
echo 'node-timeout = 500ms' >"$tmp/patient"
export REDLOCK_CONFIG=$tmp/patient
"${CC:-cc}" -D_GNU_SOURCE -o "$tmp/stamp" "$here/stamp.c" || exit 1

hang() {
    for k in 2 3 5; do "$redlock" dev "$1" $k >/dev/null || not_ok "redlock dev $1 $k"; done
}

# All the ways to go, at once. The TTL is long enough for the nodes to hang before the first
# renewal, at a third of it: REDLOCK_DEADLINE stays the end of the validity.
ttl=9
# start WHAT TIME_MS obey|stubborn OPTION...
start() {
    local what=$1 time=$2 manner=$3
    shift 3
    "$redlock" run -t ${ttl}s "$@" "$what" -- bash -c \
        "echo \$REDLOCK_DEADLINE >'$tmp/$what.end'; exec '$tmp/stamp' '$tmp/$what.log' $time $manner" \
        2>"$tmp/$what.err" &
    pids[$what]=$!
}
declare -A pids
from=$(now_ms)
start term 30000 stubborn
start obey 30000 obey
start kill 30000 stubborn --on-lost kill --grace 1500ms
start usr1 30000 stubborn --on-lost USR1 --grace 2500ms
start ignore 11000 stubborn --on-lost ignore
start quiet 30000 obey -q
begun() {
    local what
    for what in "${!pids[@]}"; do grep -qs daemon "$tmp/$what.log" || return 1; done
}
eventually begun
hang hang
[ $(($(now_ms) - from)) -lt $((ttl * 1000 / 3)) ] || skip 'this machine is too slow to hang the nodes before the first renewal'

# last WHAT [PROCESS]: how long before the end of the validity it was last alive, in milliseconds.
last() {
    awk -v end="$(cat "$tmp/$1.end")" -v process="${2:-.}" '$1 ~ process && $2 == "alive" && $3 > last { last = $3 }
        END { printf "%d", (end - last) / 1000000 }' "$tmp/$1.log"
}
# got WHAT SIGNAL: the same for the moment it got a signal; empty when it did not.
got() {
    awk -v end="$(cat "$tmp/$1.end")" -v signal="$2" '$2 == signal { printf "%d", (end - $3) / 1000000; exit }' \
        "$tmp/$1.log"
}
# ends WHAT STATUS
ends() {
    wait "${pids[$1]}"
    is "$1: status" $? "$2"
    err=$(cat "$tmp/$1.err")
}

ends kill 76
around 'kill: dead at the grace point' "$(last kill)" 1000 1550
is 'kill: without another signal' "$(got kill TERM)" ''
like 'kill: the message' "$err" 'could not be renewed, and the command was killed before it ended'
ends obey 76
around 'obey: TERM came a third of the TTL before the end' "$(got obey TERM)" 2500 3050
that 'obey: what it left behind was killed with it' [ "$(last obey)" -gt 1000 ]
like 'obey: the message' "$err" 'could not be renewed, and the command was stopped in time'
ends quiet 76
is 'quiet: -q says nothing' "$err" ''
ends usr1 76
around 'usr1: USR1 came --grace before the end' "$(got usr1 USR1)" 2000 2550
is 'usr1: instead of TERM' "$(got usr1 TERM)" ''
that 'usr1: and it was dead before the end' [ "$(last usr1)" -gt 0 ]
ends term 76
around 'term: TERM came first' "$(got term TERM)" 2500 3050
for process in command group daemon; do
    that "term: $process lived on, but not to the end ($(last term $process) ms before)" [ "$(last term $process)" -gt 0 ]
    within "term: $process had all of its time" "$(last term $process)" 1 1200
done
like 'term: the message' "$err" 'the command was killed before it ended'
for k in 2 3 5; do like "term: the table names node $k" "$err" "^ +127.0.0.1:$(port $k) +(timed out|unreachable|no answer yet)"; done
for k in 1 4; do like "term: and node $k, which did its part" "$err" "^ +127.0.0.1:$(port $k) +granted"; done
like 'term: and what to do' "$err" 'next: check what it protected'
ends ignore 76
that 'ignore: the command ran on to its own end' [ "$(last ignore)" -lt 0 ]
is 'ignore: without a signal' "$(got ignore TERM)" ''
like 'ignore: a message says when the lock is lost' "$err" 'was lost, and the command runs on'
like 'ignore: and at the end' "$err" 'the command ran on$'
hang resume
done_testing
