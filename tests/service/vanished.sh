#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A client whose machine vanishes: nothing comes from it any more, not even the end of its connection. Needs
# root, for a network namespace whose link goes down, and takes two minutes.
. "$(dirname "$0")/lib.bash" "$@"
needs curl jq ip sha256sum
[ "$(id -u)" = 0 ] || { echo '1..0 # SKIP needs root'; exit 77; }
inside_dev 3 "$@"
hurried
space=redlockd-$$
link=rl$$
clients=()
leave() {
    kill "${clients[@]}" ${pid:+"$pid"} 2>/dev/null
    ip link del "$link" 2>/dev/null # and its other end
    ip netns del "$space" 2>/dev/null
    rm -rf "$tmp"
}
trap leave EXIT
ip netns add "$space" && ip link add "$link" type veth peer name far netns "$space" &&
    ip addr add 198.51.100.1/30 dev "$link" && ip link set "$link" up &&
    ip -n "$space" addr add 198.51.100.2/30 dev far && ip -n "$space" link set far up ||
    { echo '1..0 # SKIP there are no network namespaces here'; exit 77; }
echo "ci $(digest secret-of-ci)" >"$tmp/tokens"
start --insecure yes --listen 198.51.100.1:0 --tokens "$tmp/tokens" --allow 'token:ci * acquire' \
    --allow "uid:$(id -u) * acquire,read,admin"
port=$(sed -n 's/.*listening on 198.51.100.1:\([0-9]*\)$/\1/p' "$tmp/log")
metric() { curl -sS -m 20 --unix-socket "$socket" http://h/metrics | sed -n "s/^redlockd_$1 //p"; }
far() { # FILE NAME BODY [CURL-ARGUMENT...]
    ip netns exec "$space" curl -sSN -m 300 -X PUT -H 'Authorization: Bearer secret-of-ci' \
        -H "Lease-Id: lease-of-$(cat /proc/sys/kernel/random/uuid)" -H 'Content-Type: application/json' \
        "${@:4}" -d "$3" "http://198.51.100.1:$port/v1/locks/$2" >"$tmp/$1" 2>&1 &
    clients+=($!)
}
far stream far '{"ttl_ms":6000}' -H 'Accept: text/event-stream'
far alone alone '{"ttl_ms":3000}' -H 'Accept: text/event-stream'
granted() { grep -qs '^event: granted' "$tmp/stream" && grep -qs '^event: granted' "$tmp/alone"; }
that 'streams are granted to clients on another machine' eventually granted
far wait far '{"wait_ms":50000}'
waits() { [ "$(metric waiters)" = 1 ]; }
that '   and another waits for the lock' eventually waits
printf 'secret-of-ci' >"$tmp/token"
chmod 600 "$tmp/token"
ip netns exec "$space" env -u REDLOCK_NODES "$redlock" run -t 6s --insecure --service "http://198.51.100.1:$port" \
    --token-file "$tmp/token" job -- sh -c 'touch "$0"; sleep 300' "$tmp/runs" 2>"$tmp/err" &
runner=$!
that '   and a command runs there' eventually test -e "$tmp/runs"
between '   all are connected' "$(metric "connections{listener=\"198.51.100.1:$port\"}")" 4 4

ip -n "$space" link set far down
began=$(now_ms)
free() { [ "$(curl -sS -m 20 --unix-socket "$socket" "http://h/v1/locks/$1" | jq '.holders | length')" = 0 ]; }
that 'the machine vanishes: the lock of a stream runs out' eventually free alone
between '   after its TTL and a third, not after the next comment' $(($(now_ms) - began)) 0 9000 # short: it runs alone
wait "$runner"
is '   the command there was ended with its lock' $? 76
like '   after a warning' "$(cat "$tmp/err")" 'warning: job could not be renewed'
# The wait may be granted what the stream loses, and is then given back: no client took a byte of it.
late() { for _ in 1 2 3 4; do eventually "$@" && return; done; return 1; }
closed() { [ "$(metric "connections{listener=\"198.51.100.1:$port\"}")" = 0 ]; }
that '   its connections are closed' late closed
that '   its stream is not renewed, nor does its wait hold the lock' late free far
stop
pid=
is 'TERM ends it' "$status" 0
unlike 'no sanitizer complains' "$(cat "$tmp/log")" 'Sanitizer|runtime error'
done_testing
