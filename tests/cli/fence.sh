#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `redlock fence`: a command writes a file unless a later holder has. Paused holders: tests/fencing/resources.
. "$(dirname "$0")/lib.bash" "$@"
inside_dev 3 "$@"
cd "$tmp" || exit 1

# fence TOKEN [OPTION...] FILE COMMAND...
fence() {
    local token=$1
    shift
    REDLOCK_FENCE=$token try "$redlock" fence "$@"
}
record() { printf '%020d %020d\n' "$1" "$1"; }

fence 41 file -- sh -c 'echo "$REDLOCK_FENCE" >file; exit 7'
expect 'the first token: the command runs, and its status is that of redlock' 7
is '   and it has the token' "$(<file)" 41
is '   which is kept beside the file' "$(<file.fence)" "$(record 41)"
fence 41 file -- true
expect 'the same token: it runs again' 0
fence 42 file true
expect 'a larger token: it runs, without -- as well' 0
fence 41 file -- sh -c 'echo late >file'
expect 'a smaller token: refused' 76 "^redlock fence: 'file': a later holder has written it: its token is 42, ours 41; the command was not started$"
is '   and nothing was written' "$(<file)" 41
REDLOCK_FENCE=41 try "$redlock" fence --json file -- true
is '   with --json as an object' "$(jq -c '[.ok, .error, .exit_status]' <<<"$out")" '[false,"LOST",76]'
fence 4503599627370495 file -- true
expect 'a counter that began again from a clock far ahead: it runs' 0
fence 43 "$tmp/none/file" -- true
expect 'no directory for the token file' 78 "none/file.fence': No such file"
fence 43 file2 -- ./missing
expect 'no such command' 127 'cannot run'
ln -s elsewhere link.fence
fence 43 link -- true
expect 'a link in place of the token file is not followed' 78 'link.fence'
is '   and nothing is made behind it' "$(ls elsewhere 2>&1 | grep -c 'No such')" 1

for wrong in '' x -1 0 4503599627370496 99999999999999999999 ' 5' 5x; do
    fence "$wrong" file -- true
    expect "'$wrong' is no token" 64 'is not a fencing token'
done
unset REDLOCK_FENCE
try "$redlock" fence file -- true
expect 'no token' 64 'REDLOCK_FENCE is not set: run this under `redlock run`'
try "$redlock" fence
expect 'no file' 64 'FILE is missing: what does the command write'
try "$redlock" fence file --
expect 'no command' 64 'COMMAND is missing: what writes FILE'
try "$redlock" run a -- "$redlock" fence new -- sh -c 'echo "$REDLOCK_FENCE" >new'
expect 'inside redlock run it has a token' 0
is '   that of the lock' "$(<new.fence)" "$(record "$(<new)")"
try "$redlock" run --no-fence a -- "$redlock" fence new -- true
expect '   but not with --no-fence' 64 '--no-fence'

# A crash in the middle of a record leaves the other; the file is the same as that of the middlewares.
new=$(record 30)$'\n' old=$(record 10)$'\n' wrong=
for cut in {0..42}; do
    rm -f torn.fence
    printf '%s%s' "${new::cut}" "${old:cut}" >torn.fence
    truncate -s 4096 torn.fence
    record 20 >>torn.fence
    for try in 19:76 31:0 30:76; do
        fence "${try%:*}" torn -- true
        [ "$status" = "${try#*:}" ] || wrong+=" $cut:$try"
    done
    truncate -s "$cut" cut.fence 2>/dev/null
    printf '%s' "${old::cut}" >cut.fence
    fence 9 cut -- true
    [ "$status" = $((cut == 42 ? 76 : 0)) ] || wrong+=" first:$cut"
done
is 'a record that a crash has spoilt: the other one counts, and the next token takes its place' "$wrong" ''
echo 'notes of mine' >torn.fence
fence 6 torn -- true
expect 'another file in its place is left alone' 78 'damaged or no token file; when no holder is at work, remove it'
is '   with what it has' "$(<torn.fence)" 'notes of mine'
{ record 1 | head -c 30 && head -c 4066 /dev/zero && record 2 | head -c 25; } >torn.fence
fence 9 torn -- true
expect 'both records spoilt: refused' 78 'damaged'

# Killed at any moment, again and again: the token file always has the largest token that was admitted.
wrong=
for k in {1..40}; do
    REDLOCK_FENCE=$((100 + k)) "$redlock" fence killed -- sh -c "echo $((100 + k)) >>admitted" &
    pid=$!
    [ $((k % 2)) = 0 ] || kill -KILL $pid
    wait $pid 2>/dev/null
    last=$(tail -n1 admitted 2>/dev/null)
    [ -z "$last" ] || { fence $((last - 1)) killed -- true && [ "$status" = 76 ]; } || wrong+=" $k"
done
is 'killed while it starts: what was admitted before is still refused' "$wrong" ''
that '   and some were admitted' [ "$(wc -l <admitted)" -ge 20 ]

# Writers take turns, whatever becomes of the process that started them.
mkfifo go
fence_pid=
REDLOCK_FENCE=50 "$redlock" fence turn -- sh -c 'echo started >started; (read -r _ <go; echo first >>turn) & exec sleep 600' &
fence_pid=$!
that 'a writer is at work' eventually [ -s started ]
fence 51 -n turn -- true
expect '   and with -n another one ends at once' 75 'another writer is still at work'
kill -KILL $fence_pid
wait $fence_pid 2>/dev/null
fence 51 -n turn -- true
expect '   the writer is killed, and what it has started goes on: still' 75
REDLOCK_FENCE=51 "$redlock" fence turn -- sh -c 'echo second >>turn' &
second=$!
echo >go
wait $second
is '   its end is waited for without -n' "$? $(paste -sd' ' turn)" '0 first second'
done_testing
