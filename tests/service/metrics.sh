#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# /metrics: all that redlockd(8) lists, in a format that a parser takes, with numbers that are right.
. "$(dirname "$0")/lib.bash" "$@"
needs curl python3 jq
inside_dev 3 "$@"
unhurried
start --drain 0
eventually ready

# judge EXPRESSION...: as metrics.py; true if all are.
judge() {
    verdict=$(curl -sS -m 60 --unix-socket "$socket" http://h/metrics |
        python3 "$here/../service/metrics.py" "$@" 2>&1)
    [ "$verdict" = fine ]
}
# shows WHAT EXPRESSION...
shows() {
    local what=$1
    shift
    if judge "$@"; then ok "$what"; else not_ok "$what" "$verdict"; fi
}
# ask METHOD NAME ID [CURL-ARGUMENT...]; begin the same in the background, where it can be killed.
begin() {
    curl -sS -m 60 --unix-socket "$socket" -X "$1" -H "Lease-Id: lease-of-the-metrics-test-$3" "${@:4}" \
        "http://h/v1/locks/$2" >/dev/null &
    begun=$!
}
ask() {
    curl -sS -m 60 --unix-socket "$socket" -X "$1" -H "Lease-Id: lease-of-the-metrics-test-$3" "${@:4}" "http://h/v1/locks/$2"
}
declared=()
for name in requests_total request_seconds acquire_wait_seconds leases waiters leader_polls yours_total \
    disconnected_waiters_total connections connections_evicted_total node_up node_votes node_quarantine_seconds node_rtt_seconds \
    node_clock_offset_seconds node_last_answer_seconds quorum_margin build_info hold_seconds lost_total expired_unreleased_total \
    ended_elsewhere_total unknown_renewals_total broken_total quota_rejected_total; do
    declared+=("is_declared('$name')")
done
shows 'every metric is there from the start' "${declared[@]}"

# ---- requests ----

grant=$(ask PUT secret-name 1 --json '{"ttl_ms":60000}' | jq -r .grant)
ask PUT secret-name 2 --json '{}' >/dev/null
ask POST secret-name 1 --json '{"ttl_ms":60000}' -H "Grant: $grant" >/dev/null
ask GET secret-name 1 >/dev/null
ask PUT secret-name 1 --json '{}' >/dev/null
curl -sS -m 60 "http://127.0.0.1:$tcp/v1/status" >/dev/null
curl -sS -m 60 -X PATCH "http://127.0.0.1:$tcp/" >/dev/null
shows 'requests by operation and status' \
    "value('requests_total', op='acquire', code='201') == 1" \
    "value('requests_total', op='acquire', code='423') == 1" \
    "value('requests_total', op='acquire', code='409') == 1" \
    "value('requests_total', op='renew', code='200') == 1" \
    "value('requests_total', op='look', code='200') == 1" \
    "value('requests_total', op='status', code='401') == 1" \
    "value('requests_total', op='none', code='405') == 1" \
    "value('requests_total', op='ready', code='200') >= 1" \
    "value('request_seconds_count', op='acquire') == 3" \
    "value('yours_total') == 1"
shows 'what is held' "value('leases', way='lease', state='held') == 1" \
    "value('leases', way='stream', state='held') == 0" "value('acquire_wait_seconds_count') == 1"

# ---- a wait, which its request lasts ----

begin PUT secret-name 3 --json '{"wait_ms":50000}'
waiter=$begun
that 'a request that waits' eventually judge "value('waiters') == 1" "value('leases', way='lease', state='waiting') == 1" \
    "value('connections', listener='unix:$socket') == 2" "value('connections', listener='127.0.0.1:$tcp') == 0"
begin PUT stream-name 4 -N --json '{"ttl_ms":60000}' -H 'Accept: text/event-stream'
stream=$begun
that 'a stream that holds' eventually judge "value('leases', way='stream', state='held') == 1"
begin PUT stream-name 5 -N --json '{"wait_ms":50000}' -H 'Accept: text/event-stream'
second=$begun
that 'a stream that waits' eventually judge "value('leases', way='stream', state='waiting') == 1" "value('waiters') == 2"
ask DELETE secret-name 1 -H "Grant: $grant"
wait "$waiter"
kill "$second"
wait "$second" 2>/dev/null
that 'none waits any more' eventually judge "value('waiters') == 0" "value('disconnected_waiters_total') == 1" \
    "value('requests_total', op='release', code='204') == 1"
shows 'held for as long as it was' "value('hold_seconds_count') == 1" "0 < value('hold_seconds_sum') < 600"

# ---- the end of others ----

mark=$(curl -sS --unix-socket "$socket" http://h/v1/locks/stream-name | jq -r '.holders[0].fingerprint')
curl -sS -o /dev/null --unix-socket "$socket" --json "{\"fingerprint\":\"$mark\"}" http://h/v1/breaks/stream-name
kill "$stream" # a broken stream hears of it at its next renewal, in 20 s
wait "$stream" 2>/dev/null
short=$(ask PUT brief-name 6 --json '{"ttl_ms":2000}' | jq -r .grant)
that 'a lease that was not released' eventually judge "value('expired_unreleased_total') == 1" "value('broken_total') == 1"
ask POST brief-name 6 --json '{}' -H "Grant: $short" >/dev/null
shows 'a renewal that comes too late' "value('requests_total', op='renew', code='410') == 1"
unlike 'no name of a lock is a label' "$(curl -sS --unix-socket "$socket" http://h/metrics)" '(secret|stream|brief)-name'
shows 'all of it is well-formed'
unnamed=
for name in $(curl -sS --unix-socket "$socket" http://h/metrics | sed -n 's/^# TYPE redlockd_\([a-z_]*\) .*/\1/p'); do
    grep -qE "(Li|,) $name( |\$)" "$here/../../man/redlockd.8" || unnamed+=" $name"
done
is 'redlockd(8) names all of them' "$unnamed" ''
if command -v promtool >/dev/null; then
    curl -sS --unix-socket "$socket" http://h/metrics >"$tmp/metrics"
    is '   promtool thinks so, too' "$(promtool check metrics <"$tmp/metrics" 2>&1)" ''
fi
stop
unlike 'no sanitizer complains' "$(cat "$tmp/log")" 'Sanitizer|runtime error'
done_testing
