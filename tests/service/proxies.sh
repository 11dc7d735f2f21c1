#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# nginx and HAProxy before two replicas, with the settings that docs/production.md shows, word for word but
# for addresses, names and paths; and nginx as it is without them, which repeats requests by itself.
. "$(dirname "$0")/lib.bash" "$@"
PATH=$PATH:/usr/sbin
needs curl jq python3 openssl
proxies=()
for proxy in nginx haproxy; do
    if command -v $proxy >/dev/null; then
        proxies+=($proxy)
    else
        printf '# left out: %s is not installed\n' $proxy
    fi
done
[ ${#proxies[@]} -gt 0 ] || skip 'neither nginx nor haproxy is installed'
docs=$(readlink -f "$(dirname "$0")/../../docs/production.md")
inside_dev '4 --no-init' "$@"
unhurried
front=$(take_port 4)
REDLOCK_NODES=${REDLOCK_NODES%,*}
"$redlock" init --yes >/dev/null
token=a-token-of-this-test
printf 'tester %s\n' "$(digest "$token")" >"$tmp/tokens"
mkdir "$tmp/certs"
"$certs" "$tmp/certs" || exit 1
cat "$tmp/certs/good.crt" "$tmp/certs/good.key" >"$tmp/certs/front.pem"
options=(--drain 1 --tokens "$tmp/tokens" --allow 'token:tester * acquire,read,admin' --listen tls:127.0.0.1:0
    --tls-cert "$tmp/certs/good.crt" --tls-key "$tmp/certs/good.key")

# ---- two replicas and the proxies ----

start "${options[@]}"
first_pid=$pid first_tcp=$tcp first_tls=$tls first_log=$tmp/log.first
mv "$tmp/log" "$first_log"
socket=$tmp/second
start "${options[@]}"
second_tcp=$tcp second_tls=$tls

# block WORD: the configuration that stands in the documents, with our replicas, names and files.
block() {
    sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$docs" | sed '1d;$d' |
        sed "s/10\.0\.0\.7:9443/127.0.0.1:$first_tls/; s/10\.0\.0\.8:9443/127.0.0.1:$second_tls/
            s/locks\.example\.org/localhost/g; s|/etc/[a-z]*/redlockd-ca.pem|$tmp/certs/ca.crt|
            s|/etc/nginx/locks.pem|$tmp/certs/good.crt|; s|/etc/nginx/locks.key|$tmp/certs/good.key|
            s|/etc/haproxy/locks.pem|$tmp/certs/front.pem|"
}

# The rest of a configuration that runs as any user, in the foreground, and writes into our directory only.
around_nginx() { # PORT: the block comes from standard input
    cat <<END
daemon off;
worker_processes 1;
pid $tmp/nginx.pid;
error_log $tmp/nginx.log;
events { worker_connections 256; }
http {
    access_log $tmp/nginx.access;
    client_body_temp_path $tmp/nginx-body;
    proxy_temp_path $tmp/nginx-proxy;
    fastcgi_temp_path $tmp/nginx-fastcgi;
    uwsgi_temp_path $tmp/nginx-uwsgi;
    scgi_temp_path $tmp/nginx-scgi;
$(sed "s/listen 443 ssl;/listen 127.0.0.1:$1 ssl;/")
}
END
}

around_haproxy() { # PORT
    sed "s/bind :443/bind 127.0.0.1:$1/"
}

# begin_proxy NAME: with the block on standard input; $at is where it listens, $proxy_pid its process.
begin_proxy() {
    at=https://127.0.0.1:$front
    "around_$1" "$front" >"$tmp/$1.conf"
    case $1 in
    nginx) nginx -e "$tmp/nginx.log" -c "$tmp/nginx.conf" >>"$tmp/nginx.log" 2>&1 & ;;
    haproxy) haproxy -db -f "$tmp/haproxy.conf" >>"$tmp/haproxy.log" 2>&1 & ;;
    esac
    proxy_pid=$!
    eventually answers
    that "$1 starts with the settings of docs/production.md" serves
}
serves() { [ "$(curl -s -m 5 --cacert "$tmp/certs/ca.crt" -o /dev/null -w '%{http_code}' "$at/readyz")" = 200 ]; }
answers() { serves || gone $proxy_pid; }
end_proxy() {
    kill "$proxy_pid"
    wait "$proxy_pid" 2>/dev/null
}

# ask METHOD NAME ID [CURL-ARGUMENT...]: through the proxy; $code and $body.
ask_http() {
    local method=$1 name=$2 id=$3
    shift 3
    code=$(curl -sS -m 60 --cacert "$tmp/certs/ca.crt" -o "$tmp/body" -w '%{http_code}' -X "$method" -H "Lease-Id: $id" \
        -H "Authorization: Bearer $token" -H 'Content-Type: application/json' "$@" "$at/v1/locks/$name")
    body=$(cat "$tmp/body")
}

# waiters: how many requests wait on both replicas.
waiters() {
    local port sum=0
    for port in "$first_tcp" "$second_tcp"; do
        sum=$((sum + $(curl -s -m 60 -H "Authorization: Bearer $token" "http://127.0.0.1:$port/metrics" |
            sed -n 's/^redlockd_waiters //p')))
    done
    printf '%s' $sum
}
waits() { [ "$(waiters)" = "$1" ]; }

# ---- what every proxy must carry ----

carries() {
    local id=lease-behind-$1-of-the-test grant
    ask_http PUT "by/$1" "$id" -d '{"ttl_ms":30000}'
    is "$1: PUT" "$code" 201
    grant=$(field grant)
    ask_http POST "by/$1" "$id" -H "Grant: $grant" -d '{"ttl_ms":40000}'
    is "$1: POST" "$code $(field ttl_ms)" '200 40000'
    ask_http PUT "by/$1" "$id-other" -d '{}'
    is "$1: a lock that is held is 423" "$code" 423
    # Nothing of the path is rewritten: the name has no dots, no empty segment, and one encoded blank.
    ask_http PUT "by/$1/%41%20b" "$id-encoded" -d '{}'
    is "$1: an encoded name arrives as it was sent" "$code $(field name)" "201 by/$1/A b"
    curl -s -m 60 --cacert "$tmp/certs/ca.crt" -X PUT -H "Lease-Id: $id-waiter" -H "Authorization: Bearer $token" \
        -H 'Content-Type: application/json' -d '{"wait_ms":50000}' "$at/v1/locks/by/$1" >/dev/null &
    local waiter=$!
    that "$1: a request waits behind it" eventually waits 1
    kill -KILL $waiter
    wait $waiter 2>/dev/null
    that "$1: a waiter that is killed behind it is out of the queue" eventually waits 0
    ask_http PUT "by/$1-stream" "$id-stream" -H 'Accept: text/event-stream' -d '{}'
    is "$1: a stream is refused" "$code $(field code)" '400 PROXIED'
    ask_http DELETE "by/$1" "$id" -H "Grant: $grant"
    is "$1: DELETE" "$code" 204
    ask_http DELETE "by/$1" "$id-unknown-lease"
    is "$1: DELETE of what is not there" "$code" 410
}

for proxy in "${proxies[@]}"; do
    begin_proxy $proxy < <(block $proxy)
    carries $proxy
    end_proxy
done

# ---- nginx as it is: a request that it repeats ----

if [[ " ${proxies[*]} " == *' nginx '* ]]; then
    begin_proxy nginx < <(block nginx | grep -v proxy_next_upstream)
    ask_http PUT repeated lease-of-the-holder-here -d '{"ttl_ms":50000}'
    grant=$(field grant)
    # A PUT waits on one replica, which is killed: nginx sends it to the other one by itself.
    curl -sS -m 60 --cacert "$tmp/certs/ca.crt" -X PUT -H 'Lease-Id: lease-that-nginx-repeats' -H "Authorization: Bearer $token" \
        -H 'Content-Type: application/json' -d '{"wait_ms":40000}' -o "$tmp/repeated" -w '%{http_code}' \
        "$at/v1/locks/repeated" >"$tmp/repeated.code" &
    waiter=$!
    that 'nginx: a PUT waits on one of the replicas' eventually waits 1
    on_first=$(curl -s -m 60 -H "Authorization: Bearer $token" "http://127.0.0.1:$first_tcp/metrics" |
        sed -n 's/^redlockd_waiters //p')
    if [ "$on_first" = 1 ]; then
        kill -KILL "$first_pid"
        wait "$first_pid" 2>/dev/null
        left=$second_tcp
    else
        kill -KILL "$pid"
        wait "$pid" 2>/dev/null
        left=$first_tcp pid=$first_pid
        mv "$first_log" "$tmp/log"
    fi
    here() {
        [ "$(curl -s -m 60 -H "Authorization: Bearer $token" "http://127.0.0.1:$left/metrics" |
            sed -n 's/^redlockd_waiters //p')" = 1 ]
    }
    that '   nginx repeats it on the other when that one is killed' eventually here
    ask_http DELETE repeated lease-of-the-holder-here -H "Grant: $grant"
    is '   the lock is released' "$code" 204
    wait $waiter
    is '   and the repeated PUT is granted' "$(cat "$tmp/repeated.code")" 201
    ask_http DELETE repeated lease-that-nginx-repeats
    is '   to its client, which releases it' "$code" 204
    end_proxy
else
    kill -KILL "$first_pid"
fi

stop
is 'TERM ends the replica that is left' "$status" 0
unlike 'no sanitizer complains' "$(cat "$tmp/log")" 'Sanitizer|runtime error'
done_testing
