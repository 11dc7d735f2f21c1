#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# GET /v1/leaders/NAME: term and label of the leader, polls for the next term, and "do I lead?" by lease id.
. "$(dirname "$0")/lib.bash" "$@"
needs curl jq sha256sum
inside_dev 3 "$@"
unhurried
printf '%s %s\n' pods "$(digest secret-of-pods)" reader "$(digest secret-of-reader)" >"$tmp/tokens"
cat >"$tmp/conf" <<END
tokens = $tmp/tokens
allow = uid:$(id -u) * acquire,read,break,admin
allow = token:pods jobs/ acquire
allow = token:reader jobs/ read
END
start --config "$tmp/conf" --drain 5
eventually ready
leader=/v1/leaders/jobs/a
as_pod=(-H 'Authorization: Bearer secret-of-pods')

http GET $leader ''
is 'without a leader the answer is null' "$code $(jq -c . <<<"$body")" \
    '200 {"name":"jobs/a","term":null,"label":null,"remaining_ms":null}'

# poll FILE QUERY [CURL-ARGUMENT...]: in the background; $begun is its number.
poll() {
    curl -sS -m 60 --unix-socket "$socket" "${@:3}" "http://h$leader$2" >"$tmp/$1" &
    begun=$!
}
answered() { [ -s "$tmp/$1" ]; }
polling() { [ "$(curl -s --unix-socket "$socket" http://h/metrics | sed -n 's/^redlockd_leader_polls //p')" = "$1" ]; }
told() { jq -r ".$2" "$tmp/$1"; }

poll elected '?term=0'
that 'a poll waits' eventually polling 1
new_id
first=$id
http PUT /v1/locks/jobs/a "$first" "${as_pod[@]}" --json '{"label":"web1:8080"}'
fence=$(field fence)
wait "$begun"
is 'a poll with term=0 waits until there is a leader' "$(told elected term) $(told elected label)" "$fence web1:8080"
http GET $leader '' -H 'Authorization: Bearer secret-of-reader'
is 'the term is the fence of the holder' "$code $(field term) $(field label) $(field leads)" "200 $fence web1:8080 null"
is '   with what is left of its time' "$(jq '.remaining_ms > 0 and .remaining_ms <= 30000' "$tmp/body")" true

# ---- do I lead? ----

http GET $leader "$first" "${as_pod[@]}"
is 'the lease id of the holder leads' "$code $(field leads) $(field term)" "200 true $fence"
new_id
http GET $leader "$id" "${as_pod[@]}"
is 'another of the same principal does not' "$code $(field leads) $(field term)" "200 false $fence"
http GET $leader '' "${as_pod[@]}"
is 'the right to acquire does not read without a lease id' "$code $(field code)" '403 FORBIDDEN'
http GET $leader "$first" -H 'Authorization: Bearer secret-of-reader'
is 'nor the right to read with one' "$code $(field code)" '403 FORBIDDEN'
http GET $leader short
is 'a lease id has 22 characters' "$code $(field code)" '400 LEASE_ID'

# Another replica knows the lease from the nodes alone.
"$redlockd" --drain 0 --config "$tmp/conf" --listen "unix:$tmp/other" 2>"$tmp/other.log" &
other=$!
eventually ready "$tmp/other"
is 'another replica answers from the nodes' \
    "$(curl -sS -m 60 --unix-socket "$tmp/other" -H "Lease-Id: $first" "http://h$leader" | jq -c '[.leads, .term]')" \
    "[true,$fence]"

# ---- a new term ----

http GET "$leader?term=$fence&wait_ms=1000" ''
is 'a poll ends with its wait' "$code $(field term)" "200 $fence"
poll deposed "?term=$fence"
ended=$begun
curl -sS -m 60 --unix-socket "$tmp/other" "http://h$leader?term=$fence" >"$tmp/elsewhere" &
elsewhere=$!
that 'a poll for the next term waits' eventually polling 1
http DELETE /v1/locks/jobs/a "$first" "${as_pod[@]}"
wait "$ended" "$elsewhere"
is 'a leader that resigns ends it' "$(told deposed term)" null
is '   and that of another replica' "$(told elsewhere term)" null
kill "$other"
wait "$other"
http GET $leader "$first" "${as_pod[@]}"
is 'what has resigned does not lead' "$(field leads)" false
new_id
http PUT /v1/locks/jobs/a "$id" "${as_pod[@]}" --json '{"label":"web2:8080","ttl_ms":2000}'
next=$(field fence)
that 'the next term is larger' [ "$next" -gt "$fence" ]
http GET $leader "$id" "${as_pod[@]}"
is '   and its candidate leads' "$(field leads)" true
http GET "$leader?term=$next" ''
is 'a leader that dies is missed when its lease is over' "$code $(field term)" '200 null'
http GET $leader "$id" "${as_pod[@]}"
is '   and does not lead' "$(field leads)" false

# A lock that several hold has no leader, nor has one without a token.
new_id
http PUT /v1/locks/jobs/shared "$id" --json '{"kind":"shared"}'
http GET /v1/leaders/jobs/shared "$id"
is 'a shared lock has no leader' "$(field term) $(field leads)" 'null false'
new_id
http PUT /v1/locks/jobs/plain "$id" --json '{"fenced":false}'
http GET /v1/leaders/jobs/plain "$id"
is 'nor has a lock without a token' "$(field term) $(field leads)" 'null false'

# ---- what is refused ----

for query in 'term=' 'term=x' 'term=-1' 'term=1&wait_ms=50001' 'wait_ms=1' 'term=1&term=2' 'x=1'; do
    http GET "$leader?$query" ''
    is "?$query" "$code $(field code)" '400 QUERY'
done
http POST $leader '' --data '{}'
is 'a leader is read, not made' "$code" 405
http GET /v1/leaders/a//b ''
is 'a name that is none' "$code $(field code)" '400 NAME'
is 'no principal, no leader' "$(curl -sS -m 60 "http://127.0.0.1:$tcp$leader" | jq -r .code)" UNAUTHORIZED

# ---- polls that end otherwise ----

poll dropped '?term=0' -H 'Authorization: Bearer secret-of-reader'
gone=$begun
that 'a poll of a reader waits' eventually polling 1
kill "$gone"
wait "$gone" 2>/dev/null
that 'a client that goes leaves no poll' eventually polling 0
poll forbidden '?term=0' -H 'Authorization: Bearer secret-of-reader'
that 'another waits' eventually polling 1
sed -i '/token:reader/d' "$tmp/conf"
kill -HUP "$pid"
eventually grep -q 'reloaded:' "$tmp/log"
new_id
http PUT /v1/locks/jobs/a "$id" "${as_pod[@]}" --json '{}'
wait "$begun"
is 'a poll whose right has ended is told nothing' "$(told forbidden code)" FORBIDDEN
poll drained "?term=$(field fence)"
that 'a poll waits for the next term' eventually polling 1
kill -TERM "$pid"
wait "$begun"
is 'TERM answers it' "$(told drained label)" token:pods
kill -TERM "$pid"
status=0
wait "$pid" || status=$?
unlike 'no sanitizer complains' "$(cat "$tmp/log")" 'Sanitizer|runtime error'

# ---- a majority, or no answer ----

start --config "$tmp/conf"
eventually ready
new_id
http PUT /v1/locks/jobs/b "$id" --json '{"ttl_ms":60000}'
is 'a candidate is elected' "$code" 201
"$redlock" dev kill 1 >/dev/null
"$redlock" dev kill 2 >/dev/null
http GET /v1/leaders/jobs/b "$id"
is 'without a majority no candidate leads, whatever this replica knows' "$code $(field code)" '503 NOQUORUM'
http GET '/v1/leaders/jobs/b?term=0&wait_ms=1000' "$id"
is '   and a poll waits for one until its end' "$code $(field code)" '503 NOQUORUM'
stop
unlike 'no lease id is told' "$(cat "$tmp/log" "$tmp/elected" "$tmp/body")" 'lease-0'
unlike 'no sanitizer complains' "$(cat "$tmp/log")" 'Sanitizer|runtime error'
done_testing
