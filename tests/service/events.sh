#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# GET /v1/events: what happens to locks and nodes, for those that may know it; and a reader that is slow.
. "$(dirname "$0")/lib.bash" "$@"
needs curl python3 jq sha256sum
inside_dev 3 "$@"
unhurried
printf '%s %s\n' reader "$(digest secret-of-reader)" other "$(digest secret-of-other)" >"$tmp/tokens"
cat >"$tmp/conf" <<END
tokens = $tmp/tokens
allow = uid:$(id -u) * acquire,read,break,admin
allow = token:reader public/ read
allow = token:other * acquire
END
start --config "$tmp/conf" --drain 2
eventually ready

# feed FILE QUERY [CURL-ARGUMENT...]: in the background; $begun is its number.
feed() {
    curl -sSN -m 250 --unix-socket "$socket" "${@:3}" "http://h/v1/events$2" >"$tmp/$1" 2>"$tmp/$1.err" &
    begun=$!
}
feeds() { [ "$(curl -s --unix-socket "$socket" http://h/metrics | sed -n 's/^redlockd_requests_total{op="events",code="200"} //p')" = "$1" ]; }
feed all ''
all=$begun
feed some '?prefix=public/a'
some=$begun
feed few '' -H 'Authorization: Bearer secret-of-reader'
few=$begun
feed none '' -H 'Authorization: Bearer secret-of-other'
none=$begun
that 'three feeds are answered' eventually feeds 3
# has FILE EVENT FILTER: an event with data for which the filter is true.
has() {
    grep -A1 "^event: $2\$" "$tmp/$1" | sed -n 's/^data: //p' | jq -se "map(select($3)) | length > 0" >/dev/null
}
ask() { # METHOD NAME ID [CURL-ARGUMENT...]
    curl -sS -m 60 --unix-socket "$socket" -X "$1" -H "Lease-Id: lease-of-the-events-test-$3" "${@:4}" "http://h/v1/locks/$2"
}

all_up() { [ "$(grep -A1 '^event: node$' "$tmp/all" | sed -n 's/^data: //p' | jq -rs 'map(.state) | join(" ")')" = 'up up up' ]; }
that 'a feed begins with the state of every node' eventually all_up

# ---- locks ----

ask PUT public/a 1 --json '{"label":"first \"x\""}' >"$tmp/held"
fence=$(jq .fence "$tmp/held")
that 'granted, with label and fence' eventually has all granted \
    ".name == \"public/a\" and .label == \"first \\\"x\\\"\" and .fence == $fence and .reason == null"
ask DELETE public/a 1
that 'released' eventually has all released '.name == "public/a"'
ask PUT public/b 2 --json '{"ttl_ms":2000}' >/dev/null
ask PUT private 3 --json '{}' >/dev/null
mark=$(ask GET private 3 | jq -r '.holders[0].fingerprint')
curl -sS -m 60 -o /dev/null --unix-socket "$socket" --json "{\"fingerprint\":\"$mark\"}" http://h/v1/breaks/private
that 'broken' eventually has all broken '.name == "private"'
that 'expired, once the nodes have forgotten it' eventually has all expired '.name == "public/b"'
that 'a prefix is a part of all' eventually has some released '.name == "public/a"'
unlike '   and shows no other name' "$(cat "$tmp/some")" 'public/b|private'
that 'a principal sees what it may read' eventually has few expired '.name == "public/b"'
unlike '   and nothing else' "$(cat "$tmp/few")" 'private|event: node'
wait "$none"
is '   without any right to read, nothing' "$(jq -r .code "$tmp/none")" FORBIDDEN

# ---- a reader that does not read ----

cat >"$tmp/slow.py" <<'PY'
# Opens a feed and reads nothing of it, while locks come and go, until the daemon has cut it off.
import http.client, socket, sys, time
path = sys.argv[1]
class Unix(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(path)
slow = socket.socket(socket.AF_UNIX)
slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
slow.settimeout(60)
slow.connect(path)
slow.sendall(b'GET /v1/events HTTP/1.1\r\nHost: h\r\n\r\n')
client = Unix('h')
def ask(method, name, headers, body=None):
    client.request(method, name, body, headers)
    answer = client.getresponse()
    return answer.status, answer.read()
def connections():
    text = ask('GET', '/metrics', {})[1].decode()
    return sum(int(line.split(' ')[1]) for line in text.split('\n') if line.startswith('redlockd_connections{'))
before, longest, end = connections(), 0, time.monotonic() + 60
name = '/v1/locks/slow/' + 'x' * 400
for i in range(100000):
    began = time.monotonic()
    headers = {'Lease-Id': 'lease-of-a-slow-reader-%06d' % i, 'Content-Type': 'application/json'}
    assert ask('PUT', name, headers, '{}')[0] == 201
    assert ask('DELETE', name, headers)[0] == 204
    if i % 50 == 0 and connections() < before:
        print('cut')
        break
    assert time.monotonic() < end, 'it is still there'
PY
is 'a reader that does not read is cut off' "$(timeout 100 python3 "$tmp/slow.py" "$socket" 2>&1 | tail -1)" cut

# ---- a stream in trouble ----

curl -sSN -m 60 --unix-socket "$socket" -X PUT -H 'Lease-Id: lease-of-the-events-test-9' -H 'Accept: text/event-stream' \
    --json '{"ttl_ms":9000}' http://h/v1/locks/public/stream >"$tmp/stream" &
stream=$!
that 'a stream is granted, too' eventually has all granted '.name == "public/stream"'
"$redlock" dev kill 1 >/dev/null
"$redlock" dev kill 2 >/dev/null
that 'a node is down' eventually has all node '.state == "down"'
that 'a stream in jeopardy' eventually has all jeopardy '.name == "public/stream" and .reason == "NOQUORUM"'
that '   and lost' eventually has all lost '.name == "public/stream"'
"$redlock" dev start 1 >/dev/null
"$redlock" dev start 2 >/dev/null
that 'a node that comes back is in quarantine' eventually has all node '.state == "quarantined"'
wait "$stream" 2>/dev/null

# ---- rights that end, and what is refused ----

sed -i '/token:reader/d' "$tmp/conf"
kill -HUP "$pid"
that 'a feed without right ends' eventually gone "$few"
that '   the others go on' kill -0 "$all"
code() { curl -sS -m 60 -o "$tmp/body" -w '%{http_code}' --unix-socket "$socket" "$@"; }
is 'a parameter that does not exist' "$(code 'http://h/v1/events?name=x') $(jq -r .code "$tmp/body")" '400 QUERY'
is 'HEAD is no way to read a feed' "$(code -I http://h/v1/events)" 405
is 'no principal, no feed' "$(curl -sS -m 60 "http://127.0.0.1:$tcp/v1/events" | jq -r .code)" UNAUTHORIZED

stop
is 'TERM ends it' "$status" 0
that '   and the feeds' eventually gone "$all"
is '   in an orderly way' "$(cat "$tmp/all.err")" ''
wait "$all" "$some" 2>/dev/null
unlike 'no lease id is told' "$(cat "$tmp/all" "$tmp/log")" 'lease-of'
unlike 'no sanitizer complains' "$(cat "$tmp/log")" 'Sanitizer|runtime error'
done_testing
