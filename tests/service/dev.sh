#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# redlockd --dev: a service with servers of its own, to try with curl in a minute.
. "$(dirname "$0")/lib.bash" "$@"
needs curl jq
unset REDLOCK_NODES REDLOCK_DEV
mkdir -m 700 "$tmp/run" "$tmp/t"
export XDG_RUNTIME_DIR=$tmp/run TMPDIR=$tmp/t

# begin [OPTION...]: sets pid, which is that of `redlock dev`, and the first of what it prints.
begin() {
    : >"$tmp/said"
    "$redlockd" --dev "$@" >>"$tmp/said" 2>>"$tmp/log" &
    pid=$!
    eventually announced
}
announced() { grep -qs '^curl -H' "$tmp/said" || gone "$pid"; }
# line TEXT: the command that is printed below the comment that begins with TEXT.
line() { sed -n "/^# $1/{n;p}" "$tmp/said"; }
children() { cat "/proc/$pid/task/$pid/children"; }
# named PATTERN: those of its children whose program is so called.
named() {
    local child
    for child in $(children); do
        ! grep -qsE "$1" "/proc/$child/comm" || echo "$child"
    done
}
inner() { named '^redlockd$'; }
servers() { named '^(redis|valkey)-server$'; }
# Neither of them is left; a number that another process got is none of ours.
all_gone() {
    local each
    for each in $numbers; do
        [ ! -e "/proc/$each" ] || ! grep -qs "$tmp" "/proc/$each/environ" || return 1
    done
}

begin
numbers="$pid $(inner) $(servers | tr '\n' ' ')"
is 'it starts five servers' "$(servers | wc -l)" 5
is 'the socket is in the runtime directory' "$(stat -c '%F %a' "$tmp/run/redlockd-dev.sock")" 'socket 600'

take=$(line 'take a lock') look=$(line 'who holds it') give=$(line 'give it back')
by_tcp=$(line 'the same by TCP')
# While too few nodes answer, at first or on a busy machine, there is a 503, which is printed, too.
is 'the line that takes a lock' "$(bash -c "$take -sS -m 60 --retry 9" | jq -r .name | tail -n1)" demo
is 'the line that looks at it' "$(bash -c "$look -sS -m 60 --retry 9" | jq -r '.held, .holders[0].label' | tail -n2)" $'true\ntrying it'
is 'the line that gives it back' "$(bash -c "$give -sS -m 60 --retry 9 -w '%{http_code}'" | tail -c 3)" 204
is 'the line for TCP' "$(bash -c "$by_tcp -sS -m 20" | jq -r '.quorums[0].needed')" 3
url=$(grep -o 'http://127.0.0.1:[0-9]*' <<<"$by_tcp")
is '   without its token there is no access' "$(curl -sS -m 60 "$url/v1/status" | jq -r .code)" UNAUTHORIZED
header=$(sed "s/.*@'\([^']*\)'.*/\1/" <<<"$by_tcp")
is '   which only this user can read' "$(stat -c %a "$header")" 600
unlike '   and which is in no command line' "$(cat "$tmp/said" "$tmp/log")" "$(sed 's/.* //' "$header")"
like 'it says what redlock --service wants' "$(cat "$tmp/said")" \
    "^export REDLOCK_SERVICE=unix:'$tmp/run/redlockd-dev.sock'$"

try env REDLOCK_DEV="$tmp/t" REDLOCK_NODES=127.0.0.1:1 "$redlockd" --dev
expect 'a second one does not take the socket' 69 'another process listens on'
that '   which stays' test -S "$tmp/run/redlockd-dev.sock"
is '   and is served' "$(curl -sS -m 60 -o /dev/null -w '%{http_code}' --unix-socket \
    "$tmp/run/redlockd-dev.sock" http://h/livez)" 200
is '   nothing of its own is left' "$(find "$tmp/t" -maxdepth 1 -type f)" ''

stop
is 'TERM ends it' "$status" 0
that '   and everything that it started' all_gone
is '   and leaves no file' "$(find "$tmp/run" "$tmp/t" -mindepth 1)" ''

begin
numbers="$pid $(inner) $(servers | tr '\n' ' ')"
kill -KILL "$(inner)"
wait "$pid"
that 'kill -9 of the daemon ends everything' all_gone
begin
numbers="$pid $(inner) $(servers | tr '\n' ' ')"
kill -KILL "$pid"
wait "$pid" 2>/dev/null
that 'kill -9 of what was started ends everything' eventually all_gone

export REDLOCK_DEV=$tmp/t REDLOCK_NODES=127.0.0.1:1
begin
is 'a socket that was left behind is replaced' "$(curl -sS -m 60 -o /dev/null -w '%{http_code}' \
    --unix-socket "$tmp/run/redlockd-dev.sock" http://h/livez)" 200
is '   no server is started' "$(children)" ''
try "$redlockd" --dev
expect '   a second one beside it is refused' 69 'another redlockd --dev uses these servers'
is '   and takes no token from it' "$(bash -c "$(line 'the same by TCP') -sS -m 60 -o /dev/null -w '%{http_code}'")" 200
stop
is '   and it ends' "$status" 0
chmod 777 "$tmp/run"
begin
unlike 'a runtime directory that others can write to is not used' "$(cat "$tmp/said")" "$tmp/run"
stop
unset REDLOCK_DEV REDLOCK_NODES

try "$redlockd" --dev --quorum-config /dev/null
expect 'it has nodes of its own' 69 'leave out --config, --quorum-config'
cp "$redlockd" "$tmp/redlockd"
try env PATH=/nonexistent "$tmp/redlockd" --dev
expect 'without the command it says what it needs' 69 'needs the command redlock'
unlike 'no sanitizer complains' "$(cat "$tmp/log")" 'Sanitizer|runtime error'
done_testing
