#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# hold.sh URL COMMAND...: runs COMMAND while it holds the lock URL (http://HOST:PORT/v1/locks/NAME) of redlockd.
# The status is that of COMMAND; 75: not acquired; 76: lost, and COMMAND was killed. TOKEN is the bearer token.
set -um # COMMAND is a process group of its own, to be killed as one
url=$1 ttl=${TTL_MS:-30000} lease=$(openssl rand -hex 16)
shift

# $now: ms that have passed, or more: from one look to the next the larger of the time since boot and the wall
# clock, which can be set back. 20: the former has steps of 10.
now=0 up=0 wall=0
look() {
    local last_up=$up last_wall=$wall
    { read -r up _ </proc/uptime && up=${up/./}0; } 2>/dev/null || up=0 # without one the wall clock must do
    wall=$((${EPOCHREALTIME/[.,]/} / 1000))
    now=$((now + (wall - last_wall > up - last_up + 20 ? wall - last_wall : up - last_up)))
}
look
# ask SECONDS METHOD [CURL-ARGUMENT...]: the answer on standard output; empty: there was none.
ask() {
    curl -sS -m "$1" -X "$2" -H "Lease-Id: $lease" -H "Authorization: Bearer ${TOKEN:-}" \
        -H 'Content-Type: application/json' "${@:3}" "$url"
}
# From the sending, not from the answer; 10 ms: what look() cuts off.
deadline() { jq "$1 + .after_ms + .remaining_ms - 10 | floor" <<<"$2"; }

look
sent=$now
answer=$(ask 60 PUT -d "{\"ttl_ms\":$ttl,\"wait_ms\":20000,\"fenced\":true,\"label\":\"hold.sh\"}")
if ! grant=$(jq -re .grant <<<"$answer") || [ -z "$grant" ]; then
    echo "hold.sh: ${answer:-no answer}" >&2
    ask 10 DELETE >/dev/null # refused, or granted in an answer that was lost: this id is not used again
    exit 75
fi
until=$(deadline "$sent" "$answer")

FENCE=$(jq .fence <<<"$answer") "$@" & # the resource that it writes to refuses a smaller fence
work=$!
stop() { # no SIGTERM: what the lock protects must not be touched after the deadline
    kill -KILL -- "-$work"
    wait "$work"
    echo "hold.sh: $1" >&2
    exit 76
} 2>/dev/null

watch() {
    sleep 0.05
    look
    [ "$now" -lt $((until - 100)) ] || stop 'no answer before the deadline'
}

renew_at=$((sent + ttl / 3))
while kill -0 "$work" 2>/dev/null; do
    watch
    if [ "$now" -ge "$renew_at" ]; then
        sent=$now renew_at=$((now + ttl / 20)) # 503, a proxy's answer or none: the old deadline stands, request again
        exec 3< <(ask 5 POST -H "Grant: $grant" -d "{\"ttl_ms\":$ttl}" 2>/dev/null)
        until read -t 0 -u 3; do watch; done # curl itself counts what the monotonic clock counts
        answer=$(cat <&3)
        case $(jq -r '.grant // .code' <<<"$answer" 2>/dev/null) in
        "$grant") until=$(deadline "$sent" "$answer") renew_at=$((sent + ttl / 3)) ;;
        LOST | EXPIRED | ENDED) stop "$answer" ;;
        esac
    fi
done
wait "$work"
status=$?
ask 10 DELETE -H "Grant: $grant" >/dev/null
exit $status
