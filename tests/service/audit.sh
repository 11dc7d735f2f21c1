#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The audit log: a line for everything that happens to a lock, nothing secret in it, harmless whatever
# clients call things, and never waited for.
. "$(dirname "$0")/lib.bash" "$@"
needs curl jq python3 sha256sum
inside_dev 3 "$@"
unhurried
me=$(id -u)
echo "ci $(digest secret-of-ci)" >"$tmp/tokens"
rules=(--tokens "$tmp/tokens" --allow "uid:$me * acquire,read,break,admin" --allow 'token:ci ci/ acquire')

# ask METHOD PATH ID [CURL-ARGUMENT...]: http, whose answers are kept.
ask() {
    http "$@"
    jq -c 'del(.grant)' <<<"$body" >>"$tmp/bodies" 2>/dev/null || cat "$tmp/body" >>"$tmp/bodies"
    # Metrics are no JSON.
    jq -r '.grant // empty' <<<"$body" >>"$tmp/grants" 2>/dev/null
}
number=0
new_id() {
    number=$((number + 1))
    id=$(printf 'lease-of-the-audit-test-%04d' "$number")
}
# The file is written by a thread of its own: until it has all lines.
is_written() {
    grep -q '^redlockd_audit_queued 0$' <<<"$(curl -sS -m 60 --unix-socket "$socket" http://h/metrics)"
}
# told FILTER [FILE]: the lines that the filter of jq selects, without their time and sender.
told() {
    eventually is_written
    jq -c "select($1) | del(.time, .peer, .listener, .path)" "${2:-$tmp/audit}"
}
# sent FILTER: the senders of the lines that the filter selects.
sent() {
    eventually is_written
    jq -r "select($1) | [.peer, .listener, .path] | join(\" \")" "$tmp/audit"
}
has() { [ -n "$(told "$1")" ]; }
count() { told "$1" | wc -l; }

: >"$tmp/grants"
start "${rules[@]}" --audit "$tmp/audit"
is 'the file is not for everyone' "$(stat -c %a "$tmp/audit" | cut -c 3)" 0

# ---- every event ----

new_id
ask PUT /v1/locks/job "$id" -d '{"label":"web 1","ttl_ms":30000}'
fence=$(jq .fence <<<"$body")
is 'a grant' "$(told '.event == "granted"')" \
    "{\"event\":\"granted\",\"principal\":\"uid:$me\",\"name\":\"job\",\"label\":\"web 1\",\"fence\":$fence,\"reason\":null}"
like '   with its sender' "$(sent '.event == "granted"')" "^uid:$me pid:[1-9][0-9]* unix:$socket $"
like '   with its time' "$(jq -r .time "$tmp/audit")" '^20[0-9-]+T[0-9:]+\.[0-9]{3}Z$'
ask DELETE /v1/locks/job "$id"
is 'a release, by its tag' "$code $(told '.event == "released"')" \
    "204 {\"event\":\"released\",\"principal\":\"uid:$me\",\"name\":\"job\",\"label\":\"web 1\",\"fence\":$fence,\"reason\":null}"
ask DELETE /v1/locks/job "$id"
is '   once' "$code $(count '.event == "released"')" '410 1'

new_id
ask PUT /v1/locks/broken "$id" -d '{"label":"web 2"}'
fence=$(jq .fence <<<"$body")
grant=$(jq -r .grant <<<"$body")
ask GET /v1/locks/broken ''
ask POST /v1/breaks/broken '' -d "$(jq '.holders[0] | {fingerprint}' <<<"$body")"
is 'a break' "$code $(told '.event == "broken"')" \
    "200 {\"event\":\"broken\",\"principal\":\"uid:$me\",\"name\":\"broken\",\"label\":\"web 2\",\"fence\":$fence,\"reason\":null}"
ask POST /v1/locks/broken "$id" -H "Grant: $grant" -d '{}'
is 'a loss, which the renewal finds' "$code $(told '.event == "lost"')" \
    "410 {\"event\":\"lost\",\"principal\":\"uid:$me\",\"name\":\"broken\",\"label\":\"web 2\",\"fence\":$fence,\"reason\":\"LOST\"}"

curl -sS -m 60 -o /dev/null -X PUT -H 'Authorization: Bearer secret-of-ci' -H 'Lease-Id: lease-of-the-audit-test-ci' \
    -H 'Content-Type: application/json' -d '{}' "http://127.0.0.1:$tcp/v1/locks/not/mine"
is 'a denial' "$(told '.event == "denied"')" \
    '{"event":"denied","principal":"token:ci","name":"not/mine","label":null,"fence":null,"reason":"FORBIDDEN"}'
curl -sS -m 60 -o /dev/null -H 'Authorization: Bearer secret-guess' "http://127.0.0.1:$tcp/v1/locks"
is '   of nobody in particular' "$(told '.reason == "UNAUTHORIZED"')" \
    '{"event":"denied","principal":null,"name":null,"label":null,"fence":null,"reason":"UNAUTHORIZED"}'
like '   with address, listener and path' "$(sent '.reason == "UNAUTHORIZED"')" "^127.0.0.1:[0-9]+ 127.0.0.1:$tcp /v1/locks$"
curl -sS -m 60 -o /dev/null -H 'Host: rebound.example' "http://127.0.0.1:$tcp/v1/locks?a=b"
like 'a request for another host' "$(sent '.reason == "HOST"')" "^127.0.0.1:[0-9]+ 127.0.0.1:$tcp /v1/locks$"

# ---- made up ----

# The grant of a lease that ended long ago, as another id would have it: nothing in it is to be believed.
metric() { curl -sS -m 60 --unix-socket "$socket" http://h/metrics | sed -n "s/^redlockd_$1 //p"; }
before=$(wc -l <"$tmp/audit") lost=$(metric 'lost_total{reason="LOST"}')
for n in {1..5}; do
    ask POST /v1/locks/broken "lease-of-the-audit-test-made-up-$n" -H "Grant: $grant" -d '{}'
    is "a renewal that is made up, $n" "$code" 410
done
ask DELETE /v1/locks/broken lease-of-the-audit-test-made-up-6 -H "Grant: $grant"
eventually is_written
is '   no loss is told' "$(wc -l <"$tmp/audit") $(metric 'lost_total{reason="LOST"}')" "$before $lost"
is '   but the renewals are counted' "$(metric unknown_renewals_total)" 5

# ---- expiry ----

other=$tmp/other
"$redlockd" "${rules[@]}" --audit "$tmp/audit2" --listen "unix:$other" 2>"$tmp/log2" &
second=$!
that 'a second replica listens' eventually curl -sf -m 30 -o "$tmp/livez" \
    --unix-socket "$other" http://h/livez
cat >"$tmp/move.py" <<'PY'
# A short lease of one replica is renewed by another; again if the machine was too slow for that.
import http.client, json, socket, sys

class Unix(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(30)
        self.sock.connect(self.host)

def ask(path, method, id, body, headers={}):
    client = Unix(path)
    client.request(method, '/v1/locks/moved', json.dumps(body),
                   {'Lease-Id': id, 'Host': 'h', 'Content-Type': 'application/json', **headers})
    answer = client.getresponse()
    return answer.status, json.loads(answer.read() or '{}')

for n in range(50):
    id = 'lease-of-the-audit-test-moved-%d' % n
    status, told = ask(sys.argv[1], 'PUT', id, {'ttl_ms': 2000, 'wait_ms': 30000})
    assert status == 201, told
    status, told = ask(sys.argv[2], 'POST', id, {'ttl_ms': 60000}, {'Grant': told['grant']})
    if status == 200:
        print(told['fence'])
        break
PY
# Granted here, released there: it ended, and nothing is wrong with it. Its time is over long after the nodes are
# looked at.
id=lease-of-the-audit-test-elsewhere
ask PUT /v1/locks/elsewhere "$id" -d '{"ttl_ms":24000,"label":"moving"}'
elsewhere=$(jq .fence <<<"$body")
socket=$other ask DELETE /v1/locks/elsewhere "$id"
is 'a lease is released through the other replica' "$code" 204
moved=$(timeout 120 python3 "$tmp/move.py" "$socket" "$other" 2>&1)
between 'a lease is renewed through the other replica' "$moved" 1 9999999999999999
new_id
ask PUT /v1/locks/left "$id" -d '{"ttl_ms":2000,"label":"gone"}'
fence=$(jq .fence <<<"$body")
that 'a lease that runs out is told once the nodes have forgotten it' \
    eventually has '.event == "expired" and .name == "left"'
is '   with what is known of it' "$(told '.event == "expired" and .name == "left"')" \
    "{\"event\":\"expired\",\"principal\":\"uid:$me\",\"name\":\"left\",\"label\":\"gone\",\"fence\":$fence,\"reason\":null}"
is '   one that another replica renewed has not expired' \
    "$(cat "$tmp/audit" "$tmp/audit2" | jq -c "select(.event == \"expired\" and .fence == $moved)")" ''
ask GET /metrics ''
like '   it is counted' "$body" "^redlockd_expired_unreleased_total $(count '.event == "expired"')\$"
kill -TERM "$second"
wait "$second"
is 'the replica that released it has a line of that' \
    "$(jq -c 'select(.name == "elsewhere") | [.event, .label, .fence]' "$tmp/audit2")" '["released","moving",null]'

# ---- streams ----

new_id
curl -sSN -m 60 -o "$tmp/events" --unix-socket "$socket" -X PUT -H "Lease-Id: $id" -H 'Accept: text/event-stream' \
    -H 'Content-Type: application/json' -d '{"label":"a stream"}' http://h/v1/locks/streamed &
stream=$!
that 'the grant of a stream' eventually has '.event == "granted" and .label == "a stream"'
kill -KILL "$stream"
wait "$stream" 2>/dev/null
that '   its end' eventually has '.event == "released" and .label == "a stream" and .reason == "CLOSED"'

# ---- other people's text ----

hostile='<script>alert(\"1\")</script>\\n{\"event\":\"granted\"}'
new_id
ask PUT '/v1/locks/%3Cb%3E%22,%22event%22:%22granted' "$id" -d "{\"label\":\"$hostile\",\"ttl_ms\":30000}"
is 'a name and a label that look like markup and like a line' "$code" 201
eventually is_written
is '   are one line' "$(jq -r 'select(.event == "granted") | .name, .label' "$tmp/audit" | tail -2)" \
    $'<b>","event":"granted\n<script>alert("1")</script>\\n{"event":"granted"}'
is '   every line is one object' "$(jq -c . "$tmp/audit" | wc -l)" "$(wc -l <"$tmp/audit")"
new_id
ask PUT /v1/locks/a%1b%5b2J "$id" -d '{}'
is 'a name that steers a terminal is refused' "$code" 400
ask PUT /v1/locks/a "$id" -d '{"label":"\u001b[2J"}'
is '   and a label' "$code" 422
eventually is_written
unlike '   neither is written anywhere' "$(cat "$tmp/audit" "$tmp/log")" $'\x1b'

# ---- released elsewhere ----

that 'a lease that was released elsewhere has ended' eventually has '.name == "elsewhere" and .event == "ended"'
is '   not expired' "$(told '.name == "elsewhere" and .event != "granted"')" \
    "{\"event\":\"ended\",\"principal\":\"uid:$me\",\"name\":\"elsewhere\",\"label\":\"moving\",\"fence\":$elsewhere,\"reason\":\"ELSEWHERE\"}"
is '   which the metrics say, too' "$(metric ended_elsewhere_total)" 1
is '   and the page is silent about' "$(curl -sS -m 60 --unix-socket "$socket" http://h/v1/status |
    jq -c '[.trouble[] | select(.name == "elsewhere")]')" '[]'

# ---- a file that is moved away ----

mv "$tmp/audit" "$tmp/audit.1"
kill -HUP "$pid"
that 'HUP opens the file again' eventually test -f "$tmp/audit"
new_id
ask PUT /v1/locks/later "$id" -d '{}'
is '   and lines go there' "$(count '.event == "granted" and .name == "later"')" 1
stop
is 'TERM ends it' "$status" 0
cat "$tmp/audit.1" "$tmp/log" >"$tmp/all"

# ---- a flood of denials ----

rm "$tmp/audit"
start "${rules[@]}" --audit "$tmp/audit"
cat >"$tmp/denied.py" <<'PY'
# So many requests without a token, in one connection; each is answered.
import http.client, sys
client = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1]), timeout=30)
for n in range(int(sys.argv[2])):
    client.request('GET', '/v1/locks')
    answer = client.getresponse()
    answer.read()
    assert answer.status == 401, answer.status
print('fine')
PY
began=$EPOCHREALTIME
is '500 denials are answered' "$(timeout 60 python3 "$tmp/denied.py" "$tcp" 500 2>&1 | tail -1)" fine
seconds=$(((${EPOCHREALTIME/./} - ${began/./}) / 1000000 + 2))
between '   by at most ten lines a second' "$(count '.reason == "UNAUTHORIZED"')" 10 $((10 * seconds))
curl -sS -m 60 -o /dev/null -X PUT -H 'Authorization: Bearer secret-of-ci' -H 'Lease-Id: lease-of-the-audit-test-ci' \
    -H 'Content-Type: application/json' -d '{}' "http://127.0.0.1:$tcp/v1/locks/not/mine"
is '   another sender has lines of its own' "$(count '.principal == "token:ci"')" 1
# all: lines, and what they say was left out before them
all() { told '.reason == "UNAUTHORIZED"' | jq -s 'map(1 + (.left_out // 0)) | add'; }
one_more() {
    asked=$((asked + 1))
    timeout 60 python3 "$tmp/denied.py" "$tcp" 1 >/dev/null
    [ "$(all)" = "$asked" ]
}
asked=500
that '   a later line tells how many were left out' eventually one_more
ask GET /metrics ''
like '   and the metrics count each' "$body" "^redlockd_denied_total $((asked + 1))\$"
stop

# ---- a target that nobody reads ----

mkfifo "$tmp/pipe"
exec {reader}<>"$tmp/pipe"
python3 -c 'import fcntl; fcntl.fcntl(0, 1031, 4096)' <&"$reader" # F_SETPIPE_SZ
start "${rules[@]}" --audit "$tmp/pipe"
for _ in {1..20}; do
    new_id
    ask PUT /v1/locks/flood "$id" -d '{"label":"a label of many characters, so that a pipe is full soon"}'
    codes+=$code
    ask DELETE /v1/locks/flood "$id"
    codes+=$code
done
is 'a full pipe holds up no request' "$codes" "$(printf '201204%.0s' {1..20})"
that '   what it did not take' eventually is_written
ask GET /metrics ''
between '   is counted' "$(sed -n 's/^redlockd_audit_dropped_total //p' <<<"$body")" 1 40
exec {reader}>&-
stop
start "${rules[@]}" --audit stderr
new_id
ask PUT /v1/locks/on-stderr "$id" -d '{}'
that 'lines on standard error' eventually grep -qs '"name":"on-stderr"' "$tmp/log"
stop

try "$redlockd" --check --listen "unix:$socket" --audit /nonexistent/audit
expect '--check looks at the file' 78 'audit: /nonexistent/audit: cannot be opened'
try "$redlockd" --check --listen "unix:$socket" --audit "$tmp/new-audit"
expect '   and makes none' 0
that '   as said' test ! -e "$tmp/new-audit"

cat "$tmp/log" "$tmp/log2" "$tmp/audit" "$tmp/audit2" >>"$tmp/all"
unlike 'no lease id and no token is written anywhere' "$(cat "$tmp/all")" 'lease-of-the-audit|secret-'
that '   and no grant' eval '! grep -qFf <(grep . "$tmp/grants") "$tmp/all"'
# The values on the nodes begin with a digest of the lease id.
python3 - >"$tmp/tags" <<'PY'
import base64, hashlib
for n in range(1, 100):
    digest = hashlib.sha256(b'lease-of-the-audit-test-%04d' % n).digest()
    print(base64.urlsafe_b64encode(digest).decode()[:22])
PY
that '   and no value' eval '! grep -qFf "$tmp/tags" "$tmp/all"'
unlike 'nothing of that is in an answer, or in the metrics' "$(cat "$tmp/bodies")" 'lease-of-the-audit|secret-'
that '   the grant is in the answer to its client only' eval '! grep -qFf <(grep . "$tmp/grants") "$tmp/bodies"'
that '   and no value' eval '! grep -qFf "$tmp/tags" "$tmp/bodies"'
unlike 'no sanitizer complains' "$(cat "$tmp/all")" 'Sanitizer|runtime error'
done_testing
