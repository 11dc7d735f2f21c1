#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `run --every`: at most one start in a period, on however many machines, whatever dies meanwhile.
. "$(dirname "$0")/lib.bash" "$@"
inside_dev 5 "$@"
can_stall

# ten OPTION... -- COMMAND: as cron starts it on ten machines within a second; statuses in $statuses.
ten() {
    local k
    for k in 0 1 2 3 4 5 6 7 8 9; do
        (
            read -r -t "0.$k" _ <> <(:)
            "$redlock" run "$@" 2>>"$tmp/errors"
            echo $? >"$tmp/status.$k"
        ) &
    done
    wait
    statuses=$(cat "$tmp"/status.? | sort | uniq -c | awk '{ printf "%s%d of %d", s, $1, $2; s = ", " }')
}

: >"$tmp/ran" >"$tmp/errors"
ten -n --skip-ok --every 1h short -- sh -c "echo x >>'$tmp/ran'; sleep 0.2"
is 'ten machines, a short job: it runs once' "$(wc -l <"$tmp/ran")" 1
is '   and all end with 0' "$statuses" '10 of 0'
is '   without a word' "$(cat "$tmp/errors")" ''
ten --every 1h short -- sh -c "echo x >>'$tmp/ran'"
is 'again within the period, waiting allowed: it does not run' "$(wc -l <"$tmp/ran")" 1
is '   and all end with 75 at once' "$statuses" '10 of 75'
like '   and say for how long' "$(head -n1 "$tmp/errors")" '^redlock run: short: it has run already, by [^ ]+@[^ ]+:[0-9]+ \(sh\); --every allows it again in (5[0-9] min|1 h 0 min)'
try "$redlock" run -E 3 --every 1h short -- true
expect '-E is respected' 3
try "$redlock" run --json --every 1h short -- true
is '--json says BUSY' "$(jq -r '.error, .exit_status' <<<"$out" | paste -sd' ')" 'BUSY 75'
try "$redlock" status --json short.every
between 'the record is a lock with the time that is left' "$(jq .remaining_ms <<<"$out")" 3000000 3601000
is '   on all nodes' "$(jq .votes <<<"$out")" 5

# What is shown of it: no holder that is stuck, also where a node has forgotten it.
ask "$(port 1)" DEL redlock:short.every >/dev/null
try "$redlock" status short.every
like 'the record is shown as a run' "$out" '^short\.every: ran .* ago, by [^ ]+ \(sh\); may run again in [^,]*, recorded on 4 of 5 nodes$'
try "$redlock" list
like '   in the list' "$out" '^short\.every .*\(sh\) +ran +[^ ]+ +[^ ]+ +0$'
unlike '   which knows of no trouble' "$out$err" '!|disagree'
try "$redlock" top -c 1
like '   nor does top, for which nothing holds it' "$out" '; 0 held, '
like '   but shows it' "$out" '^short\.every .* ran [^!]*$'
try "$redlock" status --json short.every
is '   in JSON it is marked' "$(jq -c '[.record, .disagree]' <<<"$out")" '[true,false]'
try "$redlock" run taken.every -- "$redlock" list --json
is '   a lock of such a name, with a token or an owner, is a lock' \
    "$(jq -c 'select(.name == "taken.every") | .record' <<<"$out")" false
try "$redlock" watch -c 1 short.every
like '   watch' "$out" 'short\.every: ran, by '
try "$redlock" break --yes --json short.every
is 'break of a record: nothing acts under it' "$status $(jq .remaining_ms <<<"$out")" '0 0'
try "$redlock" run --every 1h short -- true
expect '   and the job may run again' 0
try "$redlock" break --yes short.every
expect '   it says that the run is forgotten' 0
like '   not that a holder may act' "$out" '^short\.every: the run by .*\(true\) is forgotten; --every allows the next one now$'
: >"$tmp/ran"
try "$redlock" run --every 1h short -- sh -c "echo x >>'$tmp/ran'"
expect '   which is so' 0
try "$redlock" run short -- echo ran
is 'without --every it runs' "$out" ran

# A job that is longer than the period, and machines that try all the time.
job="read -r up _ </proc/uptime; echo start \${up/./} >>'$tmp/long'; sleep 1.5; read -r up _ </proc/uptime; echo end \${up/./} >>'$tmp/long'"
tries() {
    local k
    for k in 1 2 3 4 5 6; do
        "$redlock" run -n --skip-ok --every 1s long -- bash -c "$job"
        read -r -t 0.4 _ <> <(:)
    done
}
for machine in 1 2 3 4; do tries & done
wait
overlaps=$(awk '$1 == "start" { if (on) bad++; on = 1; if (last && $2 - last < 98) bad++; last = $2 } $1 == "end" { on = 0 } END { print bad + 0 }' "$tmp/long")
is 'a job longer than the period: never two at once, nor two starts in a period' "$overlaps" 0
that '   and it runs more than once' [ "$(grep -c start "$tmp/long")" -ge 2 ]

# A process that is stopped between its record and its start: two starts are the period apart.
# stall NAME OPTION... -- COMMAND: it stops there; its pid is in $runner.
stall() {
    local name=$1
    shift
    REDLOCK_STALL=fork LD_PRELOAD=$tmp/stall.so "$redlock" run "$@" 2>"$tmp/$name.err" &
    runner=$!
}
asleep() { [[ "$(cat "/proc/$runner/stat" 2>/dev/null)" == *') T '* ]]; }
mark_start="read -r up _ </proc/uptime; echo \${up/./} >>'$tmp/pause'"
stall pause --every 2s -t 60s pause -- bash -c "$mark_start"
eventually asleep
that 'stopped between record and start, for longer than the period' eventually free pause.every
"$redlock" run --every 2s -t 60s pause -- bash -c "$mark_start" 2>"$tmp/other.err" &
other=$!
eventually queued pause
kill -CONT $runner
wait $runner
first=$?
wait $other
is '   the first does not start, and tries again; both end with 0 or 75' \
    "$(printf '%s\n' $first $? | grep -vxE '0|75')" ''
is '   and they do not start one behind the other' \
    "$(sort -n "$tmp/pause" | awk 'last && $1 - last < 100 { bad++ } { last = $1 } END { print bad + 0, (NR > 0) }')" '0 1'

# The record counts from the start: what is left of it, and how long ago the process was made.
cat >"$tmp/left" <<'EOF'
read -r -a stat </proc/$$/stat
exec 3<>"/dev/tcp/127.0.0.1/$1"
printf 'PTTL redlock:paused.every\r\n' >&3
IFS=: read -r _ left <&3
read -r up _ </proc/uptime
echo $((${left%$'\r'} + ${up/./}0 - stat[21] * 10))
EOF
stall paused --every 1h -t 60s paused -- bash "$tmp/left" "$(port 1)" >"$tmp/counted"
eventually asleep
read -r -t 0.4 _ <> <(:) # less than a second, or it begins anew
kill -CONT $runner
wait $runner
between 'the whole period is left of the record when the command starts' "$(cat "$tmp/counted")" 3600000 3602000

# The runner goes away.
"$redlock" run --every 1h -t 2s killed -- sh -c "echo up >'$tmp/up'; sleep 100" &
runner=$!
eventually [ -s "$tmp/up" ]
kill -KILL $runner
wait $runner 2>/dev/null
that 'kill -9 of the runner: its lock goes' eventually free killed
try "$redlock" run -n --every 1h killed -- echo ran
expect '   but the period is kept' 75 'has run already'
try "$redlock" run --every 1h failing -- sh -c 'exit 3'
expect 'a job that fails has run' 3
try "$redlock" run --every 1h failing -- echo ran
expect '   and does not run again' 75

# A minority of the nodes restarts without its memory.
for k in 2 5; do
    "$redlock" dev kill $k >/dev/null
    "$redlock" dev start $k >/dev/null
done
try "$redlock" run -n --every 1h short -- echo ran
expect 'two of five nodes restart and forget: the period is kept' 75 'has run already'
for k in 1 2 3; do ask "$(port $k)" DEL redlock:short.every >/dev/null; done
try "$redlock" run -n --every 1h short -- echo ran
is 'a majority forgets: it runs again, as documented' "$out" ran

# What starts that failed left on the nodes, none of them on a majority, is no run.
for k in 1 2 3; do ask "$(port $k)" SET redlock:left.every "of $k" PX 600000 >/dev/null; done
try "$redlock" run -n --skip-ok --every 1h left -- echo ran
expect 'records on too few nodes say of no run: 69, not 75 nor 0' 69 'could not be recorded: .* on no majority'
that '   and the lock was given back' free left

# Not started, so not recorded.
try "$redlock" run --every 1h missing -- "$tmp/nothing"
expect 'a command that cannot be run' 127
that '   leaves no record' free missing.every
# watch K: all that is sent to the K-th server, into $tmp/asked, until `watched` is.
watch() {
    exec {monitor}<>"/dev/tcp/127.0.0.1/$(port "$1")"
    printf 'MONITOR\r\n' >&"$monitor"
    IFS= read -r _ <&"$monitor"
    timeout 120 sed -u '/"watched"/q' <&"$monitor" >"$tmp/asked" &
    watcher=$!
}
watch 1
try "$redlock" run --every 1h missing -- "$tmp/nothing"
ask "$(port 1)" GET watched >/dev/null
wait $watcher
exec {monitor}>&-
released=$(grep -oE '] "(DEL|DELIFEQ|DELEX)" "redlock:missing[^"]*' "$tmp/asked" | cut -d'"' -f4 | paste -sd' ')
is '   and the record is taken back before the lock is given back' "$released" 'redlock:missing.every redlock:missing'
for k in 1 2 3 4 5; do
    ask "$(port $k)" ACL SETUSER default resetkeys '~redlock:denied' '~redlock.*' >/dev/null
done
try "$redlock" run --every 1h denied -- sh -c "echo ran >'$tmp/denied'"
expect 'nodes that refuse the record' 77 'could not be recorded'
that '   and nothing runs' [ ! -e "$tmp/denied" ]
that '   and the lock was given back' free denied

for wrong in '--every 0 a' '--every 0s a' '--every 500ms a' '--every 2d a' '--every 1h --shared a' '--every 1h --slots 2 a' '--every 1h a b'; do
    # shellcheck disable=SC2086
    try "$redlock" run $wrong -- true
    expect "$wrong is refused" 64 'every'
done
try "$redlock" run --every 1h "$(printf '%0510d' 7)" -- true
expect 'a name that leaves no room for the suffix is refused' 64 'at most 506 bytes'
done_testing
