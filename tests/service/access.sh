#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Who may do what: rules, tokens, and what a principal without a right is told.
. "$(dirname "$0")/lib.bash" "$@"
needs curl jq sha256sum
if [ -z "${REDLOCK_DEV:-}" ]; then
    rm -rf "$tmp"
    unset REDLOCK_NODES
    exec "$(dirname "$redlockd")/redlock" dev -n 3 -- bash "$0" "$@"
fi
unhurried
digest() { printf '%s' "$1" | sha256sum | cut -d ' ' -f 1; }
cat >"$tmp/tokens" <<END
# comment
ci $(digest secret-of-ci)
viewer $(digest secret-of-viewer)
END
me=$(id -u)

# ---- the settings ----

bad() { # WHAT PATTERN OPTION...
    local what=$1 pattern=$2
    shift 2
    try "$redlockd" --check --listen "unix:$socket" "$@"
    expect "$what" 64 "$pattern"
}
bad 'a rule of two words' 'expected PRINCIPAL NAME RIGHTS' --allow 'uid:1 acquire'
bad 'a rule of four words' 'caps are leases=N' --allow 'uid:1 a acquire read'
bad 'a right that does not exist' 'rights are acquire' --allow 'uid:1 a acquire,reed'
bad 'a principal that does not exist' 'uid:NUMBER, gid:NUMBER, cert:NAME or token:NAME' --allow 'root a acquire'
bad 'admin of some names' 'admin is for all names' --allow 'uid:1 a/ admin'
bad 'a file of tokens that is not there' 'cannot be read' --tokens "$tmp/missing"
echo 'ci secret-in-the-clear' >"$tmp/clear"
bad 'a token in the clear' 'clear:1: expected NAME and the SHA-256' --tokens "$tmp/clear"
unlike '   is not repeated' "$err" 'secret-in-the-clear'
try "$redlockd" --check --listen "unix:$socket" --tokens "$tmp/tokens" --allow 'token:ci * acquire'
expect 'good ones' 0

# ---- the rights ----

start --tokens "$tmp/tokens" --allow "uid:$me own/ acquire,read,break" --allow "uid:$me * read" \
    --allow 'token:ci ci/secret read' --allow 'token:ci ci/ acquire' --allow 'token:ci one acquire' \
    --allow 'token:viewer * read,admin'
lease=0
# may WHAT STATUS TOKEN METHOD PATH [BODY]: without a token on the unix socket, with one on TCP.
may() {
    local what=$1 status=$2 token=$3 method=$4 path=$5
    local way=(--unix-socket "$socket" "http://h$path")
    [ -z "$token" ] || way=(-H "Authorization: Bearer $token" "http://127.0.0.1:$tcp$path")
    lease=$((lease + 1))
    is "$what" "$(curl -sS -m 60 -o "$tmp/body" -w '%{http_code}' -X "$method" \
        -H "Lease-Id: lease-of-the-access-test-$lease" -H 'Content-Type: application/json' \
        ${6:+-d "$6"} "${way[@]}")" "$status"
    body=$(cat "$tmp/body")
}
may 'a uid with a rule acquires' 201 '' PUT /v1/locks/own/a '{"label":"mine"}'
may '   not outside of its prefix' 403 '' PUT /v1/locks/other '{}'
may '   nor what begins with the same letters' 403 '' PUT /v1/locks/own '{}'
may '   and reads everything' 200 '' GET /v1/locks/other
may '   but is no admin' 403 '' GET /metrics
may 'a token acquires below its prefix' 201 secret-of-ci PUT /v1/locks/ci/build '{"label":"robot 7"}'
may '   and its one name' 201 secret-of-ci PUT /v1/locks/one '{}'
may '   and no longer one' 403 secret-of-ci PUT /v1/locks/one/more '{}'
may '   the first rule that fits decides' 403 secret-of-ci PUT /v1/locks/ci/secret '{}'
may '   it does not read' 403 secret-of-ci GET /v1/locks/ci/build
may '   nor break' 403 secret-of-ci DELETE '/v1/locks/ci/build?break=0'
may '   who is in its way is not told' 423 secret-of-ci PUT /v1/locks/ci/build '{}'
unlike '      in no field' "$body" 'robot'
may '   its list has only what it may read' 200 secret-of-ci GET /v1/locks
is '      which is not there' "$(jq -c .names <<<"$body")" '[]'
may 'a viewer sees all names' 200 secret-of-viewer GET /v1/locks
is '   all of them' "$(jq -c .names <<<"$body")" '["ci/build","one","own/a"]'
may '   and the metrics' 200 secret-of-viewer GET /metrics
may '   but acquires nothing' 403 secret-of-viewer PUT /v1/locks/own/b '{}'
may 'a wrong token' 401 secret-of-nobody PUT /v1/locks/ci/x '{}'
may 'a token that only begins right' 401 secret-of-c PUT /v1/locks/ci/x '{}'
is 'no token on TCP' "$(curl -sS -m 20 -o /dev/null -w '%{http_code}' "http://127.0.0.1:$tcp/v1/locks")" 401
is 'a wrong token on the unix socket is not made up for by the uid' "$(curl -sS -m 20 -o /dev/null \
    -w '%{http_code}' -H 'Authorization: Bearer x' --unix-socket "$socket" http://h/v1/locks)" 401
is 'health needs no right' "$(curl -sS -m 20 -o /dev/null -w '%{http_code}' \
    "http://127.0.0.1:$tcp/livez")" 200
stop
is 'TERM ends it' "$status" 0
unlike 'no secret is in the log' "$(cat "$tmp/log")" 'secret|lease-of'
unlike 'no sanitizer complains' "$(cat "$tmp/log")" 'Sanitizer|runtime error'
done_testing
