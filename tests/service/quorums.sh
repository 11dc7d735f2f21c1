#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Several quorums behind one daemon: each lock lives in one, and one that is down takes only its locks.
. "$(dirname "$0")/lib.bash" "$@"
needs curl jq
inside_dev "3 --quorums 2" "$@"
unhurried
start
answer() { curl -sS -m 60 --unix-socket "$socket" "$@"; }
# take NAME K: the status of a PUT with the K-th lease.
take() {
    answer -o "$tmp/body" -w '%{http_code}' -X PUT -H "Lease-Id: lease-of-the-quorums-test-$2" \
        -H 'Content-Type: application/json' -d '{"wait_ms":5000}' "http://h/v1/locks/$1"
}
ready() { [ "$(answer -o /dev/null -w '%{http_code}' http://h/readyz)" = "$1" ]; }
that 'ready when a majority of both votes' eventually ready 200
verdicts() {
    [ "$(answer http://h/v1/status |
        jq -r '.quorums | map("\(.name) \(.voting)/\(.nodes)") | join(", ")')" = 'q1 3/3, q2 3/3' ]
}
that 'status: two verdicts' eventually verdicts

# One name in each.
for i in $(seq 100); do
    home=$("$redlock" nodes --where "name$i" | sed -n 's/.*: quorum //p')
    declare "in_$home=name$i"
    [ -n "${in_q1:-}" ] && [ -n "${in_q2:-}" ] && break
done
is 'a lock of the first quorum' "$(take "$in_q1" 1)" 201
is 'a lock of the second' "$(take "$in_q2" 2)" 201
is 'the list has both' "$(answer http://h/v1/locks | jq '.names | length')" 2
is 'a lease of the second is released by its tag' "$(answer -o /dev/null -w '%{http_code}' -X DELETE \
    -H 'Lease-Id: lease-of-the-quorums-test-2' "http://h/v1/locks/$in_q2")" 204

"$redlock" dev kill 1 && "$redlock" dev kill 2
that 'without a majority of the first it is not ready' eventually ready 503
is '   and says which' "$(answer 'http://h/readyz?verbose' |
    jq -r '.code + " " + (.quorums | map("\(.name) \(.voting)/\(.needed)") | join(", "))')" \
    'NOQUORUM q1 1/2, q2 3/2'
is '   its locks are 503' "$(take "$in_q1" 3)" 503
is '   with our code' "$(jq -r .code "$tmp/body")" NOQUORUM
is '   those of the second are granted' "$(take "$in_q2" 4)" 201
is '   and livez does not care' "$(answer -o /dev/null -w '%{http_code}' http://h/livez)" 200
stop
is 'TERM ends it' "$status" 0
unlike 'no sanitizer complains' "$(cat "$tmp/log")" 'Sanitizer|runtime error'
done_testing
