#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Standard error that is not read, and a process that is stopped between the grant and the command:
# a lock that is held is renewed, and no command runs without one.
. "$(dirname "$0")/lib.bash" "$@"
inside_dev 3 "$@"
can_stall

# full_pipe: $tmp/full takes nothing more until descriptor $full is read. Processes that write to it
# must not inherit that descriptor: they would be readers of their own output.
full_pipe() {
    rm -f "$tmp/full"
    mkfifo "$tmp/full"
    exec {full}<>"$tmp/full"
    dd if=/dev/zero of="$tmp/full" bs=4096 oflag=nonblock 2>/dev/null
}
closes() {
    exec {full}>&-
}
# stopped PID: a signal has stopped it.
stopped() {
    [[ "$(ps -o stat= -p "$1")" == T* ]]
}
everywhere_free() {
    local k
    for k in 1 2 3; do [ "$(ask "$(port $k)" EXISTS "redlock:$1")" = :0 ] || return 1; done
}
# The command of most cases: says that it runs, and ends when FILE.enough exists.
cat >"$tmp/work" <<'EOS'
echo "$$" >"$1.up"
until [ -e "$1.enough" ]; do read -r -t 0.05 _ <>"$2"; done
EOS
mkfifo "$tmp/never"

# Only one file writes to standard error, so that no other code can block there.
found=$(cd "$here/../.." &&
    grep -rlE --include='*.c' '\bstderr\b|perror\(|fileno\(2\)|write\(2' cli | tr '\n' ' ')
is 'one file of the command writes to standard error' "$found" 'cli/ui/errors.c '

# A doubt about a node arrives while standard error is full: a node comes back that evicts keys.
full_pipe
"$redlock" run -t 9s doubt -- bash "$tmp/work" "$tmp/doubt" "$tmp/never" 2>"$tmp/full" {full}>&- &
wrapper=$!
eventually [ -s "$tmp/doubt.up" ]
for k in 1 2 3; do
    ask "$(port $k)" CONFIG SET maxmemory 200mb >/dev/null
    ask "$(port $k)" CONFIG SET maxmemory-policy allkeys-lru >/dev/null
    ask "$(port $k)" CLIENT KILL TYPE normal >/dev/null
done
before=$(now_ms)
past_its_ttl() { [ $(($(now_ms) - before)) -gt 9500 ]; }
eventually past_its_ttl
that 'standard error is full: the command still runs' kill -0 "$(cat "$tmp/doubt.up")"
try "$redlock" run -q -n doubt -- true
expect '   and the lock is still ours after its TTL' 75
kill -TERM $wrapper
over() { ! kill -0 "$(cat "$tmp/doubt.up")" 2>/dev/null; }
that '   and signals still reach the command' eventually over
that '   and the lock is given back' eventually free doubt
cat <&"$full" >"$tmp/read" &
reader=$!
wait $wrapper
is '   and the status is that of the command' $? 143
that '   and the warning is there for a reader that comes late' \
    eventually grep -aqs 'redlock: warning: .*evict' "$tmp/read"
kill $reader
closes
for k in 1 2 3; do
    ask "$(port $k)" CONFIG SET maxmemory-policy noeviction >/dev/null
    ask "$(port $k)" CONFIG SET maxmemory 0 >/dev/null
done

# -v writes a table between the grant and the command.
full_pipe
"$redlock" run -v -t 20s verbose -- bash -c "echo up >'$tmp/verbose.up'" 2>"$tmp/full" {full}>&- &
wrapper=$!
that '-v on a full pipe: the command runs' eventually [ -s "$tmp/verbose.up" ]
that '   and the lock is given back' eventually free verbose
closes # the last reader goes: nothing is left to wait for
wait $wrapper
is '   and the status is that of the command' $? 0

# What cannot be written after the lock was given back can be interrupted.
full_pipe
"$redlock" run taken -- bash "$tmp/work" "$tmp/taken" "$tmp/never" &
holder=$!
eventually [ -s "$tmp/taken.up" ]
"$redlock" run -n taken -- true 2>"$tmp/full" {full}>&- &
wrapper=$!
asleep() { [[ "$(cat "/proc/$wrapper/task/"*/wchan 2>/dev/null)" == *pipe_write* ]] ||
    [[ "$(cat "/proc/$wrapper/task/"*/syscall 2>/dev/null)" == *'1 0x2 '* ]]; }
eventually asleep
kill -TERM $wrapper
wait $wrapper
is 'TERM ends a process whose last messages are not read' $? 143
touch "$tmp/taken.enough"
wait $holder
closes

# stall WHERE NAME OPTION...: a `redlock run` that stops there; $wrapper is its pid.
stall() {
    local where=$1 name=$2
    shift 2
    REDLOCK_STALL=$where LD_PRELOAD=$tmp/stall.so "$redlock" run "$@" "$name" -- \
        bash -c "echo ran >'$tmp/$name.ran'" 2>"$tmp/$name.err" &
    wrapper=$!
}

stall granted late -t 2s
eventually stopped $wrapper
eventually everywhere_free late
kill -CONT $wrapper
wait $wrapper
is 'stopped after the grant until the lock has ended: 76' $? 76
like '   with a message' "$(cat "$tmp/late.err")" 'too little was left of the lock'
that '   and the command never ran' [ ! -e "$tmp/late.ran" ]

stall granted renewed -t 9s
eventually stopped $wrapper
left() {
    local ttl
    ttl=$(ask "$(port 1)" PTTL redlock:renewed)
    [ "${ttl#:}" -lt 5000 ]
}
eventually left
kill -CONT $wrapper
wait $wrapper
is 'stopped until little is left: the lock is renewed first' $? 0
that '   and the command ran' [ -e "$tmp/renewed.ran" ]

stall fork forked -t 2s
eventually stopped $wrapper
eventually everywhere_free forked
kill -CONT $wrapper
wait $wrapper
is 'stopped before the fork until the lock has ended: 76' $? 76
that '   and the command never ran' [ ! -e "$tmp/forked.ran" ]

stall child born -t 6s
child_of() { child=$(pgrep -P "$wrapper") && stopped "$child"; }
eventually child_of
before=$(now_ms)
past_the_ttl() { [ $(($(now_ms) - before)) -gt 6500 ]; }
eventually past_the_ttl
that 'a child that is slow to begin: the lock is renewed meanwhile' held born
kill -CONT "$child"
wait $wrapper
is '   the child compares the clock itself and does not start the command: 76' $? 76
that '   and the command never ran' [ ! -e "$tmp/born.ran" ]

# A redlock that was stopped comes too late to kill in time, and says so.
"$redlock" run -t 6s stopped -- bash "$tmp/work" "$tmp/stopped" "$tmp/never" 2>"$tmp/errors" &
wrapper=$!
eventually [ -s "$tmp/stopped.up" ]
kill -STOP $wrapper
eventually everywhere_free stopped
kill -CONT $wrapper
wait $wrapper
is 'killed after the lock had ended: 76' $? 76
like '   the message does not claim that it was in time' "$(cat "$tmp/errors")" \
    'the lock was lost while the command ran, and the command was killed'

# A value that is read after the lock has ended is worth nothing.
full_pipe
"$redlock" lock -t 2s unread >"$tmp/full" 2>"$tmp/errors" {full}>&- &
wrapper=$!
eventually held unread
eventually everywhere_free unread
cat <&"$full" >/dev/null &
reader=$!
wait $wrapper
is 'lock: the value was read too late: 76' $? 76
like '   with a message' "$(cat "$tmp/errors")" 'ended before its value was read'
kill $reader
closes
done_testing
