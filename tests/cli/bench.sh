#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `redlock bench`: what it counts adds up, nothing is left on the servers, and it can be ended.
. "$(dirname "$0")/lib.bash" "$@"
needs jq iconv
inside_dev 3 "$@"
export LC_ALL=C
alive='1 2 3'

# number KEY: of the last --json, the first of that name. part KEY: the object of that name.
number() {
    grep -Eo "\"$1\":-?[0-9]+" <<<"$out" | head -n 1 | cut -d: -f2
}

part() {
    grep -Eo "\"$1\":\{[^]]*\]" <<<"$out" | head -n 1
}

# sum TEXT: of all counts in the histogram of an object.
sum() {
    local all=0 n
    while read -r n; do
        all=$((all + n))
    done < <(grep -Eo '"up_to_ns":[0-9]+,"count":[0-9]+' <<<"$1" | cut -d: -f3)
    printf '%s' $all
}

# adds_up WHAT: what was requested has ended in one way or another, and the histograms have it.
adds_up() {
    is "$1: adds up" $(($(number locks) + $(number failed) + $(number unfinished))) "$(number asked)"
    is '   in the histogram of releases' "$(sum "$(part release)")" "$(number locks)"
    local acquired
    acquired=$(part acquire | grep -Eo '"count":[0-9]+' | head -n 1 | cut -d: -f2)
    is '   and of acquisitions' "$(sum "$(part acquire)")" "$acquired"
    that '   well-formed' json_lines <<<"$out"
}

# left PATTERN: a server of $alive has keys like that. clean: none has a lock or a queue.
left() {
    local k
    for k in $alive; do
        [ "$(ask "$(port "$k")" KEYS "$1")" = '*0' ] || return 0
    done
    return 1
}

clean() {
    ! left 'redlock:*' && ! left 'redlock.queue:*'
}

# measures ARGUMENT...: in the background; returns when it has begun.
measures() {
    env --default-signal=INT "$redlock" bench "$@" >"$tmp/results" 2>"$tmp/said" &
    pid=$!
    eventually locked
}

locked() {
    left 'redlock:redlock-bench-????????:[0-9]*'
}

unlocked() {
    ! locked
}

ended() {
    { wait $pid; } 2>/dev/null
    status=$?
    out=$(cat "$tmp/results")
    err=$(cat "$tmp/said")
}

# Counting.
try "$redlock" bench -t 20s -c 500 --json
expect '-n 500' 0
is '   are requested' "$(number asked)" 500
is '   all of them locked and released' "$(number locks)" 500
is '   and nothing is said' "$err" ''
adds_up '   it'
that '   nothing is left' clean
try "$redlock" bench -t 20s -c 3 --callers 5 --json
is 'fewer locks than callers' "$(number locks)" 3
try "$redlock" bench -t 20s --callers 1 -c 50 --fence --json
is 'one caller, with tokens' "$(number locks),$(number fewest),$(number most)" 50,50,50
that '   has left counters of one name' [ "$(ask "$(port 1)" KEYS '*redlock-bench-*')" = '*1' ]

start=$(now_ms)
try "$redlock" bench --duration 500ms --json
that '-d 500ms takes that long' [ $(($(now_ms) - start)) -ge 490 ]
between '   and says so' "$(number elapsed_ns)" 500000000 60000000000
that '   it measured something' [ "$(number locks_per_s)" -gt 0 ]
adds_up '   it'
is '   a second end is no earlier' "$("$redlock" bench -c 10 --duration 50s --json | grep -o '"locks":10,')" '"locks":10,'

# The order of quantiles.
previous=0
for key in min_ns p50_ns p90_ns p99_ns p99_9_ns; do
    # Quantiles are the lower ends of ranges of 1.6 %.
    value=$(($(number $key) * 1017 / 1000))
    [ $value -ge "$previous" ] || not_ok "$key is below the one before" "$out"
    previous=$(number $key)
done
ok 'quantiles grow'

# At a rate: how many, and from when their time counts.
try "$redlock" bench -r 200 --duration 1s --json
between '--rate 200' $(($(number asked) + $(number never_asked))) 199 201
that '   it measured something' [ "$(number locks)" -gt 0 ]
like '   is among the settings' "$out" '"rate":200,'
adds_up '   it'
try "$redlock" bench -r 40 -c 20 --json
between '--rate 40 -c 20 takes half a second' "$(number elapsed_ns)" 470000000 60000000000
try "$redlock" bench -r 1000000 --callers 1 --duration 300ms --json
that 'a rate beyond what one caller can do: what was due and not requested' [ "$(number never_asked)" -gt 1000 ]
# One in a microsecond, until the end that was requested or, on a busy machine, a little later.
between '   asked and never asked is what was due' $(($(number asked) + $(number never_asked))) \
    299000 $((1000 + $(number elapsed_ns) / 1000))

# A stall of the servers shows in every lock that was due meanwhile, though there is one caller.
measures -r 100 --callers 1 --duration 3s --hold 5ms -t 10s --json
"$redlock" dev hang 1 >/dev/null
"$redlock" dev hang 2 >/dev/null
sleep 0.4 # is how long they stall
"$redlock" dev resume 1 >/dev/null
"$redlock" dev resume 2 >/dev/null
ended
slow=0
while IFS=: read -r bound count; do
    [ "$bound" -le 100000000 ] || slow=$((slow + count))
done < <(part acquire | grep -Eo '"up_to_ns":[0-9]+,"count":[0-9]+' | sed 's/[^0-9:,]//g; s/^://; s/,:/:/')
between 'a stall is in the latency of all that were due' $slow 10 400
adds_up '   it'

# One name.
try "$redlock" bench -t 20s --one-name --callers 6 --duration 2s --json
expect '--one-name' 0
adds_up '   it'
is '   a caller that waits at the end gives up and has not failed' "$(number failed)" 0
that '   all had their turn' [ "$(number fewest)" -gt 0 ]
try "$redlock" bench -t 20s --one-name --callers 6 --clients 3 -c 60 --hold 2ms --fair
like '   several clients, in text' "$out" '^60 locks in .* 0 failed$'
like '   with the shares' "$out" '^Locks per caller: [0-9]+ to [0-9]+; the slowest had [0-9]+ % of the fastest$'
try "$redlock" bench --one-name --callers 2 -c 2 -t 30s --hold 6s -w 2s --json
is '   -w: a caller that waits too long has failed' "$(grep -o '"failures":.*"share"' <<<"$out")" \
    '"failures":[{"operation":"acquire","error":"TIMEOUT","count":1}],"share"'
adds_up '   it'
that '   nothing is left' eventually clean

# For people.
try "$redlock" bench -t 20s -c 300 --callers 8
expect 'text' 0 '^redlock bench: 8 callers on 3 nodes \(2 needed\), 300 locks, as fast as possible$'
like '   the sum' "$out" '^300 locks in [0-9.]+ s: [0-9]+ locks/s, 0 failed$'
like '   latencies' "$out" '^acquire( +[0-9.]+ (us|ms|s)){6}$'
like '   the last range' "$out" '^ *< [0-9.]+ (us|ms|s) +[0-9]+ +[0-9.]+ % 100\.000 %  #+$'
like '   nodes' "$out" "^127.0.0.1:$(port 3) +[0-9.]+ % +[0-9.]+ % +0\.0 % +"
like '   what it took' "$out" '^This process used [0-9]+ % of a processor'
that '   80 columns are enough' [ "$(wc -L <<<"$out")" -le 80 ]
unlike '   without escapes' "$out$err" $'\033'
is '   the ranges add up' "$(awk '/^ACQUIRED/ { on = 1; next } /^$/ { on = 0 } on { n += $4 } END { print n }' <<<"$out")" 300
try env LC_ALL=C.UTF-8 "$redlock" bench -t 20s -c 300 --callers 8 -q
like 'bars of blocks where there is UTF-8' "$out" '100\.000 %  (█|▉|▊|▋|▌|▍|▎|▏)'
is '-q: nothing but the results' "$err" ''

# Ending it.
measures --duration 50s --hold 20ms --json
kill -INT $pid
ended
expect 'INT: 130' 130
like '   with the results up to then' "$out" '"interrupted":true,'
that '   which are something' [ "$(number asked)" -gt 0 ]
adds_up '   they'
that '   nothing is left' clean
measures --duration 50s --one-name --callers 20 --hold 20ms
kill -TERM $pid
ended
expect 'TERM: 143' 143
like '   with the results' "$out" '^[0-9]+ locks in .*, (19|20) unfinished$'
that '   nothing is left' eventually clean
measures --duration 50s --callers 4 --hold 500ms -t 8s
"$redlock" dev hang 1 >/dev/null
"$redlock" dev hang 2 >/dev/null
kill -INT $pid
kill -TERM $pid
ended
expect 'a second signal ends it at once' 143
is '   without results' "$out" ''
"$redlock" dev resume 1 >/dev/null
"$redlock" dev resume 2 >/dev/null
that '   what it leaves expires' eventually clean
measures --duration 50s --hold 100ms
kill -KILL $pid
ended
that 'killed, it leaves nothing for long' eventually clean

# Nodes that hang.
measures --duration 6s --callers 4 --hold 20ms --node-timeout 300ms
"$redlock" dev hang 1 >/dev/null
"$redlock" dev hang 2 >/dev/null
ended
"$redlock" dev resume 1 >/dev/null
"$redlock" dev resume 2 >/dev/null
like 'nodes hang: why it failed' "$out" '^  [0-9]+ to acquire: too few nodes could vote \(NOQUORUM\)$'
like '   and what may help' "$out" '^Nodes timed out; --node-timeout TIME gives them longer\.$'
like '   which of them' "$out" "^127.0.0.1:$(port 2) .* (timed out|no answer for [0-9]+ ms)$"
that '   what is left expires' eventually clean

# Nodes that are down.
"$redlock" dev kill 3 >/dev/null
alive='1 2'
try "$redlock" bench -t 20s -c 200 --json -q
expect 'a node is down' 0
is '   the others do it' "$(number locks)" 200
like '   JSON says which node' "$out" "\"address\":\"127.0.0.1:$(port 3)\",\"state\":\"(down|connecting)\",\"in_time\":0,\"late\":0,\"failed\":[1-9][0-9]*,\"rtt_p50_ns\":null,\"rtt_p99_ns\":null,\"why\":\"connection refused\""
try "$redlock" bench -t 20s -c 200 -q
like '   text says which node' "$out" "^127.0.0.1:$(port 3) +0\.0 % +0\.0 % +100\.0 % +- +- +[Cc]onnection refused$"
measures --duration 10s --callers 1 -r 5 --hold 100ms --json
eventually unlocked
eventually locked # for the second time: the first is complete
"$redlock" dev kill 2 >/dev/null
ended
expect 'a majority is lost meanwhile' 0
like '   those that failed are counted' "$out" '"failures":\[.*\{"operation":"acquire","error":"NOQUORUM","count":[1-9]'
adds_up '   it'
try "$redlock" bench
expect 'no majority: 69' 69 '[01] of 3 nodes could vote'
is '   nothing is measured' "$out" ''
try "$redlock" bench --json
like '   in JSON' "$out" '^\{"ok":false,"command":"bench","error":"NOQUORUM",.*"exit_status":69,'
for k in 2 3; do "$redlock" dev start $k >/dev/null 2>&1; done
try "$redlock" bench -c 5
expect 'nodes in quarantine: 69' 69 'redlock init'
"$redlock" init --yes --force >/dev/null 2>&1
done_testing
