#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The profile `correctness` of the service, from its redlock.conf.
. "$(dirname "$0")/lib.bash" "$@"
needs curl jq
inside_dev 3 "$@"
printf '%s\n' "nodes = $REDLOCK_NODES" 'node-timeout = 3s' 'profile = correctness' >"$tmp/nodes"
printf '%s\n' "quorum-config = $tmp/nodes" "allow = uid:$(id -u) * acquire,read,admin" >"$tmp/conf"
nodes=$REDLOCK_NODES
unset REDLOCK_NODES
start --config "$tmp/conf"
REDLOCK_NODES=$nodes
eventually ready
new_id
http PUT /v1/locks/x "$id" -d '{"ttl_ms":60000}'
is 'a lease has a token' "$code $(field 'fence > 0')" '201 true'
new_id
http PUT /v1/locks/y "$id" -d '{"kind":"shared"}'
like 'a shared lock is refused, with what to do' "$code $body" '^4.*no fencing token: use a mutex'
http GET /v1/status ''
is 'the status has the profile' "$(field 'quorums[0].profile')" correctness
like '   and the promise in a line' "$(field 'quorums[0].guarantee')" '^one holder; .*every lock has a token$'
stop
is 'it ends well' "$status" 0
done_testing
