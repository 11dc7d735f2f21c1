#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# HUP: rules and tokens are read again, all or nothing; what was begun by rights that are gone ends; what
# must not change while the daemon runs does not.
. "$(dirname "$0")/lib.bash" "$@"
needs curl jq sha256sum
inside_dev 3 "$@"
unhurried
me=$(id -u)
nodes=$REDLOCK_NODES
echo "nodes = $nodes" >"$tmp/nodes"
unset REDLOCK_NODES

configure() { # the rules, one per line
    {
        echo "quorum-config = $tmp/nodes"
        echo "tokens = $tmp/tokens"
        printf 'allow = %s\n' "$@"
    } >"$tmp/conf"
}
# code TOKEN METHOD PATH [CURL-ARGUMENT...]: with an empty token on the unix socket, with one on TCP.
code() {
    local token=$1 method=$2 path=$3
    shift 3
    local way=(--unix-socket "$socket" "http://h$path")
    [ -z "$token" ] || way=(-H "Authorization: Bearer $token" "http://127.0.0.1:$tcp$path")
    curl -sS -m 60 -o "$tmp/body" -w '%{http_code}' -X "$method" \
        -H "Lease-Id: lease-of-$(cat /proc/sys/kernel/random/uuid)" -H 'Content-Type: application/json' "$@" "${way[@]}"
}
# hup PATTERN: HUP, and the log says so from then on.
news() { tail -n "+$seen" "$tmp/log"; }
says() { news | grep -qE "$1"; }
hup() {
    seen=$(($(wc -l <"$tmp/log") + 1))
    kill -HUP "$pid"
    that "HUP: $1" eventually says "$1"
}
waiters() { code '' GET /metrics >/dev/null && sed -n 's/^redlockd_waiters //p' "$tmp/body"; }
has_waiters() { [ "$(waiters)" = "$1" ]; }

cat >"$tmp/tokens" <<END
ci $(digest secret-of-ci)
old $(digest secret-of-old)
END
configure "uid:$me * acquire,read,admin" 'token:ci ci/ acquire' 'token:old ci/ acquire'
start --config "$tmp/conf"
is 'a token with a rule acquires' "$(code secret-of-ci PUT /v1/locks/ci/a -d '{}')" 201

# ---- broken files ----

configure "uid:$me * acquire,read,admin" 'token:ci ci/ aquire'
hup "not reloaded, nothing has changed: $tmp/conf:4: allow: rights are acquire"
is '   the rules are as they were' "$(code secret-of-ci PUT /v1/locks/ci/b -d '{}')" 201
echo 'conections = 7' >>"$tmp/conf"
hup "not reloaded, nothing has changed: $tmp/conf:5: unknown key 'conections'"
configure "uid:$me * read,admin"
echo 'ci secret-by-mistake' >>"$tmp/tokens"
hup "not reloaded, nothing has changed: $tmp/conf:2: $tmp/tokens:3: expected NAME and the SHA-256"
unlike '   which is not repeated' "$(news)" 'mistake'
is '   good rules beside it are not taken either' "$(code '' PUT /v1/locks/own -d '{}')" 201
cat >"$tmp/whole" <<END
ci $(digest secret-of-ci)
old $(digest secret-of-old)
END
: >"$tmp/tokens"
hup "not reloaded, nothing has changed: $tmp/conf:2: tokens: $tmp/tokens: there is no token in it: to have none"
is '   an empty file takes no token away' "$(code secret-of-ci PUT /v1/locks/ci/empty -d '{}')" 201
cp "$tmp/whole" "$tmp/tokens"
chmod go+w "$tmp/conf"
hup "not reloaded, nothing has changed: $tmp/conf: others can write to it"
chmod go-w "$tmp/conf"
rm "$tmp/conf"
hup "not reloaded, nothing has changed: $tmp/conf: cannot be read"
is '   and it serves' "$(code secret-of-ci PUT /v1/locks/ci/c -d '{}')" 201

# ---- waits of rights that are gone ----

for token in ci old; do
    code "secret-of-$token" PUT "/v1/locks/ci/$token" -d '{"ttl_ms":60000}' >/dev/null
done
# wait_for NAME TOKEN LOCK: a PUT in the background, whose status and answer go into files.
wait_for() {
    local way=(--unix-socket "$socket" "http://h/v1/locks/$3")
    [ -z "$2" ] || way=(-H "Authorization: Bearer $2" "http://127.0.0.1:$tcp/v1/locks/$3")
    curl -sS -m 60 -o "$tmp/$1.body" -w '%{http_code}' -X PUT -H "Lease-Id: waits-in-the-reload-test-$1" \
        -H 'Content-Type: application/json' -d '{"wait_ms":50000}' "${way[@]}" >"$tmp/$1.status" &
}
wait_for kept '' ci/ci
kept=$!
wait_for ruled secret-of-ci ci/ci
ruled=$!
wait_for revoked secret-of-old ci/old
revoked=$!
that 'three requests wait' eventually has_waiters 3
# One loses its rule, one its token; the digest of a name that stays counts.
cat >"$tmp/tokens" <<END
ci $(digest secret-of-ci)
old $(digest another-secret-of-old)
END
configure "uid:$me * acquire,read,admin" 'token:ci other/ acquire' 'token:old ci/ acquire'
hup 'reloaded: 3 rules, 2 tokens'
wait "$ruled"
is 'a wait without a rule ends' "$(cat "$tmp/ruled.status") $(jq -r .code <"$tmp/ruled.body")" \
    '403 FORBIDDEN'
wait "$revoked"
is 'a wait whose token was replaced ends' "$(cat "$tmp/revoked.status")" 403
that '   the third goes on' eventually has_waiters 1
is 'the old token is wrong now' "$(code secret-of-old PUT /v1/locks/ci/d -d '{}')" 401
is '   the new one of its name is right' "$(code another-secret-of-old PUT /v1/locks/ci/d -d '{}')" 201
is 'the new rule counts' "$(code secret-of-ci PUT /v1/locks/other/a -d '{}')" 201
is '   and the old one does not' "$(code secret-of-ci PUT /v1/locks/ci/e -d '{}')" 403
kill "$kept" && wait "$kept" 2>/dev/null
that 'a waiter that goes is out' eventually has_waiters 0

# ---- tokens that end ----

cat >"$tmp/tokens" <<END
ci $(digest secret-of-ci) 2021-01-01
ci $(digest next-secret-of-ci) 2099-12-31
END
hup 'reloaded: 3 rules, 2 tokens'
is 'a token that has ended is wrong' "$(code secret-of-ci PUT /v1/locks/other/b -d '{}')" 401
is '   another of its name is right' "$(code next-secret-of-ci PUT /v1/locks/other/b -d '{}')" 201

# ---- what is fixed ----

echo "nodes = 127.0.0.1:1,127.0.0.1:2,127.0.0.1:3" >"$tmp/nodes"
printf 'prefix = moved:\nmax-ttl = 5m\n' >>"$tmp/nodes"
echo 'names = utf8' >>"$tmp/conf"
hup 'reloaded: 3 rules'
for key in nodes prefix max-ttl names; do
    like "   $key differs: told, and not changed" "$(news)" \
        "^redlockd: $key has changed: it is read at the start only"
done
is '   locks live where they did' "$(code '' PUT /v1/locks/ci/d -d '{}')" 423
stop
is 'TERM ends it' "$status" 0

# ---- another set of nodes than their markers name ----

echo "nodes = ${nodes%%,*}" >"$tmp/nodes"
start --config "$tmp/conf"
guarded() { [ "$(curl -s -m 60 --unix-socket "$socket" http://h/readyz | jq -r .code)" = GUARDED ]; }
that 'a replica with other nodes is not ready' eventually guarded
is '   and grants nothing' "$(code '' PUT /v1/locks/free -d '{}') $(jq -r .code "$tmp/body")" '503 GUARDED'
stop

# ---- the longest TTL, by the environment ----

echo "nodes = $nodes" >"$tmp/nodes"
"$redlock" init --yes -q --force --nodes "$nodes" --max-ttl 20s
export REDLOCK_MAX_TTL=20s
start --config "$tmp/conf"
that 'a replica with the longest TTL of its nodes is ready' eventually ready
is '   a TTL that is left open is no longer' "$(code '' PUT /v1/locks/ci/open -d '{}') $(jq .ttl_ms "$tmp/body")" '201 20000'
is '   one that is longer is refused' "$(code '' PUT /v1/locks/ci/long -d '{"ttl_ms":20001}')" 422
stop
unlike 'no secret is in the log' "$(cat "$tmp/log")" 'secret|lease-of|waits-in'
unlike 'no sanitizer complains' "$(cat "$tmp/log")" 'Sanitizer|runtime error'
done_testing
