#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Who may do what: rules, tokens, and what a principal without a right is told.
. "$(dirname "$0")/lib.bash" "$@"
needs curl jq sha256sum
inside_dev 3 "$@"
unhurried
cat >"$tmp/tokens" <<END
# comment
ci $(digest secret-of-ci)
viewer $(digest secret-of-viewer)
blind $(digest secret-of-blind)
stranger $(digest secret-of-stranger)
END
me=$(id -u)

# ---- the settings ----

bad() { # WHAT PATTERN OPTION...
    local what=$1 pattern=$2
    shift 2
    try "$redlockd" --check --listen "unix:$socket" "$@"
    expect "$what" 78 "$pattern"
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

start --tokens "$tmp/tokens" --audit "$tmp/audit" --allow "uid:$me own/ acquire,read,break" --allow "uid:$me * read" \
    --allow 'token:ci ci/secret read' --allow 'token:ci ci/ acquire' --allow 'token:ci one acquire' \
    --allow 'token:viewer * read,admin' --allow 'token:blind * acquire'
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
may '   nor break' 403 secret-of-ci POST /v1/breaks/ci/build '{}'
may '   who is in its way is not told' 423 secret-of-ci PUT /v1/locks/ci/build '{}'
unlike '      in no field' "$body" 'robot'
may '   its list has only what it may read' 200 secret-of-ci GET /v1/locks
is '      which is not there' "$(jq -c .names <<<"$body")" '[]'
may 'a viewer sees all names' 200 secret-of-viewer GET /v1/locks
is '   all of them' "$(jq -c .names <<<"$body")" '["ci/build","one","own/a"]'
may '   and the metrics' 200 secret-of-viewer GET /metrics
may '   and the nodes in the status' 200 secret-of-viewer GET /v1/status
is '      as admin' "$(jq -c '[.admin, .principal, (.nodes | length > 0)]' <<<"$body")" '[true,"token:viewer",true]'
may 'the status without the right admin' 200 secret-of-ci GET /v1/status
is '   has no nodes' "$(jq -c '[.admin, .nodes]' <<<"$body")" '[false,null]'
for path in /v1/status /v1/locks /v1/events; do
    may "$path for a token that reads nothing" 403 secret-of-blind GET "$path"
    may "   and for one without any rule" 403 secret-of-stranger GET "$path"
done
stranger_is_denied() { [ "$(grep -c '"denied".*"token:stranger".*"FORBIDDEN".*/v1/' "$tmp/audit")" = 3 ]; }
that '   which is in the audit log' eventually stranger_is_denied
is_slowed() {
    [ "$(curl -sS -m 60 -o /dev/null -w '%{http_code}' -H 'Authorization: Bearer secret-of-stranger' -X DELETE \
        -H 'Lease-Id: lease-of-the-access-test-stranger' "http://127.0.0.1:$tcp/v1/locks/[1-60]" | tail -c 3)" = 429 ]
}
that '   and may not even ask for long' eventually is_slowed
may '   while others may' 200 secret-of-viewer GET /v1/locks
may 'the quorums are for those who may look' 200 secret-of-ci GET '/readyz?verbose'
is '   such as readers' "$(jq -c 'has("quorums")' <<<"$body")" true
may '   others are told that it is ready' 200 secret-of-blind GET '/readyz?verbose'
is '   and no more' "$(jq -c . <<<"$body")" '{"status":"ready"}'
may '   but acquires nothing' 403 secret-of-viewer PUT /v1/locks/own/b '{}'
is 'the scheme may be written in small letters' "$(curl -sS -m 60 -o /dev/null -w '%{http_code}' \
    -H 'Authorization: bearer secret-of-viewer' "http://127.0.0.1:$tcp/v1/locks")" 200
may 'a wrong token' 401 secret-of-nobody PUT /v1/locks/ci/x '{}'
is '   is told so' "$(jq -r .detail <<<"$body")" 'this token is not known here, or its day is over'
may 'a token that only begins right' 401 secret-of-c PUT /v1/locks/ci/x '{}'
is 'no token on TCP' "$(curl -sS -m 60 -o "$tmp/body" -w '%{http_code}' "http://127.0.0.1:$tcp/v1/locks")" 401
is '   is told what to send' "$(jq -r .detail "$tmp/body")" 'send a bearer token, or use the unix socket'
is 'a wrong token on the unix socket is not made up for by the uid' "$(curl -sS -m 60 -o /dev/null \
    -w '%{http_code}' -H 'Authorization: Bearer x' --unix-socket "$socket" http://h/v1/locks)" 401
is 'two tokens are none' "$(curl -sS -m 60 -o /dev/null -w '%{http_code}' -H 'Authorization: Bearer secret-of-ci' \
    -H 'Authorization: Bearer secret-of-ci' "http://127.0.0.1:$tcp/v1/locks")" 401
is 'health needs no right' "$(curl -sS -m 60 -o /dev/null -w '%{http_code}' \
    "http://127.0.0.1:$tcp/livez")" 200

# ---- who is in the way ----

may 'a reader that is refused is told the holder' 423 '' PUT /v1/locks/own/a '{}'
mark=$(jq -r .holder.fingerprint <<<"$body")
is '   its label' "$(jq -r .holder.label <<<"$body")" mine
may '   and its fingerprint, by which GET names it, too' 200 '' GET /v1/locks/own/a
is '      the same' "$(jq -r '.holders[0].fingerprint' <<<"$body")" "$mark"
may 'a holder without a label' 201 '' PUT /v1/locks/own/unnamed '{}'
may '   has the name of its principal' 423 '' PUT /v1/locks/own/unnamed '{}'
is '      which proves more than a label' "$(jq -r .holder.label <<<"$body")" "uid:$me"
while read -r name holder other; do
    may "a holder: $holder" 201 '' PUT "/v1/locks/own/$name" "$holder"
    may '   is in the way' 423 '' PUT "/v1/locks/own/$name" "$other"
    mark=$(jq -r .holder.fingerprint <<<"$body")
    may '   and is broken by the fingerprint of that answer' 200 '' POST "/v1/breaks/own/$name" "{\"fingerprint\":\"$mark\"}"
done <<'END'
shared {"kind":"shared","label":"reader"} {}
slots {"kind":"semaphore","slots":1,"label":"slot"} {"kind":"semaphore","slots":1}
owner {"kind":"reentrant","owner":"me"} {"kind":"reentrant","owner":"you"}
END

# ---- nodes are for those who may read ----

"$redlock" dev hang 1 >/dev/null
"$redlock" dev hang 2 >/dev/null
may 'too few nodes' 503 '' PUT /v1/locks/own/few '{}'
like '   a reader is told what each said' "$body" '"nodes":\[\{"address":"'
may '   a token that may only acquire' 503 secret-of-blind PUT /v1/locks/few '{}'
unlike '      no address' "$body" 'nodes"|127.0.0.1|redis'
is '      but the code' "$(jq -r .code <<<"$body")" NOQUORUM
may '   an admin' 503 secret-of-viewer GET /v1/locks/few
"$redlock" dev resume 1 >/dev/null
"$redlock" dev resume 2 >/dev/null
stop
is 'TERM ends it' "$status" 0
unlike 'no secret is in the log' "$(cat "$tmp/log" "$tmp/audit")" 'secret-of|lease-of'

# ---- without rules, and by group ----

start
may 'without rules this user may do everything on its socket' 201 '' PUT /v1/locks/own '{}'
may '   and a token is not known' 401 secret-of-ci PUT /v1/locks/ci/x '{}'
is '   and TCP is nobody' "$(curl -sS -m 60 -o /dev/null -w '%{http_code}' "http://127.0.0.1:$tcp/v1/locks")" 401
stop
start --allow "gid:$(id -g) group/ acquire" --allow 'gid:4294967294 * acquire,read'
may 'a group with a rule acquires' 201 '' PUT /v1/locks/group/a '{}'
may '   and has no other rule' 403 '' PUT /v1/locks/other '{}'
stop
# Another user, who is in the group beside an own one, as people are in groups.
if [ "$me" = 0 ] && chmod 711 "$tmp"; then
    : >"$tmp/log"
    "$redlockd" --drain 0 --allow 'gid:54321 group/ acquire' --allow 'uid:65534 * read' --listen "unix:$tmp/shared group=54321" \
        --listen "unix:$tmp/open mode=0666" --listen 127.0.0.1:0 2>"$tmp/log" &
    pid=$!
    eventually listens
    is 'a socket with a group is for its members' "$(stat -c '%a %g' "$tmp/shared")" '660 54321'
    as() { # GROUPS SOCKET METHOD PATH [CURL-ARGUMENT...]
        local groups=--clear-groups
        [ -z "$1" ] || groups=--groups=$1
        setpriv --reuid 65534 --regid 65534 "$groups" curl -sS -m 60 -o /dev/null \
            -w '%{http_code}' -X "$3" -H "Lease-Id: lease-of-$(cat /proc/sys/kernel/random/uuid)" \
            --unix-socket "$tmp/$2" "http://h$4" "${@:5}" 2>/dev/null
    }
    is 'a supplementary group counts' "$(as 54321 shared PUT /v1/locks/group/b --json '{}')" 201
    is '   and goes before a later rule of the user' "$(as 54321 open GET /v1/locks/group/b)" 403
    is '   without it the user has its own rule' "$(as '' open GET /v1/locks/group/b)" 200
    is '   and cannot connect to the socket of the group' "$(as '' shared GET /v1/locks/group/b)" 000
    stop
fi

# ---- for which host ----

start --tokens "$tmp/tokens" --allow 'token:ci * acquire,read' --host locks.example
host() { # WHAT STATUS HOST
    is "$1" "$(curl -sS -m 60 -o "$tmp/body" -w '%{http_code}' -H "Host: $3" \
        -H 'Authorization: Bearer secret-of-ci' "http://127.0.0.1:$tcp/v1/locks")" "$2"
}
host 'a request for this machine' 200 "127.0.0.1:$tcp"
host '   by its name' 200 localhost
host '   in another form' 200 '[::1]:80'
host '   or for a name that is allowed' 200 LOCKS.example:8080
host 'a request for another host' 400 rebound.example
is '   which is told' "$(jq -r .code "$tmp/body")" HOST
host '   whatever it begins with' 400 localhost.rebound.example
host '   or is an address of another machine' 400 192.0.2.1
host '   or has a name behind the address of this one' 400 '[::1].rebound.example'
host '   or behind its port' 400 localhost:80.rebound.example
is 'a unix socket has no host' "$(curl -sS -m 60 -o /dev/null -w '%{http_code}' --unix-socket "$socket" \
    http://rebound.example/livez)" 200
stop

# ---- a proxy, and the mode of the socket ----

: >"$tmp/log"
"$redlockd" --tokens "$tmp/tokens" --allow "uid:$me * acquire,read" --allow 'token:ci * acquire,read' \
    --listen "unix:$tmp/proxy mode=0660 peer=proxy" --listen "unix:$socket" --listen 127.0.0.1:0 2>"$tmp/log" &
pid=$!
eventually listens
is 'the mode of a socket' "$(stat -c %a "$tmp/proxy") $(stat -c %a "$socket")" '660 600'
through() { curl -sS -m 60 -o /dev/null -w '%{http_code}' --unix-socket "$tmp/proxy" "$@" http://h/v1/locks; }
is 'the uid of a proxy proves nothing' "$(through)" 401
is '   a token does' "$(through -H 'Authorization: Bearer secret-of-ci')" 200
stop
try "$redlockd" --listen "unix:$tmp/nobodys group=no-such-group"
expect 'a group that is none' 69 'group=no-such-group: there is no such group'
bad 'a mode that is none' 'mode=0660, group=NAME and peer=proxy' --listen "unix:$socket mode=0888"
bad 'a certificate without TLS' 'tls:ADDRESS:PORT cert=optional' --listen '127.0.0.1:0 cert=optional'
bad 'a proxy on TCP' 'behind other addresses nothing' --listen '127.0.0.1:0 peer=proxy'

# ---- names ----

start
may 'names are ASCII' 400 '' PUT /v1/locks/caf%C3%A9 '{}'
stop
start --names utf8
may '   unless it is set to utf8' 201 '' PUT /v1/locks/caf%C3%A9 '{}'
may '   which is seen' 200 '' GET /v1/locks/caf%C3%A9
is '      as it is' "$(jq -r .name <<<"$body")" café
may '   well-formed' 400 '' PUT /v1/locks/caf%C3 '{}'
may '   and bytes are compared' 201 '' PUT /v1/locks/cafe%CC%81 '{}'
stop
is 'TERM ends it' "$status" 0
unlike 'no secret is in the log' "$(cat "$tmp/log")" 'secret|lease-of'
unlike 'no sanitizer complains' "$(cat "$tmp/log")" 'Sanitizer|runtime error'
done_testing
