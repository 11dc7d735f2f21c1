#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Clients that were not written for redlockd, on a unix socket, on TCP and with TLS.
. "$(dirname "$0")/lib.bash" "$@"
needs curl python3 openssl
mkdir "$tmp/certs"
"$certs" "$tmp/certs" || exit 1
certificate=$tmp/certs/good.crt key=$tmp/certs/good.key ca=$tmp/certs/ca.crt

start --listen tls:127.0.0.1:0 --tls-cert "$certificate" --tls-key "$key"

# ---- curl ----

# fetch ARGUMENT...: the status, then the body.
fetch() {
    : >"$tmp/body"
    curl -sS -m 60 -o "$tmp/body" -w '%{http_code}' "$@" || return
    printf ' %s' "$(cat "$tmp/body")"
}

alive='200 {"status":"alive"}'
is 'curl on the unix socket' "$(fetch --unix-socket "$socket" http://localhost/livez)" "$alive"
is 'curl on TCP' "$(fetch "http://127.0.0.1:$tcp/livez")" "$alive"
is 'curl with TLS' "$(fetch --cacert "$ca" "https://127.0.0.1:$tls/livez")" "$alive"
is 'curl with TLS 1.2' \
    "$(fetch --cacert "$ca" --tls-max 1.2 "https://127.0.0.1:$tls/livez")" "$alive"
that 'curl with TLS 1.1 is refused' \
    eval "! fetch --cacert '$ca' --tls-max 1.1 'https://127.0.0.1:$tls/livez' >/dev/null 2>&1"
is 'curl sees the version' "$(fetch "http://127.0.0.1:$tcp/version" | cut -d ' ' -f 2 | jq -r .name)" \
    redlockd
like 'HEAD has a length and no body' "$(curl -sS -m 60 -I "http://127.0.0.1:$tcp/livez")" \
    'Content-Length: 19'
like 'a form is refused' "$(fetch -X PUT -d a=b "http://127.0.0.1:$tcp/livez")" \
    '^415 .*"code":"JSON_EXPECTED"'
is 'a body in chunks is refused' "$(fetch -X PUT -H 'Transfer-Encoding: chunked' \
    -H 'Content-Type: application/json' -d '{}' "http://127.0.0.1:$tcp/livez" | cut -c 1-3)" 501
head -c 100000 /dev/zero >"$tmp/large"
is 'a large body is refused, and curl reads why' "$(fetch -T "$tmp/large" -H 'Expect:' \
    "http://127.0.0.1:$tcp/livez" | cut -c 1-3)" 413
is 'a large body is refused before it is sent' "$(fetch -T "$tmp/large" \
    -H 'Expect: 100-continue' "http://127.0.0.1:$tcp/livez" | cut -c 1-3)" 413
is 'a missing path' "$(fetch "http://127.0.0.1:$tcp/nothing" | cut -c 1-3)" 404
is 'curl keeps its connection' "$(curl -sS -m 60 -o /dev/null -o /dev/null -o /dev/null \
    -w '%{num_connects}' "http://127.0.0.1:$tcp/livez" "http://127.0.0.1:$tcp/version" \
    "http://127.0.0.1:$tcp/livez")" 100
is 'plain HTTP on the port of TLS ends at once' \
    "$(curl -s -m 60 "http://127.0.0.1:$tls/livez"; echo $?)" 52

# ---- python ----

cat >"$tmp/client.py" <<'PY'
import http.client, json, socket, ssl, sys

class Unix(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(20)
        self.sock.connect(path)

path, tcp, tls, ca = sys.argv[1:]
context = ssl.create_default_context(cafile=ca)
for client in (Unix('localhost'), http.client.HTTPConnection('127.0.0.1', int(tcp), timeout=20),
               http.client.HTTPSConnection('127.0.0.1', int(tls), timeout=20, context=context)):
    client.connect()
    first = client.sock
    for turn in range(50):
        client.request('GET', '/livez')
        answer = client.getresponse()
        assert answer.status == 200, answer.status
        assert json.loads(answer.read()) == {'status': 'alive'}
        assert client.sock is first, 'a new connection'
    # Head and body come in two writes.
    client.request('PUT', '/livez', body='{"ttl_ms":5000}',
                   headers={'Content-Type': 'application/json'})
    answer = client.getresponse()
    assert answer.status == 405 and answer.headers['Allow'] == 'GET, HEAD'
    assert json.loads(answer.read())['code'] == 'METHOD_NOT_ALLOWED'
    client.close()

# Pipelined and cut at odd places.
raw = socket.create_connection(('127.0.0.1', int(tcp)), timeout=20)
text = b'GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n' * 100
for at in range(0, len(text), 37):
    raw.sendall(text[at:at + 37])
raw.shutdown(socket.SHUT_WR)
got = b''
while True:
    piece = raw.recv(65536)
    if not piece:
        break
    got += piece
assert got.count(b'HTTP/1.1 200 OK') == 100, got.count(b'HTTP/1.1 200 OK')
print('fine')
PY
is "python's http.client on all three, and pipelined" \
    "$(timeout 60 python3 "$tmp/client.py" "$socket" "$tcp" "$tls" "$ca" 2>&1)" fine

# ---- node ----

if command -v node >/dev/null && [ "$(node -p 'typeof fetch')" = function ]; then
    cat >"$tmp/client.mjs" <<'JS'
const [tcp] = process.argv.slice(2);
const url = `http://127.0.0.1:${tcp}/livez`;
for (let i = 0; i < 50; i++) {
  const answer = await fetch(url);
  if (answer.status !== 200 || (await answer.json()).status !== "alive") throw "livez";
}
const many = await Promise.all(Array.from({ length: 50 }, () => fetch(url).then(a => a.status)));
if (many.some(status => status !== 200)) throw "many";
const put = await fetch(url, { method: "PUT", body: "{}", headers: { "content-type": "application/json" } });
if (put.status !== 405) throw put.status;
const empty = await fetch(url, { method: "POST" });
if (empty.status !== 405) throw empty.status;
console.log("fine");
JS
    is "node's fetch" "$(timeout 60 node "$tmp/client.mjs" "$tcp" 2>&1)" fine
fi
stop
is 'redlockd ends with 0' "$status" 0

# ---- certificates of clients ----

start --listen tls:127.0.0.1:0 --tls-cert "$certificate" --tls-key "$key" --tls-client-ca "$ca"
is 'a client with a certificate is served' "$(fetch --cacert "$ca" \
    --cert "$tmp/certs/client.crt" --key "$tmp/certs/client.key" \
    "https://127.0.0.1:$tls/livez")" "$alive"
that 'a client without one is refused' \
    eval "! fetch --cacert '$ca' 'https://127.0.0.1:$tls/livez' >/dev/null 2>&1"
that 'a client with an expired one is refused' \
    eval "! fetch --cacert '$ca' --cert '$tmp/certs/expired.crt' --key '$tmp/certs/expired.key' \
        'https://127.0.0.1:$tls/livez' >/dev/null 2>&1"
stop
is 'redlockd ends with 0 after that' "$status" 0
unlike 'no sanitizer complains' "$(cat "$tmp/log")" 'Sanitizer|runtime error'
done_testing
