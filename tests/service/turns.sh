#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# As turns.py, by curl.
set -eu
for turn in 0 1 2 3 4; do
    here=$FIRST there=$SECOND
    [ $((turn % 2)) = 0 ] || here=$SECOND there=$FIRST
    asks=(curl -sS -f -m 60 -H "Lease-Id: $(openssl rand -hex 16)" -H "Authorization: Bearer $TOKEN"
        -H 'Content-Type: application/json')
    held=$("${asks[@]}" -X PUT -d '{"ttl_ms":30000,"wait_ms":50000}' "$here/v1/locks/$LOCK")
    asks+=(-H "Grant: $(jq -re .grant <<<"$held")")
    fence=$(jq -re .fence <<<"$held")
    number=$(<"$NUMBER")
    echo $((number + 1)) >"$NUMBER"
    echo "$fence" >>"$FENCES"
    "${asks[@]}" -X POST -d '{"ttl_ms":20000}' "$there/v1/locks/$LOCK" | jq -e ".fence == $fence" >/dev/null
    "${asks[@]}" -X DELETE "$there/v1/locks/$LOCK"
done
echo fine
