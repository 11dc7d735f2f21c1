#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `run --every`: at most one start in a period, on however many machines, whatever dies meanwhile.
. "$(dirname "$0")/lib.bash" "$@"
inside_dev 5 "$@"
unhurried

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
like '   and say for how long' "$(head -n1 "$tmp/errors")" '^redlock run: short: it has run already, by [^ ]+@[^ ]+:[0-9]+ \(sh\); --every allows it again in 5[0-9] min'
try "$redlock" run -E 3 --every 1h short -- true
expect '-E is respected' 3
try "$redlock" run --json --every 1h short -- true
is '--json says BUSY' "$(jq -r '.error, .exit_status' <<<"$out" | paste -sd' ')" 'BUSY 75'
try "$redlock" status --json short.every
between 'the record is a lock with the time that is left' "$(jq .ttl_ms <<<"$out")" 3000000 3600000
is '   on all nodes' "$(jq .votes <<<"$out")" 5
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

# The runner goes away.
"$redlock" run --every 1h -t 1s killed -- sh -c "echo up >'$tmp/up'; sleep 100" &
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

# Not started, so not recorded.
try "$redlock" run --every 1h missing -- "$tmp/nothing"
expect 'a command that cannot be run' 127
that '   leaves no record' free missing.every
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
