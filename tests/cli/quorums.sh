#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Several quorums: how they are written down, where a lock lives, and what one that is down costs.
. "$(dirname "$0")/lib.bash" "$@"

if [ -z "${REDLOCK_DEV:-}" ]; then
    # How they are written. No server listens on these ports, and none has to: no node is asked.
    export HOME=$tmp XDG_CONFIG_HOME=
    homes() {
        "$redlock" nodes "$@" --where one --where two --where=three --where four --where five \
            --where six
    }
    set='east=127.0.0.1:1,127.0.0.1:2;west=127.0.0.1:3;north=127.0.0.1:4'
    wanted=$(homes --nodes "$set")
    is 'every name lives somewhere' "$(grep -Ec ': quorum (east|west|north)$' <<<"$wanted")" 6
    is 'in the environment' "$(REDLOCK_NODES=$set homes)" "$wanted"
    is 'piece by piece' "$(homes --nodes west=127.0.0.1:3 --nodes east=127.0.0.1:1 \
        --nodes 'north=127.0.0.1:4' --nodes east=127.0.0.1:2)" "$wanted"
    is 'in any order, with blanks and an end' "$(homes --nodes \
        ' north= 127.0.0.1:4 ;  west=127.0.0.1:3;east=127.0.0.1:1 127.0.0.1:2 ; ')" "$wanted"
    printf 'nodes = east=127.0.0.1:1,127.0.0.1:2\nnodes = west=127.0.0.1:3;north=127.0.0.1:4\n' \
        >"$tmp/conf"
    is 'in the file' "$(homes --config "$tmp/conf")" "$wanted"
    is '-v names the nodes' "$("$redlock" nodes -v --nodes "$set" --where '{two}x' | tail -n 1)" '  127.0.0.1:3'
    is 'without quorums there is one place' "$("$redlock" nodes --nodes 127.0.0.1:1 --where x)" \
        'x: all nodes'
    is 'a ; in a password ends nothing' \
        "$("$redlock" nodes -v --nodes 'redis://u:a;b@127.0.0.1:1' --where x 2>"$tmp/ignored" | tail -n 1)" \
        '  127.0.0.1:1'
    is '   nor the = of a socket' "$("$redlock" nodes -v --nodes 'unix:///nowhere?db=1' --where x | tail -n 1)" \
        '  /nowhere'

    wrong() {
        try "$redlock" nodes --nodes "$1" --where x
        expect "$3" 78 "$2"
    }
    wrong 'east=127.0.0.1:1;127.0.0.1:2' 'node 1' 'a ; without a name behind it separates nothing'
    wrong 'East=127.0.0.1:1' 'other characters than a-z 0-9' 'a name in capitals'
    wrong "$(printf 'x%.0s' {1..33})=127.0.0.1:1" 'more than 32' 'a name too long'
    wrong 'east=;west=127.0.0.1:1' 'quorum without nodes' 'a quorum without nodes'
    wrong 'east=127.0.0.1:1;west=127.0.0.1:1' "127.0.0.1:1 is in the quorums 'east' and 'west'" \
        'one server in two'
    wrong "east=$(seq -s, -f 127.0.0.1:%g 16)" 'quorum east has 16 nodes' 'too many nodes'
    wrong "$(printf 'q%d=127.0.0.1;' {1..65})" 'more than 64 quorums' 'too many quorums'
    try "$redlock" nodes --nodes east=127.0.0.1:1 --nodes 127.0.0.1:2 --where x
    expect 'with and without a quorum' 78 'with and without'
    try env REDLOCK_NODES='east=127.0.0.1:1;West=127.0.0.1:2' "$redlock" nodes --where x
    expect 'the environment complains too' 78 'REDLOCK_NODES .*a-z 0-9'
    try "$redlock" nodes --json --nodes "$set" --where '{two}x' --where '{two}y'
    like 'as JSON' "$out" '"names":\[\{"name":"\{two\}x","quorum_name":"west","nodes":\["127.0.0.1:3"\]\},\{"name":"\{two\}y","quorum_name":"west"'
    try "$redlock" dev --quorums 13 -c 5
    expect 'dev does not start a hundred servers' 64 '65; at most 60'
    "$redlock" dev -c 1 --quorums 2 >"$tmp/dev" 2>/dev/null &
    dev=$!
    that 'dev says what to export' eventually \
        grep -q "^export REDLOCK_NODES='q1=127.0.0.1:[0-9]*;q2=127.0.0.1:[0-9]*'\$" "$tmp/dev"
    kill -TERM $dev
    wait $dev

    rm -rf "$tmp"
    "$redlock" dev -c 3 --quorums 2 -- bash "$0" "$@"
    [ $? = 0 ] || failed=1
    exit "$failed"
fi

unhurried
IFS=';' read -r one two <<<"$REDLOCK_NODES"
# ports QUORUM: of its servers.
ports() {
    grep -o ':[0-9]*' <<<"$1" | tr -d :
}
# spot KEY: on how many servers of each quorum it is.
spot() {
    local quorum port count result=
    for quorum in "$one" "$two"; do
        count=0
        for port in $(ports "$quorum"); do
            [ "$(ask "$port" EXISTS "redlock:$1")" = :1 ] && count=$((count + 1))
        done
        result="$result $count"
    done
    echo "${result# }"
}
# name QUORUM: a name that lives there.
name() {
    local i
    for i in $(seq 50); do
        [ "$("$redlock" nodes --where "name-$i")" != "name-$i: quorum $1" ] || break
    done
    printf 'name-%d' "$i"
}
first=$(name q1) second=$(name q2)

try "$redlock" nodes
expect 'nodes' 0
like 'each quorum with its majority' "$out" '^quorum q2: 3 of 3 nodes answer, 2 needed$'
is '   and every node' "$(grep -c ' up ' <<<"$out")" 6
like 'dev knows them, too' "$("$redlock" dev list)" '^4 +q2 +127.0.0.1:[0-9]+ +up '
value=$("$redlock" lock -n -t 30s "$first")
is 'a lock is where it lives' "$(spot "$first")" '3 0'
value2=$("$redlock" lock -n -t 30s "$second")
is '   and another there' "$(spot "$second")" '0 3'
try "$redlock" lock -n "$first"
expect 'it excludes' 75 'held by '
try "$redlock" status
expect 'status lists all quorums' 0
like '   one' "$out" "^$first  .* exclusive"
like '   and the other' "$out" "^$second  .* exclusive"
try "$redlock" extend -t 20s "$second" "$value2"
expect 'extend' 0
try "$redlock" unlock "$second" "$value2"
expect 'unlock' 0
is '   it is gone' "$(spot "$second")" '0 0'
"$redlock" unlock "$first" "$value"
try "$redlock" run -t 6s "$second" -- sh -c 'sleep 7; redlock status --held -q "$1"' sh "$second"
expect 'run renews in its quorum' 0
try "$redlock" lock -n "$first" "$second"
expect 'names of two quorums are refused' 64 "braces, such as"
try "$redlock" run -n '{job}.read' '{job}.write' -- true
expect '   with a common part in braces not' 0
try "$redlock" doctor
expect 'doctor is content' 0
try "$redlock" doctor -v
is '   with each quorum' "$(grep -c 'placement .*lives here' <<<"$out")" 2
try "$redlock" top -c 1
like 'top counts the quorums' "$out" '6 of 6 vote, 2 of 2 quorums'
try "$redlock" top -c 1 --json
is '   as JSON too' "$(grep -o '"quorum_name":"q2"' <<<"$out" | wc -l)" 3
try "$redlock" init --yes
expect 'init' 0
like '   of each' "$out" '3 of 3 nodes of quorum q2 may vote'

try "$redlock" init --yes --quorum q1
expect 'init of one of them' 0
unlike '   and of no other' "$out" 'quorum q2'
try "$redlock" init --yes --quorum q3
expect '   not of one that is not there' 64 'none of the quorums'

# A client with another set of quorums.
try env REDLOCK_NODES="${one#q1=}" "$redlock" lock -n -t 20s "$second"
expect 'a client of one of them, without its name, counts no node' 69 'another quorum, or to another set'
REDLOCK_NODES=${one#q1=} "$redlock" lock -n -q --guard off -t 20s --label astray "$second" >"$tmp/stray"
try "$redlock" doctor
expect 'doctor sees a lock that lives elsewhere' 1
like '   and says where, which and whose' "$(paste -sd' ' <<<"$out" | tr -s ' ')" \
    "1 lock on it that lives in another quorum: '$second', held by astray"
try "$redlock" status
expect 'so does status' 0 '1 lock is in a quorum where it does not live'
REDLOCK_NODES=${one#q1=} "$redlock" unlock "$second" "$(cat "$tmp/stray")"

try env REDLOCK_NODES="$one" "$redlock" lock -n "$first"
expect 'a client with fewer quorums counts no node' 69 'another set of quorums'
like '   and is advised to use what the others have' "$err" 'next: give this client the nodes that the others have'
try env REDLOCK_NODES="$one" "$redlock" nodes
is '   and is warned in one line for all nodes' "$(grep -c 'warning.*another set of quorums' "$tmp/err")" 1
try env REDLOCK_NODES="$one" "$redlock" doctor
expect '   and by doctor' 1
is '   of each' "$(grep -c 'fail *membership' <<<"$out")" 3

# One quorum goes.
"$redlock" lock -n -t 30s "$first" >"$tmp/value"
try "$redlock" bench -c 400 --json -q
expect 'bench measures all quorums' 0
like '   each node by itself' "$out" '"quorum_name":"q2","state":"up","in_time":[1-9]'
"$redlock" dev kill 4 >/dev/null
"$redlock" dev kill 5 >/dev/null
try "$redlock" nodes
expect 'nodes says which quorum is down' 69 "1 of 3 nodes of quorum 'q2'"
like '   and what that means' "$out" '^quorum q2: 1 of 3 nodes answers, 2 needed; its locks cannot'
like '   the other is fine' "$out" '^quorum q1: 3 of 3 nodes answer, 2 needed$'
try "$redlock" nodes --json
like '   as JSON' "$out" '"name":"q1","available":true.*"name":"q2","available":false'
try "$redlock" lock -n "$second"
expect 'its locks cannot be taken' 69 "[01] of 3 nodes of quorum 'q2'"
try "$redlock" unlock "$first" "$(cat "$tmp/value")"
expect 'those of the other can be given back' 0
try "$redlock" run -n "$first" -- true
expect '   and taken' 0
"$redlock" lock -n -t 30s "$first" >"$tmp/value"
try "$redlock" status
expect 'status shows what it can' 69 "quorum 'q2'"
like '   namely the rest' "$out" "^$first  .* exclusive"
try "$redlock" top -c 1
like 'top too' "$out" "^$first .* exclusive"
try "$redlock" doctor
expect 'doctor judges each by itself' 69
like '   this one' "$out" '^quorum q2: all nodes together$'
unlike '   not that one' "$out" '^quorum q1'
done_testing
