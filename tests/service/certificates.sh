#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Client certificates as principals: by their names, until they end, while their authority is trusted.
. "$(dirname "$0")/lib.bash" "$@"
needs curl jq python3 openssl sha256sum
inside_dev 3 "$@"
unhurried
me=$(id -u)
mkdir "$tmp/certs"
"$certs" "$tmp/certs" || exit 1
# certificate FILE SAN [LAST-MOMENT]: of the same authority; an empty SAN: none.
certificate() {
    (cd "$tmp/certs" || exit 1
        openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"
        openssl req -new -key "$1.key" -subj "/CN=client.example" ${2:+-addext "subjectAltName=$2"} -out "$1.csr"
        openssl ca -batch -config ca.cnf -cert ca.crt -keyfile ca.key -in "$1.csr" -out "$1.crt" -notext \
            -startdate 20200101000000Z -enddate "${3:-20991231000000Z}") 2>>"$tmp/openssl.log"
}
certificate shouting DNS:CLIENT.Example
certificate nameless ''
certificate uri 'DNS:client.example,URI:spiffe://example/web'
certificate email email:robot@example.org
certificate disguised 'DNS:robot@example.org'
certificate odd 'DNS:client.example x acquire'
cp "$tmp/certs/ca.crt" "$tmp/authority.crt"
echo "ci $(digest secret-of-ci)" >"$tmp/tokens"
start --listen tls:127.0.0.1:0 --tls-cert "$tmp/certs/good.crt" --tls-key "$tmp/certs/good.key" \
    --tls-client-ca "$tmp/authority.crt" --tokens "$tmp/tokens" --audit "$tmp/audit" \
    --allow 'cert:client.example web/ acquire' --allow 'cert:spiffe://example/web uri/ acquire' \
    --allow 'cert:robot@example.org mail/ acquire' --allow 'token:ci ci/ acquire' --allow "uid:$me * read,admin"

# with CERTIFICATE LOCK [CURL-ARGUMENT...]: the status of a PUT.
with() {
    local cert=$1 lock=$2
    shift 2
    curl -sS -m 60 -o "$tmp/body" -w '%{http_code}' -X PUT --cacert "$tmp/certs/ca.crt" \
        --cert "$tmp/certs/$cert.crt" --key "$tmp/certs/$cert.key" \
        -H "Lease-Id: lease-of-$(cat /proc/sys/kernel/random/uuid)" -H 'Content-Type: application/json' \
        -d '{}' "$@" "https://127.0.0.1:$tls/v1/locks/$lock" 2>>"$tmp/curl.log"
}
is 'a certificate with a rule acquires' "$(with client web/a)" 201
is '   not outside of its prefix' "$(with client other)" 403
is '   its name is its DNS name in small letters' "$(with shouting web/b)" 201
is '   the subject counts for nothing' "$(with nameless web/c)" 401
is 'a URI goes before a DNS name' "$(with uri uri/a) $(with uri web/d)" '201 403'
is 'an email address' "$(with email mail/a)" 201
is '   is none if it says to be a DNS name' "$(with disguised mail/b)" 401
is 'a name with blanks is none' "$(with odd web/e)" 401
is 'a token goes before the certificate' \
    "$(with client ci/a -H 'Authorization: Bearer secret-of-ci') $(with client web/f -H 'Authorization: Bearer secret-of-ci')" \
    '201 403'
is '   a wrong one is not made up for by it' "$(with client web/f -H 'Authorization: Bearer x')" 401
is 'a certificate that has ended' "$(with expired web/g)" 000
is 'a certificate of another authority' "$(with other web/g)" 000
names='cert:client.example cert:robot@example.org cert:spiffe://example/web token:ci '
has_names() {
    [ "$(jq -r 'select(.event == "granted") | .principal' "$tmp/audit" | sort -u | tr '\n' ' ')" = "$names" ]
}
that 'the audit log has their names' eventually has_names

cat >"$tmp/client.py" <<'PY'
# Connections that outlive their certificate, and its authority.
import http.client, json, os, signal, ssl, subprocess, sys, threading, time, uuid

port, directory, pid = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])

def connect(name):
    context = ssl.create_default_context(cafile=directory + '/certs/ca.crt')
    context.load_cert_chain('%s/certs/%s.crt' % (directory, name), '%s/certs/%s.key' % (directory, name))
    client = http.client.HTTPSConnection('127.0.0.1', port, timeout=60, context=context)
    client.connect()
    return client

def put(client, lock, body={}):
    client.request('PUT', '/v1/locks/' + lock, json.dumps(body),
                   {'Lease-Id': 'lease-of-' + str(uuid.uuid4()), 'Content-Type': 'application/json'})
    answer = client.getresponse()
    return answer.status, json.loads(answer.read())

def log_has(text):
    with open(directory + '/log') as log:
        return text in log.read()

def until(what):
    end = time.monotonic() + 60
    while not what():
        assert time.monotonic() < end
        time.sleep(0.01)

if sys.argv[4] == 'ends':
    # Its connection was made in time; the machine may have been too slow for the first request.
    client = connect('short')
    first = put(client, 'web/short-' + str(uuid.uuid4()))[0]
    until(lambda: put(client, 'web/short')[0] == 401)
    print('fine' if first == 201 else 'late')
else:
    kept, waiting, results = connect('client'), connect('client'), []
    assert put(kept, 'web/kept')[0] == 201
    thread = threading.Thread(target=lambda: results.append(put(waiting, 'web/kept', {'wait_ms': 40000})))
    thread.start()
    def has_waiter():
        text = subprocess.run(['curl', '-sS', '-m', '20', '--unix-socket', directory + '/socket', 'http://h/metrics'],
                              capture_output=True, text=True).stdout
        return '\nredlockd_waiters 1\n' in text
    until(has_waiter)
    os.kill(pid, signal.SIGHUP)
    until(lambda: log_has('reloaded: 5 rules'))
    assert put(kept, 'web/still')[0] == 201, 'an authority that stays'
    assert not results
    with open(directory + '/certs/other.crt') as other:
        text = other.read()
    with open(directory + '/authority.crt', 'w') as authority:
        authority.write(text)
    os.kill(pid, signal.SIGHUP)
    thread.join(20)
    assert results and results[0][0] == 403, results
    assert put(kept, 'web/gone')[0] == 401, 'an authority that is gone'
    print('fine')
PY
# A certificate of three seconds may be over before a slow machine has used it: then a longer one.
ends() {
    local seconds
    for seconds in 3 6 12 24; do
        certificate short DNS:client.example "$(date -u -d "+$seconds seconds" +%Y%m%d%H%M%SZ)"
        [ "$(timeout 120 python3 "$tmp/client.py" "$tls" "$tmp" "$pid" ends 2>>"$tmp/python.log")" = fine ] && return
    done
    return 1
}
that 'a connection outlives its certificate without rights' ends
is 'a connection and a wait whose authority is not trusted any more' \
    "$(timeout 60 python3 "$tmp/client.py" "$tls" "$tmp" "$pid" reload 2>&1 | tail -3)" fine
is '   new connections neither' "$(with client web/h)" 000
stop
is 'TERM ends it' "$status" 0

# ---- certificates that are revoked ----

# revocations: the list of the authority, as it is now.
revocations() {
    (cd "$tmp/certs" && openssl ca -gencrl -crldays 30 -config ca.cnf -cert ca.crt -keyfile ca.key -out "$tmp/crl.new") \
        2>>"$tmp/openssl.log"
    mv "$tmp/crl.new" "$tmp/crl"
}
cp "$tmp/certs/ca.crt" "$tmp/authority.crt"
revocations
start --listen tls:127.0.0.1:0 --tls-cert "$tmp/certs/good.crt" --tls-key "$tmp/certs/good.key" \
    --tls-client-ca "$tmp/authority.crt" --tls-client-crl "$tmp/crl" --allow 'cert:client.example web/ acquire'
is 'with a list of revocations, one that is not on it' "$(with client web/r1)" 201
cat >"$tmp/revoked.py" <<'PY'
# A connection whose certificate is revoked while it is open: HUP reads the list again.
import sys
sys.argv[4] = ''
exec(open(sys.argv[2] + '/client.py').read().split("if sys.argv[4] == 'ends'")[0])
client = connect('client')
assert put(client, 'web/r2')[0] == 201
open(directory + '/connected', 'w').close()
until(lambda: log_has('reloaded: 1 rules'))
print(put(client, 'web/r3')[0])
PY
timeout 120 python3 "$tmp/revoked.py" "$tls" "$tmp" "$pid" x >"$tmp/revoked" 2>&1 &
python=$!
eventually test -e "$tmp/connected"
(cd "$tmp/certs" && openssl ca -config ca.cnf -cert ca.crt -keyfile ca.key -revoke client.crt) 2>>"$tmp/openssl.log"
revocations
kill -HUP "$pid"
wait "$python"
is '   revoked: its open connection has no right any more' "$(tail -1 "$tmp/revoked")" 401
is '   and it gets no new one' "$(with client web/r4)" 000
is '   another of the same name does' "$(with shouting web/r5)" 201
stop
is 'TERM ends it' "$status" 0

# ---- one listener with certificates, and one where tokens will do ----

cp "$tmp/certs/ca.crt" "$tmp/authority.crt"
start --listen tls:127.0.0.1:0 --listen 'tls:127.0.0.1:0 cert=optional' --tls-cert "$tmp/certs/good.crt" \
    --tls-key "$tmp/certs/good.key" --tls-client-ca "$tmp/authority.crt" --tokens "$tmp/tokens" \
    --allow 'cert:client.example web/ acquire' --allow 'token:ci ci/ acquire'
read -r strict open <<<"${tls//$'\n'/ }"
bare() { # PORT LOCK [CURL-ARGUMENT...]
    local port=$1 lock=$2
    shift 2
    curl -sS -m 60 -o /dev/null -w '%{http_code}' -X PUT --cacert "$tmp/certs/ca.crt" \
        -H "Lease-Id: lease-of-$(cat /proc/sys/kernel/random/uuid)" -H 'Content-Type: application/json' \
        -d '{}' "$@" "https://127.0.0.1:$port/v1/locks/$lock" 2>>"$tmp/curl.log"
}
token=(-H 'Authorization: Bearer secret-of-ci')
is 'where it is optional, a token without a certificate' "$(bare "$open" ci/open-a "${token[@]}")" 201
is '   neither is nobody' "$(bare "$open" ci/open-b)" 401
tls=$open
is '   a certificate counts' "$(with client web/open-a)" 201
is '   one of another authority is refused all the same' "$(with other web/open-b)" 000
is 'where it is not, a token does not make up for it' "$(bare "$strict" ci/open-c "${token[@]}")" 000
tls=$strict
is '   a certificate does' "$(with client web/open-c)" 201
stop
unlike 'no secret is written anywhere' "$(cat "$tmp/log" "$tmp/audit")" 'secret|lease-of|PRIVATE'
unlike 'no sanitizer complains' "$(cat "$tmp/log")" 'Sanitizer|runtime error'
done_testing
