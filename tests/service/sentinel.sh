#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# redlockd on one Sentinel group: what it says of it, and of breaks and releases, which a failover may undo.
. "$(dirname "$0")/lib.bash" "$@"
needs curl jq
if [ -z "${REDLOCK_DEV:-}" ]; then
    rm -rf "$tmp"
    exec "$redlock" dev --sentinel -- bash "$0" "$@"
fi
unhurried
start --allow "uid:$(id -u) * acquire,read,break,admin"
eventually ready
http GET /v1/status ''
is 'what it is, in a line' "$(field 'quorums[0].deployment')" 'a Sentinel group with 3 sentinels'
like '   and what it promises' "$(field 'quorums[0].guarantee')" '^one holder, through any failover'
is '   the group, with its sentinels' "$(field 'nodes[0] | .deployment, .vouchers, (.sentinels | length), .sentinels[0].counts' | paste -sd,)" \
    sentinel,3,3,true
new_id
http PUT /v1/locks/one "$id" -d '{"ttl_ms":30000}'
is 'a lock' "$code" 201
mark=$(curl -sS -m 60 --unix-socket "$socket" http://h/v1/locks/one | jq -r '.holders[0].fingerprint')
http POST /v1/breaks/one '' -d "{\"fingerprint\":\"$mark\"}"
is 'a break is done, and says when it is final' "$code:$(field final):$(field final_ms)" 200:false:64000
new_id
http PUT /v1/locks/two "$id" -d '{"ttl_ms":30000}'
grant=$(field grant)
headers=$(curl -sS -m 60 -o /dev/null -D - --unix-socket "$socket" -X DELETE -H "Lease-Id: $id" -H "Grant: $grant" http://h/v1/locks/two)
like 'a release, which another may undo by renewing, does too' "$headers" '^HTTP/1.1 204'
like '   in a header' "$headers" '^Redlock-Final-Ms: 64000'
"$redlock" dev failover >/dev/null
quarantined() {
    http GET /v1/nodes ''
    [ "$(field 'nodes[0].quarantined')" = true ] && [ "$(field 'nodes[0].quarantine_ms')" != null ]
}
eventually quarantined
like 'after a failover: why it does not vote, and until when' "$(field 'nodes[0].text')" 'another master, .* may vote in [0-9]+ s'
between '   as a number' "$(field 'nodes[0].quarantine_ms')" 30000 64000
stop
done_testing
