#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# redlockd on one cluster: its votes and what it says of them, a lock through a failover, and of breaks when they are final.
. "$(dirname "$0")/lib.bash" "$@"
needs curl jq
if [ -z "${REDLOCK_DEV:-}" ]; then
    server=${REDLOCK_SERVER:-$(command -v redis-server || command -v valkey-server)}
    "$server" --port 0 --cluster-port 1 --bind-source-addr 127.0.0.1 --test-of-directives 2>&1 | grep -q 'test-of-directives' ||
        skip 'this server has no cluster-port (before 7.0)'
    rm -rf "$tmp"
    exec "$redlock" dev --cluster -- bash "$0" "$@"
fi
unhurried
start --allow "uid:$(id -u) * acquire,read,break,admin"
eventually ready
http GET /v1/status ''
like 'what it promises' "$(field 'quorums[0].guarantee')" '^one holder, through any failover'
is '   three votes of the cluster' "$(field 'nodes | map(.deployment) | join(",")')" cluster,cluster,cluster
new_id
http PUT /v1/locks/one "$id" -d '{"ttl_ms":30000}'
is 'a lock' "$code" 201
first=$(field fence)
new_id
http PUT /v1/locks/one "$id" -d '{"ttl_ms":30000}'
is '   that excludes another lease' "$code" 423
mark=$(curl -sS -m 60 --unix-socket "$socket" http://h/v1/locks/one | jq -r '.holders[0].fingerprint')
http POST /v1/breaks/one '' -d "{\"fingerprint\":\"$mark\"}"
is 'a break is done, and says when it is final' "$code:$(field final):$(field final_ms)" 200:false:64000
new_id
http PUT /v1/locks/one "$id" -d '{"ttl_ms":30000}'
that 'the next token is larger' [ "$(field fence)" -gt "$first" ]
"$redlock" dev failover v1 >/dev/null
quarantined() {
    http GET /v1/nodes ''
    [ "$(field 'nodes | map(select(.quarantined)) | length')" = 1 ]
}
that 'after a failover one vote is in quarantine' eventually quarantined
new_id
http PUT /v1/locks/two "$id" -d '{"ttl_ms":30000}'
is '   and locks go on' "$code" 201
stop
done_testing
