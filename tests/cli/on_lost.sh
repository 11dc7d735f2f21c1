#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `redlock run` when three of five nodes hang: what is said, when, and that nothing of the command is
# left when the validity ends.
. "$(dirname "$0")/lib.bash" "$@"
needs "${CC:-cc}" ps pgrep setsid
inside_dev 5 "$@"
# Longer than a busy machine takes to answer, and soon enough for several renewals in a TTL.
echo 'node-timeout = 500ms' >"$tmp/patient"
export REDLOCK_CONFIG=$tmp/patient
"${CC:-cc}" -D_GNU_SOURCE -o "$tmp/stamp" "$here/stamp.c" || exit 1

hang() {
    for k in 2 3 5; do "$redlock" dev "$1" $k >/dev/null || not_ok "redlock dev $1 $k"; done
}

# A shortage that ends in time.
"$redlock" run -t 9s heals -- bash -c "echo up >'$tmp/up'; until [ -e '$tmp/enough' ]; do sleep 0.05; done; exit 7" \
    2>"$tmp/errors" &
wrapper=$!
eventually [ -s "$tmp/up" ]
hang hang
that 'the first failed renewal is reported' eventually grep -qs 'heals could not be renewed' "$tmp/errors"
hang resume
that '   and that it worked again' eventually grep -qs 'heals was renewed again' "$tmp/errors"
touch "$tmp/enough"
wait $wrapper
is '   then the command ends as it likes' $? 7
line=$(grep 'could not be renewed' "$tmp/errors")
for k in 2 3 5; do like "the line names node $k" "$line" "127.0.0.1:$(port $k) (timed out|unreachable)"; done
for k in 1 4; do unlike "and not node $k" "$line" "127.0.0.1:$(port $k) "; done
is 'two lines in all' "$(wc -l <"$tmp/errors")" 2

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
# heard WHAT SIGNAL: the same for the moment it got a signal; empty when it did not.
heard() {
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
is 'kill: without another signal' "$(heard kill TERM)" ''
like 'kill: the message' "$err" 'could not be renewed, and the command was killed before it ended'
ends obey 76
around 'obey: TERM came a third of the TTL before the end' "$(heard obey TERM)" 2500 3050
that 'obey: what it left behind was killed with it' [ "$(last obey)" -gt 1000 ]
like 'obey: the message' "$err" 'could not be renewed, and the command was stopped in time'
ends quiet 76
is 'quiet: -q says nothing' "$err" ''
ends usr1 76
around 'usr1: USR1 came --grace before the end' "$(heard usr1 USR1)" 2000 2550
is 'usr1: instead of TERM' "$(heard usr1 TERM)" ''
that 'usr1: and it was dead before the end' [ "$(last usr1)" -gt 0 ]
ends term 76
around 'term: TERM came first' "$(heard term TERM)" 2500 3050
for process in command group daemon; do
    that "term: $process lived on, but not to the end ($(last term $process) ms before)" [ "$(last term $process)" -gt 0 ]
    within "term: $process had all of its time" "$(last term $process)" 1 1200
done
like 'term: the message' "$err" 'the command was killed before it ended'
for k in 2 3 5; do like "term: the table names node $k" "$err" "^ +127.0.0.1:$(port $k) +(timed out|unreachable|not waited for)"; done
for k in 1 4; do like "term: and node $k, which did its part" "$err" "^ +127.0.0.1:$(port $k) +granted"; done
like 'term: and what to do' "$err" 'next: check what it protected'
ends ignore 76
that 'ignore: the command ran on to its own end' [ "$(last ignore)" -lt 0 ]
is 'ignore: without a signal' "$(heard ignore TERM)" ''
like 'ignore: a message says when the lock is lost' "$err" 'was lost, and the command runs on'
like 'ignore: and at the end' "$err" 'the command ran on$'
hang resume

# A reader that does not read must not keep the command from being stopped in time.
mkfifo "$tmp/full"
exec {full}<>"$tmp/full"
dd if=/dev/zero of="$tmp/full" bs=4096 oflag=nonblock 2>/dev/null
from=$(now_ms)
"$redlock" run -t 6s full -- bash -c "echo \$REDLOCK_DEADLINE >'$tmp/full.end'; exec '$tmp/stamp' '$tmp/full.log' 30000 obey" \
    2>"$tmp/full" &
wrapper=$!
eventually grep -qs daemon "$tmp/full.log"
hang hang
took=$(($(now_ms) - from))
that 'standard error is full: the command is stopped all the same' eventually grep -q TERM "$tmp/full.log"
still() { [ "$(wc -l <"$tmp/full.log")" = "$lines" ] || { lines=$(wc -l <"$tmp/full.log"); return 1; }; }
lines=0
eventually still
kill -KILL $wrapper
wait $wrapper 2>/dev/null
exec {full}>&-
if [ $took -lt 2000 ]; then
    that '   and before the end' [ "$(last full)" -gt 0 ]
else
    printf '# left out: before the end: it was renewed before the nodes hung, %s ms after the start\n' $took
fi
hang resume

# What a command leaves behind when nothing is wrong is left alone.
"$redlock" run a -- sh -c 'setsid sleep 1000 >/dev/null & echo $!' >"$tmp/left"
that 'a process left behind by a command that ended well lives' kill -0 "$(cat "$tmp/left")"
kill "$(cat "$tmp/left")"
"$redlock" run a -- sh -c 'sleep 1000 >/dev/null & echo $!' >"$tmp/left"
that '   in the group of the command, too' kill -0 "$(cat "$tmp/left")"
kill "$(cat "$tmp/left")"
# Orphans do not pile up as zombies of the wrapper.
"$redlock" run a -- bash -c 'for i in 1 2 3 4 5; do (sleep 0.01 &) ; done
    for i in {1..200}; do ps -o stat=,comm= --ppid $PPID >"$0"; grep -Eq "^Z|sleep" "$0" || break; sleep 0.1; done' "$tmp/stats"
is 'orphans that ended are gone' "$(grep -Ec '^Z|sleep' "$tmp/stats")" 0

# Killed outright, at any moment.
for i in 0 1 2 3 4 5 6 7 8 9 10 12 14 16 18 20; do
    "$redlock" run -t 2s "race$i" -- sh -c "sleep 98765.$$; true" 2>/dev/null &
    wrapper=$!
    read -r -t "0.0$(printf %02d $i)" _ <>"$tmp/full"
    kill -KILL $wrapper
    wait $wrapper 2>/dev/null
done
none() { ! pgrep -f "^sleep 98765.$$" >/dev/null; }
that 'kill -9 of the wrapper leaves nothing of the command, whenever it comes' eventually none
done_testing
