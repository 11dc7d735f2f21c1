#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The programs of examples/service, one for each language: each gives the status of its command and hands on the fence,
# trusts no clock that stands still or is set, and all of them take turns. What else they do: bindings/cases.
. "$(dirname "$0")/lib.bash" "$@"
needs curl jq openssl python3 node
inside_dev 3 "$@"
unhurried
examples=$(readlink -f "$here/../../examples/service")
command=$(dirname "$redlockd")/redlock
export TOKEN=a-token-of-this-test
printf 'tester %s\n' "$(digest "$TOKEN")" >"$tmp/tokens"
start --tokens "$tmp/tokens" --allow 'token:tester * acquire,read'
url=http://127.0.0.1:$tcp/v1/locks
that 'the daemon is ready' eventually ready

export TOKEN_FILE=$tmp/token
printf '%s\n' "$TOKEN" >"$TOKEN_FILE"
languages=(sh py mjs)
declare -A hold=([sh]="bash $examples/hold.sh" [py]="python3 $examples/hold.py" [mjs]="node $examples/hold.mjs")
if command -v go >/dev/null; then
    build_go_example
    languages+=(go)
    hold[go]=$tmp/hold
else
    echo '# no go: its example is left out'
fi

for file in "$examples"/hold.*; do
    that "$(basename "$file") has at most seventy lines" [ "$(wc -l <"$file")" -le 70 ]
done

# Each as a job of its own, all at the same time: most of this waits.
exercise() {
    local one=$1 run=${hold[$1]} status=0 first second
    first=$(TTL_MS=20000 $run "$url/plain-$one" bash -c 'echo "$FENCE"; exit 5') || status=$?
    that "hold.$one gives the status of its command" [ "$status" = 5 ]
    second=$(TTL_MS=20000 $run "$url/plain-$one" bash -c 'echo "$FENCE"')
    that "hold.$one hands on a fence that grows ($first, $second)" [ "${second:-0}" -gt "${first:-0}" ]
}
jobs=()
for one in "${languages[@]}"; do
    (failed=0; exercise "$one"; exit $failed) >"$tmp/out-$one" &
    jobs+=($!)
done
for job in "${jobs[@]}"; do wait "$job" || failed=1; done
for one in "${languages[@]}"; do cat "$tmp/out-$one"; done

# ---- the wall clock: of the larger of both clocks, no step of it makes the deadline later ----

# Go reads its clocks without the C library: bindings/go/clock_test.go steps them.
stepped=(sh py mjs)
# step MS: of the clocks of the programs that look there.
step() { python3 -c 'import struct, sys; open(sys.argv[1], "r+b").write(struct.pack("q", int(sys.argv[2])))' "$tmp/clock" "$1"; }
printf '\0\0\0\0\0\0\0\0' >"$tmp/clock"
shim=$(dirname "$redlockd")/tests/libredlock_test_servershim.so
# hold_all NAME TTL-MS: sets holders, and waits until all commands run.
hold_all() {
    local one
    holders=()
    for one in "${stepped[@]}"; do
        TTL_MS=$2 REDLOCK_TEST_CLOCK=$tmp/clock LD_PRELOAD=$shim ${hold[$one]} "$url/$1-$one" \
            bash -c "echo \$\$ >$tmp/$1-$one; exec sleep 60" 2>/dev/null &
        holders+=($!)
    done
    for one in "${stepped[@]}"; do eventually test -s "$tmp/$1-$one"; done
}
# all_lost NAME WHEN
all_lost() {
    local i one
    for i in "${!stepped[@]}"; do
        one=${stepped[i]} status=0
        wait "${holders[i]}" || status=$?
        that "hold.$one is 76 when $2" [ "$status" = 76 ]
        that "hold.$one has killed its command by then" eventually gone "$(cat "$tmp/$1-$one")"
    done
}
hold_all forth 60000
step 3600000
all_lost forth 'its wall clock has gone on beyond the deadline, as in a suspend'
hold_all back 9000
kill -STOP "$pid"
step -3600000
all_lost back 'the daemon is silent until the deadline, though its wall clock was set back'
kill -CONT "$pid"

# ---- one lock for all: never two of them inside ----

inside='mkdir "$1/inside" || exit 1; n=$(cat "$1/count"); echo $((n + 1)) >"$1/count"; rmdir "$1/inside"'
echo 0 >"$tmp/count"
jobs=()
for one in "${languages[@]}"; do
    for _ in 1 2 3; do
        TTL_MS=20000 ${hold[$one]} "$url/all" bash -c "$inside" - "$tmp" &
        jobs+=($!)
    done
done
for job in "${jobs[@]}"; do
    wait "$job" || not_ok 'each of them has the lock once'
done
that 'no two of them were inside at the same time' [ "$(cat "$tmp/count")" = "${#jobs[@]}" ]
stop
exit $failed
