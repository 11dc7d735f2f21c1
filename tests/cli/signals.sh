#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `redlock run` and signals: each reaches the command, and the lock is released on every way out.
. "$(dirname "$0")/lib.bash" "$@"
needs ps setsid
inside_dev 3 "$@"

# A command that writes its pid, then the name of each signal it gets; TERM ends it with 7.
cat >"$tmp/listener" <<'EOF'
for s in HUP INT QUIT USR1 USR2 ALRM WINCH CONT RTMIN+3 IO ABRT; do trap "echo $s" $s; done
trap 'echo TERM; exit 7' TERM
echo $$
while :; do read -r -t 5 _ <>"$1"; done
EOF
mkfifo "$tmp/never"

mkfifo "$tmp/talk"
# Background jobs of a shell ignore INT and QUIT; a terminal's do not.
env --default-signal=INT,QUIT "$redlock" run a -- bash "$tmp/listener" "$tmp/never" >"$tmp/talk" 2>"$tmp/errors" &
wrapper=$!
exec {talk}<"$tmp/talk"
read -r -t 10 child <&"$talk"
for s in HUP INT QUIT USR1 USR2 ALRM WINCH CONT RTMIN+3 IO ABRT; do
    kill -s $s $wrapper
    read -r -t 10 got <&"$talk"
    is "$s is passed on" "$got" $s
done
that 'the lock is still held' held a
is 'the command has a process group of its own' "$(ps -o pgid= -p "$child" | tr -d ' ')" "$child"
kill -TERM $wrapper
wait $wrapper
is 'TERM is passed on, and the status comes back' $? 7
exec {talk}<&-
that 'the lock was released' free a
is 'nothing was said' "$(cat "$tmp/errors")" ''

# The whole group gets it.
"$redlock" run a -- bash -c "sleep 1000 & echo \$! >'$tmp/grandchild'; wait" &
wrapper=$!
eventually [ -s "$tmp/grandchild" ]
kill -INT $wrapper
kill -TERM $wrapper
wait $wrapper
is 'a command without a handler: 128 + 15' $? 143
that 'its background job got the signal as well' eventually gone "$(cat "$tmp/grandchild")"
that 'the lock was released' free a

# While waiting.
# Three connections, one per node: it has begun to ask.
waits() {
    [ "$(find "/proc/$1/fd" -lname "socket:*" 2>/dev/null | wc -l)" -ge 3 ]
}
value=$("$redlock" lock -t 60s busy)
for s in INT:130 TERM:143 HUP:129 QUIT:131; do
    env --default-signal=INT,QUIT "$redlock" run busy -- touch "$tmp/ran" 2>"$tmp/errors" &
    wrapper=$!
    eventually waits $wrapper
    kill -s ${s%:*} $wrapper
    wait $wrapper
    is "${s%:*} ends the wait" $? "${s#*:}"
done
that '   and the command never ran' [ ! -e "$tmp/ran" ]
try "$redlock" unlock busy "$value"
expect 'the other still holds the lock' 0

# Killed outright: the command dies with the wrapper, and so does what the command has started.
"$redlock" run -t 2s a -- bash -c "sleep 1000 & echo \$\$ \$! >'$tmp/pid'; wait" 2>/dev/null &
wrapper=$!
eventually [ -s "$tmp/pid" ]
read -r child grandchild <"$tmp/pid"
kill -KILL $wrapper
wait $wrapper 2>/dev/null
that 'kill -9 takes the command with it' eventually gone "$child"
that '   and its background job' eventually gone "$grandchild"
try "$redlock" run -w 10 a -- true
expect '   and the lock is free after its TTL' 0

# Stopped and continued, away from any terminal.
setsid "$redlock" run -t 6s a -- bash -c "echo \$\$ >'$tmp/pid2'; trap 'exit 8' TERM; while :; do read -r -t 5 _ <>'$tmp/never'; done" &
wrapper=$!
eventually [ -s "$tmp/pid2" ]
child=$(cat "$tmp/pid2")
state() {
    [ "$(ps -o stat= -p "$1" | cut -c1)" = "$2" ]
}
kill -TSTP $wrapper
that 'TSTP stops the command' eventually state "$child" T
that '   and the wrapper goes on' eventually state $wrapper S
kill -CONT $wrapper
that 'CONT continues it' eventually state "$child" S
kill -TERM $wrapper
wait $wrapper
is '   and it can still be ended' $? 8
done_testing
