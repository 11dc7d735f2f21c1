#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `redlock hold`: a lock for the program at the other end of a pipe. It goes when that program ends,
# in whatever way, and nothing but its end, a signal or a loss ends it.
. "$(dirname "$0")/lib.bash" "$@"
needs python3 setsid
inside_dev 3 "$@"

# hold OPTION...: in the background, with $tmp/in as its input, descriptor $in, and lines in $tmp/lines.
hold() {
    rm -f "$tmp/in"
    mkfifo "$tmp/in"
    : >"$tmp/lines"
    "$redlock" hold "$@" <"$tmp/in" >"$tmp/lines" 2>"$tmp/errors" &
    holder=$!
    exec {in}>"$tmp/in"
}
printed() { grep -q -- "$1" "$tmp/lines"; }
# ends: closes its input. finished: its status is in $status, its lines in $out.
ends() {
    exec {in}>&-
}
finished() {
    wait $holder
    status=$?
    out=$(cat "$tmp/lines")
    err=$(cat "$tmp/errors")
}

hold a
that 'it has the lock' eventually printed '^held'
that '   on the nodes' held a
like '   and one line says so, with value and token' "$(cat "$tmp/lines")" '^held [0-9a-f]{40}[^ ]* [0-9]+$'
comm=$(cat /proc/$$/comm)
like 'its label names the process that started it' "$("$redlock" status a)" "held by [^ ]+@[^ ]+:$$ \\($comm\\), for "
ends
finished
expect 'its input ends: 0' 0
is '   and the last line is released' "$(tail -n1 <<<"$out")" released
that '   and so it is' free a

hold --json -t 20s a
eventually printed held
ends
finished
is '--json: the first line' "$(jq -r 'select(.event == "held") | [.ok, .command, .name, .kind, .ttl_ms, (.value | length >= 40), .fence > 0, .slot, .remaining_ms > 0] | @tsv' <<<"$out")" \
    $'true\thold\ta\tmutex\t20000\ttrue\ttrue\t\ttrue'
is '   with the deadline, later than now' "$(jq 'select(.event == "held") | .deadline_ns > 0' <<<"$out")" true
is '   and the last' "$(tail -n1 <<<"$out" | jq -r '[.ok, .event, .name] | @tsv')" $'true\treleased\ta'
that '   each of them JSON' json_lines <<<"$out"
hold --json --slots 2 gpu
eventually printed held
ends
finished
like '--slots: which one' "$(jq -r 'select(.event == "held") | "\(.slot) \(.fence)"' <<<"$out")" '^[12] null$'
hold --json a b
eventually printed held
that 'several names: both are held' held b
ends
finished
is '   and printed' "$(jq -r 'select(.event == "held") | .names | join(" ")' <<<"$out")" 'a b'

# Renewed as long as it takes, whatever is written to it, and not read.
hold -v --json -t 6s a
that 'every renewal is printed with -v' eventually printed renewed
yes "input means nothing" | head -n 100000 >&"$in"
enough() { [ "$(grep -c renewed "$tmp/lines")" -ge 4 ]; }
that 'past its TTL, with input that means nothing' eventually enough
ends
finished
is '   every deadline is later than the one before' "$(jq -s '[.[] | .deadline_ns // empty] | . == (sort | unique)' <<<"$out")" true
mkfifo "$tmp/full"
exec {full}<>"$tmp/full"
dd if=/dev/zero of="$tmp/full" bs=4096 oflag=nonblock 2>/dev/null
rm -f "$tmp/in" && mkfifo "$tmp/in"
"$redlock" hold -v -t 6s full <"$tmp/in" >"$tmp/full" 2>/dev/null {full}>&- &
holder=$!
exec {in}>"$tmp/in"
that 'standard output is full: it has the lock' eventually held full
before=$(now_ms)
past_the_ttl() { [ $(($(now_ms) - before)) -gt 7000 ]; }
eventually past_the_ttl
try "$redlock" lock -n -q full
is '   and still has it after its TTL' $status 75
ends
wait $holder
is '   and gives it back without a reader' $? 0
that '   and so it is free' free full
exec {full}>&-

# A lock of which no program can know is given back. Its input stays open all the time.
rm -f "$tmp/in" && mkfifo "$tmp/in"
exec {in}<>"$tmp/in"
# untold HOW: the holder has ended, with $status.
untold() {
    is "$1: 70" "$status" 70
    like '   and a message says so' "$(cat "$tmp/err")" '^redlock hold: untold: standard output: .*; the lock was given back$'
    that '   and so it is' free untold
}
for json in '' --json; do
    status=0
    timeout 120 "$redlock" hold -t 30s $json untold <"$tmp/in" >&- 2>"$tmp/err" || status=$?
    untold "standard output is closed${json:+, --json}"
    status=0
    timeout 120 "$redlock" hold -t 30s $json untold <"$tmp/in" >/dev/full 2>"$tmp/err" || status=$?
    untold "standard output cannot be written${json:+, --json}"
done
value=$("$redlock" lock -t 60s untold)
mkfifo "$tmp/reader"
timeout 120 "$redlock" hold -t 30s untold <"$tmp/in" >"$tmp/reader" 2>"$tmp/err" &
holder=$!
exec {reader}<"$tmp/reader"
eventually queued untold
exec {reader}<&-
"$redlock" unlock untold "$value"
wait $holder
status=$?
untold 'the reader left before it could be printed'
"$redlock" hold -v -t 6s printed <"$tmp/in" 2>/dev/null > >(head -n1 >"$tmp/lines") {in}>&- &
holder=$!
that 'a reader that takes only the first line' eventually grep -q '^held' "$tmp/lines"
past_a_renewal() { [ $(($(now_ms) - before)) -gt 3200 ]; }
before=$(now_ms)
eventually past_a_renewal # for that line there was no reader
that '   keeps the lock' held printed
kill -TERM $holder
wait $holder
that '   until the end' free printed
exec {in}>&-

# Signals and other ends.
for signal in TERM INT HUP; do
    hold a
    eventually printed '^held'
    kill -$signal $holder
    finished
    is "$signal: 128 + its number" "$status" $((128 + $(kill -l $signal)))
    is '   after the release' "$(tail -n1 <<<"$out"):$(ask "$(port 1)" EXISTS redlock:a)" released::0
    ends
done
hold -t 2s a
eventually printed '^held'
kill -KILL $holder
finished 2>/dev/null
is 'kill -9: the output just ends' "$(wc -l <<<"$out")" 1
that '   and the lock expires' eventually free a
ends

# The parent dies, and its input stays open.
mkfifo "$tmp/open"
exec {open}<>"$tmp/open"
for how in 'kill -KILL $$' 'exit 0'; do
    : >"$tmp/lines"
    bash -c "'$redlock' hold -t 30s a <'$tmp/open' >'$tmp/lines' & echo \$! >'$tmp/holder'
        until grep -q held '$tmp/lines'; do sleep 0.02; done; $how" 2>/dev/null
    that "its parent dies ($how): the lock is released" eventually printed '^released'
    that '   and the process gone' eventually gone "$(cat "$tmp/holder")"
done
cat >"$tmp/thread.py" <<END
import subprocess, sys, threading
def start():
    global holder
    holder = subprocess.Popen([sys.argv[1], "hold", "-t", "6s", "thread"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
thread = threading.Thread(target=start)
thread.start()
thread.join()
print(holder.stdout.readline().decode().split()[0], flush=True)
sys.stdin.readline()
print("still", holder.poll(), flush=True)
holder.stdin.close()
print(holder.stdout.read().decode(), end="")
END
coproc python3 "$tmp/thread.py" "$redlock"
parent=$COPROC_PID
{ read -r -t 60 line; } <&"${COPROC[0]}"
is 'a thread of the parent that started it has ended' "$line" held
before=$(now_ms)
eventually past_the_ttl
that '   and the lock is still held' held thread
echo >&"${COPROC[1]}"
read -r -t 60 line <&"${COPROC[0]}"
is '   by the same process' "$line" 'still None'
read -r -t 60 line <&"${COPROC[0]}"
is '   which gives it back when its input ends' "$line" released
wait "$parent"

# No input to wait for.
for input in /dev/null "$0"; do
    try "$redlock" hold a <"$input"
    expect "input from ${input##*/}: refused" 64 'standard input is at its end'
done
try "$redlock" hold a <&-
expect 'no input at all: refused' 64 'standard input is at its end'

# Not had.
value=$("$redlock" lock -t 60s busy)
hold -n busy
finished
expect '-n: 75' 75 'busy: held by '
is '   and nothing is printed' "$out" ''
ends
hold --json -w 2s busy
finished
is '--json: the failure is an object' "$(jq -r '[.ok, .error, .exit_status] | @tsv' <<<"$out")" $'false\tTIMEOUT\t75'
ends
hold busy
eventually queued busy
ends
finished
is 'its input ends during the wait: 75' "$status:$out" 75:
that '   and its place in the queue is given up' eventually unqueued busy
"$redlock" unlock busy "$value"

# Trouble.
hold -t 9s --node-timeout 500ms j
eventually printed '^held'
for k in 1 2; do "$redlock" dev hang $k >/dev/null; done
that 'too few nodes answer: jeopardy' eventually printed '^jeopardy'
for k in 1 2; do "$redlock" dev resume $k >/dev/null; done
that '   and recovered' eventually printed '^recovered'
for k in 1 2; do "$redlock" dev hang $k >/dev/null; done
that '   and lost, when it lasts' eventually printed '^lost'
finished
is '   with 76' "$status" 76
like '   in this order, the last line last' "$(cut -d' ' -f1 <<<"$out" | paste -sd' ')" '^held (jeopardy recovered )+(jeopardy )?lost$'
for k in 1 2; do "$redlock" dev resume $k >/dev/null; done
ends
hold --json -t 6s j
eventually printed held
free_all j
that 'its keys are deleted: lost' eventually printed lost
finished
is '   with error, message and status' "$(tail -n1 <<<"$out" | jq -r '[.ok, .event, .error, .exit_status] | @tsv')" $'false\tlost\tLOST\t76'
ends
hold -t 6s taken
eventually printed '^held'
for k in 1 2 3; do ask "$(port $k)" SET redlock:taken another PX 50000 >/dev/null; done
that 'its keys are those of another: lost' eventually printed '^lost'
finished
is '   with 76' "$status" 76
is '   and every node says whose it is' "$(grep -Ec '^ +127.* held +another… ' <<<"$err")" 3
unlike '   not that it has none' "$err" 'no such key'
ends

# The examples, as the manual has them.
examples=$here/../../examples
try python3 "$examples/hold.py"
is 'examples/hold.py' "$status:${out%% [0-9]*}" '0:ours, with token'
that '   gives the lock back' free report
value=$("$redlock" lock -t 60s report)
timeout 60 python3 "$examples/hold.py" >"$tmp/python" &
waiter=$!
that '   and waits while it is held by another' eventually queued report
"$redlock" unlock report "$value"
wait $waiter
is '   and then has it' "$?:$(cut -c1-4 "$tmp/python")" 0:ours
if command -v node >/dev/null; then
    try timeout 60 node "$examples/hold.js"
    is 'examples/hold.js' "$status:${out%% [0-9]*}" '0:ours, with token'
    that '   gives the lock back' free report
else
    printf '# left out: examples/hold.js: node is not installed\n'
fi
for example in hold.py hold.js; do
    sed '1,2d; s/\\/\\e/g' "$examples/$example" >"$tmp/$example"
    that "redlock-run(1) shows $example as it is" \
        python3 -c 'import sys; sys.exit(open(sys.argv[1]).read().strip() not in open(sys.argv[2]).read())' \
        "$tmp/$example" "$here/../../man/redlock-run.1"
done
done_testing
