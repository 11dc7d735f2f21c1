#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `redlock run`: the lock is held while the command runs, and everything of the command gets
# through: status, input, output, arguments.
. "$(dirname "$0")/lib.bash" "$@"
inside_dev 3 "$@"

try "$redlock" run a -- sh -c 'redlock status --held -q a'
expect 'the lock is held while the command runs' 0
that '   and released after it' free a

for n in 0 1 42 75 76 255; do
    try "$redlock" run a -- sh -c "exit $n"
    expect "exit status $n gets through" $n
done
try "$redlock" run a -- sh -c 'kill -TERM $$'
expect 'a command killed by TERM: 128 + 15' 143
that '   and the lock was released' free a
try "$redlock" run a -- sh -c 'kill -KILL $$'
expect 'a command killed by KILL: 128 + 9' 137

try "$redlock" run a -- "$tmp/nothing"
expect 'no such command: 127' 127 "cannot run '.*/nothing': No such file"
that '   and the lock was released' free a
try "$redlock" run a no-such-command-anywhere
expect 'no such command in PATH: 127' 127
: >"$tmp/plain"
try "$redlock" run a -- "$tmp/plain"
expect 'not executable: 126' 126 'Permission denied'
try "$redlock" run a -- "$tmp"
expect 'a directory: 126' 126

is 'standard input gets through' "$(printf 'one\ntwo\n' | "$redlock" run a -- cat)" $'one\ntwo'
is 'all of a long one' "$(head -c 3000000 /dev/zero | "$redlock" run a -- wc -c)" 3000000
is 'arguments get through' "$("$redlock" run a -- printf '%s|' 'x y' '' -n --help)" 'x y||-n|--help|'
is '   without -- too' "$("$redlock" run a printf '%s|' -n -w --help)" '-n|-w|--help|'
is 'a second -- is the command'"'"'s' "$("$redlock" run a -- echo -- -w)" '-- -w'
is 'options after NAME' "$("$redlock" run a -t 3 -n echo -n hi)" 'hi'
is 'a name that starts with a dash' "$("$redlock" run -- -a -- sh -c 'echo $REDLOCK_NAME')" '-a'
is 'a name with odd bytes' "$("$redlock" run $'\x01 \xff"\n' -- sh -c 'printf %s "$REDLOCK_NAME"')" \
    $'\x01 \xff"'
is 'a name of 512 bytes' "$("$redlock" run "$(printf '%0512d' 7)" echo yes)" yes

"$redlock" run a -- sh -c 'echo "$REDLOCK_NAME $REDLOCK_VALUE $REDLOCK_DEADLINE"' >"$tmp/env"
read -r name value deadline <"$tmp/env"
is 'REDLOCK_NAME' "$name" a
like 'REDLOCK_VALUE' "$value" '^[0-9a-f]{40}@[0-9a-f]{11}%20[^ ]+$'
left=$((deadline / 1000000 - $(now_ms)))
between 'REDLOCK_DEADLINE is within the TTL' $left 15000 30000
fence() {
    "$redlock" run "$@" -- sh -c 'echo "${REDLOCK_FENCE-none}"'
}
one=$(fence a) two=$(fence a)
like 'REDLOCK_FENCE is a number' "$one" '^[0-9]+$'
that '   and grows from one holder to the next' [ "$two" -gt "$one" ]
like 'status shows it' "$("$redlock" status a)" ", fence $two$"
is '--no-fence: there is none' "$(fence --no-fence plain)" none
is '   not that of a lock around it either' "$("$redlock" run a -- redlock run --no-fence plain -- sh -c 'echo "${REDLOCK_FENCE-none}"')" none
unlike '   and none is kept' "$("$redlock" status plain)" fence
trap '' CHLD
is 'an ignored SIGCHLD does no harm' "$("$redlock" run a -- sh -c 'exit 3'; echo $?)" 3
trap - CHLD
(
    trap '' HUP
    exec "$redlock" run a -- bash -c 'trap -p HUP'
) >"$tmp/trap"
like 'what was ignored stays ignored for the command' "$(cat "$tmp/trap")" "trap -- '' SIGHUP"
mask() {
    "$@" grep SigBlk /proc/self/status
}
is 'the signal mask is as it was' "$(mask "$redlock" run a --)" "$(mask env)"
is 'the priority is as it was' "$("$redlock" run a -- sh -c 'sleep 0.05; nice')" "$(nice)"
is 'no descriptor of ours is left open' "$("$redlock" run a -- ls /proc/self/fd | wc -l)" \
    "$(ls /proc/self/fd | wc -l)"
try "$redlock" run a -- sh -c 'exit 5' 0<&- 1>&- 2>&-
is 'closed standard files do no harm' $status 5

try "$redlock" run a -- 'echo hi'
expect 'a command line in one word: the way to write it' 127 "cannot run 'echo hi': No such file.*; for a command line in one word: -- sh -c"
"$redlock" run a -- sh -c "sleep 20; : $$" &
runner=$!
eventually held a
like 'ps shows one redlock run' "$(ps -ww -o pid=,args= -C redlock)" "^ *$runner .* run a -- sh"
# Its child is one until it becomes the command.
alone() { [ "$(pgrep -f "run a -- sh -c sleep 20; : $$\$")" = $runner ]; }
named() { pgrep -fx 'redlock reaper' >/dev/null; }
that '   and its helper is not a second one' eventually alone
that '   but has a name of its own' eventually named
kill $runner
wait $runner

# Held by another.
other=$("$redlock" lock -t 30s busy)
try "$redlock" run -n busy -- echo ran
expect '-n: busy is 75' 75 '^redlock run: busy: held by [^,]+,.* up to (2[0-9]|30)\.[0-9] s more$'
is '   and nothing ran' "$out" ''
is '   in one line' "$(wc -l <"$tmp/err")" 1
unlike '   without giving the value away' "$err" "$other"
try "$redlock" run -n -v busy -- echo ran
like '-v: the table names every node' "$err" "127.0.0.1:$(port 3) +held "
like '   and says what to do' "$err" 'next: .*-w TIME'
ask "$(port 3)" DEL redlock:busy >/dev/null
try "$redlock" run -n busy -- echo ran
like 'nodes that differ are shown without -v' "$err" "127.0.0.1:$(port 2) +held "
start=$(now_ms)
try "$redlock" run -w 2 busy -- echo ran
expect '-w: elapsed is 75 as well' 75 'busy: held by .*; gave up after 2\.0 s$'
took=$(($(now_ms) - start))
that 'after the time given' [ $took -ge 1990 ]
try "$redlock" run -w 0 busy -- true
expect '-w 0 is -n' 75
try "$redlock" run -n -E 9 busy -- true
expect '-E' 9
try "$redlock" run -n -E 0 busy -- true
expect '-E 0' 0
try "$redlock" run -n --skip-ok busy -- echo ran
expect '--skip-ok' 0
is 'is silent' "$out$err" ''
try "$redlock" run -nq busy -- true
is '-q is silent' "$status:$out$err" '75:'
(
    "$redlock" run busy -- echo got it >"$tmp/got"
    echo $? >>"$tmp/got"
) &
waiter=$!
"$redlock" unlock busy "$other" || not_ok 'unlock'
wait $waiter
is 'run waits until it is free' "$(cat "$tmp/got")" $'got it\n0'

# Longer than the TTL: renewed.
try "$redlock" run -t 6s a -- sh -c 'sleep 7; redlock status --held -q a'
expect 'the lock outlives its TTL while the command runs' 0

# --min-hold
start=$(now_ms)
"$redlock" run --min-hold 700ms a -- true
took=$(($(now_ms) - start))
that '--min-hold keeps the lock' [ $took -ge 690 ]
"$redlock" run --min-hold 1h a -- sh -c "echo up >'$tmp/up'; exit 4" &
wrapper=$!
eventually [ -s "$tmp/up" ]
childless() { [ -z "$(cat /proc/$wrapper/task/*/children 2>/dev/null)" ]; }
eventually childless
kill -TERM $wrapper
wait $wrapper
is 'TERM ends --min-hold early, with the status of the command' $? 4
that '   and the lock was released' free a

# From here on the servers want a password.
export REDLOCK_PASSWORD=secret
for k in 1 2 3; do ask "$(port $k)" CONFIG SET requirepass secret >/dev/null; done
is 'the command inherits nodes and password' \
    "$("$redlock" run a -- sh -c 'echo ${REDLOCK_NODES:+nodes} ${REDLOCK_PASSWORD:+password}')" 'nodes password'
is '--no-env: neither of them' \
    "$("$redlock" run --no-env a -- sh -c 'echo ${REDLOCK_NODES-none} ${REDLOCK_PASSWORD-none} $REDLOCK_NAME')" 'none none a'
done_testing
