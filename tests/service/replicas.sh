#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Two replicas that share nothing but the servers: answers that are lost, renewals through the other one,
# waiters that are killed, and clients of four makes that take turns with one lock.
. "$(dirname "$0")/lib.bash" "$@"
needs curl python3 jq
inside_dev 3 "$@"
unhurried
export TOKEN=a-token-of-this-test
printf 'tester %s\n' "$(digest "$TOKEN")" >"$tmp/tokens"
rules=(--drain 1 --tokens "$tmp/tokens" --allow 'token:tester * acquire,read,admin' --allow "uid:$(id -u) * acquire,read,admin")

# The first replica is the one that lib.bash knows; the second has a socket and a log of its own.
start "${rules[@]}"
first_pid=$pid first_tcp=$tcp first=$socket first_log=$tmp/log.first
mv "$tmp/log" "$first_log"
socket=$tmp/second
start "${rules[@]}"
export FIRST=http://127.0.0.1:$first_tcp SECOND=http://127.0.0.1:$tcp

# ask REPLICA METHOD NAME ID [CURL-ARGUMENT...]: by its unix socket; $code and $body.
ask_http() {
    socket=$1 http "$2" "/v1/locks/$3" "${@:4}"
}
second=$socket
that 'the first replica is ready' eventually ready "$first"
that 'the second replica is ready' eventually ready "$second"

# ---- a renewal through the other replica; its deadline passes while the rest of the test runs ----

ask_http "$first" PUT renewed renewed-lease-of-the-test -d '{"ttl_ms":20000}'
is 'a short lease is granted' "$code" 201
renewed_at=$(now_ms) renewed_grant=$(field grant) renewed_fence=$(field fence)
ask_http "$second" POST renewed renewed-lease-of-the-test -H "Grant: $renewed_grant" -d '{"ttl_ms":60000}'
is '   and renewed through the other replica' "$code" 200
is '   with the same fence and grant' "$(field fence) $(field grant)" "$renewed_fence $renewed_grant"

# ---- an answer that is lost ----

cat >"$tmp/lose.py" <<'PY'
# Sends a PUT, waits until its answer is there, and leaves without reading it.
import socket, sys
granting = sys.argv[1]
client = socket.socket(socket.AF_UNIX)
client.connect(granting)
client.sendall(b'PUT /v1/locks/lost HTTP/1.1\r\nHost: h\r\nLease-Id: lease-whose-answer-is-lost\r\n'
               b'Content-Type: application/json\r\nContent-Length: 16\r\n\r\n{"ttl_ms":60000}')
# A byte of the answer is on its way: from here on only the client can end the lease.
client.settimeout(30)
assert client.recv(1, socket.MSG_PEEK)
client.close()
PY
that 'an answer to PUT is lost' timeout 60 python3 "$tmp/lose.py" "$first"
ask_http "$second" PUT lost lease-whose-answer-is-lost -d '{"ttl_ms":60000}'
is '   the same id again is "YOURS", on the other replica' "$code $(field code)" '409 YOURS'
ask_http "$second" DELETE lost lease-whose-answer-is-lost
is '   one DELETE there, without a grant' "$code" 204
ask_http "$second" PUT lost lease-of-the-second-try-x -d '{"ttl_ms":60000}'
is '   and one PUT with a new id' "$code" 201
ask_http "$first" PUT lost lease-whose-answer-is-lost -d '{"ttl_ms":60000}'
is '   the first id is never granted again where it was granted' "$code" 409

# ---- a waiter that is killed ----

curl -sS -m 60 --unix-socket "$first" -X PUT -H 'Lease-Id: lease-of-a-waiter-to-kill' \
    -H 'Content-Type: application/json' -d '{"wait_ms":50000,"fair":true}' http://h/v1/locks/lost >/dev/null &
waiter=$!
that 'a waiter is in the queue of the nodes' eventually queued lost
kill -KILL "$waiter"
wait "$waiter" 2>/dev/null
that '   and out of it when it is killed' eventually unqueued lost
ask_http "$first" DELETE lost lease-of-the-second-try-x
is '   the lock that it waited for is released' "$code" 204
ask_http "$second" PUT lost lease-of-the-next-client-x -d '{}'
is '   and free for the next client' "$code" 201

# ---- clients of four makes ----

# Each takes the lock five times, through one replica or the other, reads a number from a file, writes the
# next one, and notes its fence. What it believes comes from after_ms and remaining_ms only.
echo 0 >"$tmp/number"
: >"$tmp/fences"
export NUMBER=$tmp/number FENCES=$tmp/fences

cat >"$tmp/turns.py" <<'PY'
import json, os, secrets, sys, time, http.client, urllib.parse

class Standard:  # http.client
    def ask(self, method, base, headers, body):
        at = urllib.parse.urlsplit(base)
        client = http.client.HTTPConnection(at.hostname, at.port, timeout=60)
        client.request(method, '/v1/locks/turns', body, headers)
        answer = client.getresponse()
        text = answer.read()
        client.close()
        return answer.status, text

class Requests:
    def __init__(self):
        import requests
        self.session = requests.Session()
        self.session.trust_env = False
    def ask(self, method, base, headers, body):
        answer = self.session.request(method, base + '/v1/locks/turns', headers=headers, data=body, timeout=60)
        return answer.status_code, answer.content

client = Requests() if sys.argv[1] == 'requests' else Standard()
replicas = [os.environ['FIRST'], os.environ['SECOND']]
for turn in range(5):
    headers = {'Lease-Id': secrets.token_urlsafe(24), 'Content-Type': 'application/json',
               'Authorization': 'Bearer ' + os.environ['TOKEN']}
    began = time.clock_gettime(time.CLOCK_BOOTTIME)
    status, text = client.ask('PUT', replicas[turn % 2], headers, b'{"ttl_ms":30000,"wait_ms":50000}')
    told = json.loads(text)
    assert status == 201, told
    deadline = began + (told['after_ms'] + told['remaining_ms']) / 1000
    number = int(open(os.environ['NUMBER']).read())
    time.sleep(0.002)
    assert time.clock_gettime(time.CLOCK_BOOTTIME) < deadline, 'the machine stood still'
    open(os.environ['NUMBER'], 'w').write('%d\n' % (number + 1))
    open(os.environ['FENCES'], 'a').write('%d\n' % told['fence'])
    headers['Grant'] = told['grant']
    status, text = client.ask('POST', replicas[1 - turn % 2], headers, b'{"ttl_ms":20000}')
    assert status == 200 and json.loads(text)['fence'] == told['fence'], text
    status, text = client.ask('DELETE', replicas[1 - turn % 2], headers, None)
    assert status == 204 and text == b'', text
print('fine')
PY
cat >"$tmp/turns.mjs" <<'JS'
import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync, appendFileSync } from "node:fs";
const { FIRST, SECOND, TOKEN, NUMBER, FENCES } = process.env;
const replicas = [FIRST, SECOND];
for (let turn = 0; turn < 5; turn++) {
  const headers = { "lease-id": randomBytes(24).toString("base64url"), authorization: `Bearer ${TOKEN}`,
    "content-type": "application/json" };
  const ask = (method, base, body) => fetch(`${base}/v1/locks/turns`, { method, headers, body });
  const began = performance.now();
  let answer = await ask("PUT", replicas[turn % 2], '{"ttl_ms":30000,"wait_ms":50000}');
  const told = await answer.json();
  if (answer.status !== 201) throw told;
  const deadline = began + told.after_ms + told.remaining_ms;
  const number = Number(readFileSync(NUMBER, "utf8"));
  await new Promise(done => setTimeout(done, 2));
  if (performance.now() >= deadline) throw "the machine stood still";
  writeFileSync(NUMBER, `${number + 1}\n`);
  appendFileSync(FENCES, `${told.fence}\n`);
  headers.grant = told.grant;
  answer = await ask("POST", replicas[1 - turn % 2], '{"ttl_ms":20000}');
  if (answer.status !== 200 || (await answer.json()).fence !== told.fence) throw answer.status;
  answer = await ask("DELETE", replicas[1 - turn % 2]);
  if (answer.status !== 204) throw answer.status;
}
console.log("fine");
JS
turns_of_curl() {
    local turn id fence grant number
    for turn in 0 1 2 3 4; do
        local at=$FIRST other=$SECOND
        [ $((turn % 2)) = 0 ] || at=$SECOND other=$FIRST
        id=curl-lease-of-the-test-$turn
        local asks=(curl -sS -m 60 -H "Lease-Id: $id" -H "Authorization: Bearer $TOKEN"
            -H 'Content-Type: application/json')
        "${asks[@]}" -X PUT -d '{"ttl_ms":30000,"wait_ms":50000}' "$at/v1/locks/turns" >"$tmp/curl.json" || return
        grant=$(jq -re .grant "$tmp/curl.json") fence=$(jq -re .fence "$tmp/curl.json") || return
        number=$(<"$NUMBER")
        echo $((number + 1)) >"$NUMBER"
        echo "$fence" >>"$FENCES"
        "${asks[@]}" -X POST -H "Grant: $grant" -d '{"ttl_ms":20000}' "$other/v1/locks/turns" |
            jq -e ".fence == $fence" >/dev/null || return
        "${asks[@]}" -f -X DELETE -H "Grant: $grant" "$other/v1/locks/turns" || return
    done
    echo fine
}

# The interpreter that stands first may be without the package that the system's has.
requests=
for python in python3 /usr/bin/python3; do
    "$python" -c 'import requests' 2>/dev/null && requests=$python && break
done
clients=(curl http.client)
turns_of_curl >"$tmp/curl.out" 2>&1 &
timeout 120 python3 "$tmp/turns.py" standard >"$tmp/http.client.out" 2>&1 &
if [ -n "$requests" ]; then
    clients+=(requests)
    timeout 120 "$requests" "$tmp/turns.py" requests >"$tmp/requests.out" 2>&1 &
else
    printf '# left out: requests, which is not installed\n'
fi
if command -v node >/dev/null && [ "$(node -p 'typeof fetch')" = function ]; then
    clients+=(fetch)
    timeout 120 node "$tmp/turns.mjs" >"$tmp/fetch.out" 2>&1 &
else
    printf '# left out: fetch of node, which is not installed\n'
fi
for client in "${clients[@]}"; do
    ended() { [ -s "$tmp/$client.out" ]; }
    eventually ended
done
for job in $(jobs -p); do
    [ "$job" = "$first_pid" ] || [ "$job" = "$pid" ] || wait "$job"
done
for client in "${clients[@]}"; do
    is "$client takes turns with the others" "$(cat "$tmp/$client.out")" fine
done
is 'no turn of another client was overwritten' "$(<"$NUMBER")" $((5 * ${#clients[@]}))
is 'the fences are in the order of the turns' "$(sort -nu "$FENCES")" "$(<"$FENCES")"

# ---- the renewed lease, past its first deadline ----

past_deadline() { [ "$(now_ms)" -gt $((renewed_at + 20500)) ]; }
eventually past_deadline
ask_http "$first" PUT renewed another-lease-of-the-test -d '{}'
is 'past its first deadline the renewed lease is still held' "$code" 423
ask_http "$first" POST renewed renewed-lease-of-the-test -H "Grant: $renewed_grant" -d '{}'
is '   and its granting replica renews it' "$code $(field fence)" "200 $renewed_fence"

# ---- the end ----

stop
is 'TERM ends the second' "$status" 0
unlike 'no sanitizer complains of it' "$(cat "$tmp/log")" 'Sanitizer|runtime error'
pid=$first_pid
stop
is 'TERM ends the first' "$status" 0
unlike 'no sanitizer complains of that' "$(cat "$first_log")" 'Sanitizer|runtime error'
done_testing
