#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The programs of examples/service, one for each language: each runs a command under a lock, renews, notices a
# loss, stops at its deadline when the daemon is silent, and hands on the fence. All of them take turns.
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

# Go is big: it is not installed for this test. Where it is, the example is compiled and takes part.
languages=(sh py mjs)
declare -A hold=([sh]="bash $examples/hold.sh" [py]="python3 $examples/hold.py" [mjs]="node $examples/hold.mjs")
if command -v go >/dev/null; then
    try env HOME="$tmp" GOFLAGS=-mod=mod GO111MODULE=off go build -o "$tmp/hold" "$examples/hold.go"
    expect 'the example in Go compiles' 0
    is '   and is formatted as Go is' "$(gofmt -l "$examples/hold.go")" ''
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

    TTL_MS=9000 $run "$url/renew-$one" bash -c 'read -r -t 10 <> <(:); echo done' >"$tmp/renew-$one" 2>&1
    that "hold.$one renews for longer than the TTL" grep -qx 'done' "$tmp/renew-$one"

    status=0
    TTL_MS=9000 $run "$url/lost-$one" bash -c "echo \$\$ >$tmp/pid-$one; read -r -t 60 <> <(:)" 2>"$tmp/lost-$one" &
    local holder=$!
    eventually test -s "$tmp/pid-$one"
    "$command" break --yes "lost-$one" >"$tmp/break-$one" 2>&1
    wait "$holder" || status=$?
    that "hold.$one is 76 when its lock was taken away" [ "$status" = 76 ]
    that "hold.$one has killed its command then" eventually gone "$(cat "$tmp/pid-$one")"
}
jobs=()
for one in "${languages[@]}"; do
    (failed=0; exercise "$one"; exit $failed) >"$tmp/out-$one" &
    jobs+=($!)
done
for job in "${jobs[@]}"; do wait "$job" || failed=1; done
for one in "${languages[@]}"; do cat "$tmp/out-$one"; done

# ---- a daemon that is silent: every program has stopped its command before its deadline ----

holders=()
for one in "${languages[@]}"; do
    TTL_MS=9000 ${hold[$one]} "$url/silent-$one" bash -c "echo \$\$ >$tmp/silent-$one; read -r -t 60 <> <(:)" 2>/dev/null &
    holders+=($!)
done
for one in "${languages[@]}"; do eventually test -s "$tmp/silent-$one"; done
kill -STOP "$pid"
for i in "${!languages[@]}"; do
    one=${languages[i]} status=0
    wait "${holders[i]}" || status=$?
    that "hold.$one is 76 when the daemon is silent until the deadline" [ "$status" = 76 ]
    that "hold.$one has killed its command by then" eventually gone "$(cat "$tmp/silent-$one")"
done
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
