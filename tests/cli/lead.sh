#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `redlock lead` and `redlock leader`: a command on one of many machines, on another when that fails, and
# anew after a loss.
. "$(dirname "$0")/lib.bash" "$@"
inside_dev 3 "$@"

# Each start of the command is a line: machine, term, REDLOCK_HELD. It ends with 7 on request.
cat >"$tmp/command" <<END
#!/bin/bash
trap 'exit 0' TERM
echo "\$1 \$REDLOCK_TERM \$REDLOCK_HELD" >>'$tmp/starts'
until [ -e '$tmp/enough' ]; do sleep 0.05; done
exit 7
END
chmod +x "$tmp/command"
starts() { [ "$(wc -l <"$tmp/starts")" -ge "$1" ]; }
# afresh: no start yet.
afresh() {
    rm -f "$tmp/enough"
    : >"$tmp/starts"
}

afresh
"$redlock" lead -t 6s a -- "$tmp/command" one 2>"$tmp/errors" &
leader=$!
that 'it runs' eventually starts 1
free_all a
that 'its keys are deleted: it runs again' eventually starts 2
for k in 1 2; do "$redlock" dev hang $k >/dev/null; done
that 'too few nodes answer: the loss is reported' eventually grep -q 'could not be renewed, and the command was stopped in time' "$tmp/errors"
for k in 1 2; do "$redlock" dev resume $k >/dev/null; done
that '   and it runs again when enough do' eventually starts 3
touch "$tmp/enough"
wait $leader
is 'it ends by itself: so does redlock, with its status' $? 7
that '   and the lock is free' free a
that 'every start has a larger term' sort -c -u -n -k2,2 "$tmp/starts"
is 'REDLOCK_HELD is the same every time' "$(cut -d' ' -f3- "$tmp/starts" | sort -u | wc -l)" 1
is 'every loss is reported, and that it waits' "$(grep -c 'standing for election again' "$tmp/errors")" $(($(wc -l <"$tmp/starts") - 1))

# A second machine.
afresh
"$redlock" lead -t 6s b -- "$tmp/command" one 2>/dev/null &
one=$!
eventually starts 1
"$redlock" lead -t 6s b -- "$tmp/command" two 2>/dev/null &
two=$!
that 'the second one waits' eventually queued b
kill -KILL $one
wait $one 2>/dev/null
that 'the first one is killed: the second one runs' eventually starts 2
is '   and it is the second one' "$(tail -n1 "$tmp/starts" | cut -d' ' -f1)" two
kill -TERM $two
wait $two
is 'TERM ends it: with what the command made of it' $? 0
that '   and the lock is free' free b

# TERM in the wait after a loss.
afresh
"$redlock" lead -t 6s c -- "$tmp/command" one 2>"$tmp/errors" &
one=$!
eventually starts 1
# With one command on each node: between two of them the lock would be free, and its first holder quicker.
for k in 1 2 3; do ask "$(port $k)" SET redlock:c another PX 50000 >/dev/null; done
that 'another takes the lock: it waits' eventually grep -q 'standing for election again' "$tmp/errors"
eventually queued c
kill -TERM $one
wait $one
is 'TERM ends the wait' $? 143
is '   and nothing was started meanwhile' "$(wc -l <"$tmp/starts")" 1
free_all c

# TERM between the end of the lock and the next wait for it.
afresh
rm -f "$tmp/told"
"$redlock" lead --max-hold 1s d -- bash -c "trap 'echo >\"$tmp/told\"; until [ -e \"$tmp/enough\" ]; do sleep 0.05; done; exit 0' TERM; echo one >>'$tmp/starts'; while :; do sleep 0.05; done" 2>/dev/null &
one=$!
eventually [ -e "$tmp/told" ]
kill -TERM $one
touch "$tmp/enough"
wait $one
is 'TERM while the command is being stopped: it does not wait again' "$?:$(wc -l <"$tmp/starts")" 76:1

# The office goes around.
pids=()
afresh
for machine in one two; do
    "$redlock" lead --fair --max-hold 2s d -- "$tmp/command" $machine 2>>"$tmp/errors" &
    pids+=($!)
    eventually starts 1
done
# Until the second one waits, the first one is alone.
from_two() { sed -n '/^two/,$p' "$tmp/starts"; }
turns() { [ "$(from_two | wc -l)" -ge 3 ]; }
that '--max-hold: they take turns' eventually turns
is '   strictly' "$(from_two | head -n3 | cut -d' ' -f1 | paste -sd' ')" 'two one two'
kill -TERM "${pids[@]}"
wait

# Observers.
try "$redlock" leader e
expect 'no leader: 1' 1 'no leader'
is '   with --json as an object' "$("$redlock" leader --json e | jq -c '[.ok, .name, .term, .label, .remaining_ms]')" '[true,"e",null,"",null]'
"$redlock" leader --watch e >"$tmp/terms" &
watcher=$!
"$redlock" leader --wait e >"$tmp/elected" &
waiter=$!
that '--watch begins with none' eventually [ -s "$tmp/terms" ]
afresh
"$redlock" lead -t 6s --label 'machine one:80' e -- "$tmp/command" one 2>/dev/null &
one=$!
wait $waiter
is '--wait ends with the first leader' "$?" 0
eventually starts 1
term=$(cut -d' ' -f2 "$tmp/starts")
is '   which is shown by term and label' "$(<"$tmp/elected")" "$term machine one:80"
try "$redlock" leader e
is '   and without --wait' "$status $out" "0 $term machine one:80"
is '   and with --json' "$("$redlock" leader --json e | jq -c '[.ok, .term, .label, .remaining_ms > 0]')" "[true,$term,\"machine one:80\",true]"
seen_terms() { [ "$(wc -l <"$tmp/terms")" = "$1" ]; }
that '--watch has a line for it' eventually seen_terms 2
kill -TERM $one
wait $one
that 'it resigns: a line' eventually seen_terms 3
is '   all of them' "$(paste -sd, "$tmp/terms")" "none,$term machine one:80,none"
kill $watcher
wait $watcher
is 'a signal is the end of --watch' $? 0
try "$redlock" run --shared e -- "$redlock" leader e
expect 'readers are no leader' 1
try "$redlock" run e -- sh -c '"$0" leader e && [ -z "${REDLOCK_TERM:-}" ]' "$redlock"
expect 'a lock with a token has one; run sets no REDLOCK_TERM' 0
try "$redlock" lead f -- sh -c '[ "$REDLOCK_TERM" = "$REDLOCK_FENCE" ] && exit 3'
expect 'the term is the token, and the status that of the command' 3

for wrong in '-n' '--every 1h' '--on-lost ignore' '--shared' '--slots 2' '--no-fence' '-w 0'; do
    # shellcheck disable=SC2086
    try "$redlock" lead $wrong a -- true
    expect "lead $wrong is refused" 64
done
try "$redlock" lead
expect 'lead without a name' 64 'NAME is missing: leader of what'
try "$redlock" lead a
expect 'lead without a command' 64 'COMMAND is missing: what should the leader run'
try "$redlock" lead a b -- true
expect 'lead with two names' 64 'one leader of one NAME'
try "$redlock" leader
expect 'leader without a name' 64 'NAME is missing'
try "$redlock" leader a b
expect 'leader with two names' 64 'one NAME has one leader'
try "$redlock" leader --wait --watch a
expect 'leader with --wait and --watch' 64 'leave one of them out'
for k in 1 2; do "$redlock" dev kill $k >/dev/null; done
try "$redlock" leader e
expect 'too few nodes: 69, and no answer' 69
is '   none at all' "$out" ''
done_testing
