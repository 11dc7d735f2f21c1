#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Caps of rules: leases, waiters, TTL and requests; a flood stays inside of them, and renewals and releases
# work all the same.
. "$(dirname "$0")/lib.bash" "$@"
needs curl jq python3 sha256sum
inside_dev 3 "$@"
unhurried
me=$(id -u)
for name in ci flood made-up; do
    printf '%s %s\n' "$name" "$(digest "secret-of-$name")"
done >"$tmp/tokens"

bad() { # WHAT PATTERN RULE
    try "$redlockd" --check --listen "unix:$socket" --allow "$3"
    expect "$1" 78 "$2"
}
bad 'a cap of 0' 'caps are leases=N' 'uid:1 a acquire leases=0'
bad 'a cap that does not exist' 'caps are leases=N' 'uid:1 a acquire leasses=1'
bad 'a TTL beyond reason' 'ttl= is a time from 10ms to 1d' 'uid:1 a acquire ttl=2d'

start --tokens "$tmp/tokens" --audit "$tmp/audit" --allow 'token:ci ci/ acquire leases=2 waiters=1 ttl=20s' \
    --allow "uid:$me * acquire,read,admin" --allow 'token:flood * acquire,read requests=20' \
    --allow 'token:made-up made/ acquire requests=2'
cat >"$tmp/client.py" <<'PY'
import http.client, json, socket, sys, threading, time

port, local = int(sys.argv[1]), sys.argv[2]
number = 0

class Unix(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(local)

class Client:
    def __init__(self, token):
        self.token = token
        self.http = http.client.HTTPConnection('127.0.0.1', port, timeout=60) if token else Unix('h')

    def ask(self, method, name, id, body=None, grant=None):
        headers = {'Lease-Id': id, 'Content-Type': 'application/json'}
        if self.token:
            headers['Authorization'] = 'Bearer ' + self.token
        if grant:
            headers['Grant'] = grant
        self.http.request(method, name if name[0] == '/' else '/v1/locks/' + name,
                          None if body is None else json.dumps(body), headers)
        answer = self.http.getresponse()
        text = answer.read()
        told = json.loads(text) if text[:1] == b'{' else text.decode()
        return answer.status, told, answer.headers

def new_id():
    global number
    number += 1
    return 'lease-of-the-quota-test-%06d' % number

def metric(name):
    text = Client('').ask('GET', '/metrics', 'x')[1]
    return [float(line.split()[-1]) for line in text.split('\n') if line.startswith('redlockd_' + name)]

def until(what):
    end = time.monotonic() + 60
    while not what():
        assert time.monotonic() < end
        time.sleep(0.01)

# ---- leases ----

ci = Client('secret-of-ci')
held = []
for n in range(2):
    id = new_id()
    status, told, _ = ci.ask('PUT', 'ci/%d' % n, id, {})
    assert (status, told['ttl_ms']) == (201, 20000), told # as long as the rule allows
    held.append((id, told['grant'], told['fence']))
status, told, headers = ci.ask('PUT', 'ci/2', new_id(), {})
assert (status, told['code'], headers['Retry-After']) == (429, 'QUOTA', '1'), told
status, told, _ = Client('').ask('PUT', 'ci/2', new_id(), {'ttl_ms': 60000})
assert status == 201, told                              # another rule
status, told, _ = ci.ask('POST', 'ci/0', held[0][0], {'ttl_ms': 20001}, held[0][1])
assert (status, told['code']) == (422, 'INVALID'), told
status, told, _ = ci.ask('POST', 'ci/0', held[0][0], {'ttl_ms': 20000}, held[0][1])
assert status == 200, told
assert ci.ask('DELETE', 'ci/0', held[0][0], None, held[0][1])[0] == 204
id = new_id()
status, told, _ = ci.ask('PUT', 'ci/3', id, {'ttl_ms': 2000})
assert status == 201, told                              # there is room again
def expired():
    with open(sys.argv[3]) as audit:
        return any('"expired"' in line and '"ci/3"' in line for line in audit)
until(expired)                                          # what runs out makes room, too
spare = new_id()
status, told, _ = ci.ask('PUT', 'ci/4', spare, {})
assert status == 201, told
assert ci.ask('DELETE', 'ci/4', spare, None, told['grant'])[0] == 204

# ---- waiters ----

def wait(id, results):
    results.append(Client('secret-of-ci').ask('PUT', 'ci/2', id, {'wait_ms': 30000}))
waiter, results = new_id(), []
thread = threading.Thread(target=wait, args=(waiter, results))
thread.start()
until(lambda: metric('waiters') == [1])
status, told, _ = ci.ask('PUT', 'ci/2', new_id(), {'wait_ms': 1000})
assert (status, told['code']) == (429, 'QUOTA'), told
assert ci.ask('PUT', 'ci/2', new_id(), {})[0] == 423    # it does not wait
assert ci.ask('DELETE', 'ci/2', waiter)[0] == 204       # ends the wait
thread.join()
assert results[0][0] == 410, results
assert ci.ask('PUT', 'ci/2', new_id(), {'wait_ms': 2000})[0] == 423

# Leases of the rule that were granted while a request waited count when its turn comes.
owner = Client('')
status, told, _ = owner.ask('PUT', 'ci/5', (id := new_id()), {'ttl_ms': 60000})
assert status == 201, told
waiter, results = new_id(), []
def wait_longer():
    results.append(Client('secret-of-ci').ask('PUT', 'ci/5', waiter, {'wait_ms': 30000}))
thread = threading.Thread(target=wait_longer)
thread.start()
until(lambda: metric('waiters') == [1])
assert ci.ask('PUT', 'ci/6', new_id(), {})[0] == 201    # the second of two
assert owner.ask('DELETE', 'ci/5', id, None, told['grant'])[0] == 204
thread.join()
assert (results[0][0], results[0][1]['code']) == (429, 'QUOTA'), results
status, told, _ = owner.ask('PUT', 'ci/5', new_id(), {'wait_ms': 10000})
assert status == 201, told                              # what it was granted was given back

# ---- leases that are not there ----

# Another rule is in no way of this: a renewal and a release of what this replica does not know, and there is none.
made_up = Client('secret-of-made-up')
status, told, _ = made_up.ask('PUT', 'made/up', (real := new_id()), {'ttl_ms': 60000})
assert status == 201, told
grant, fence = told['grant'], told['fence']
began = time.monotonic()
seen = {}
for method in ['POST'] * 300 + ['DELETE'] * 300:
    status = made_up.ask(method, 'made/up', new_id(), {} if method == 'POST' else None, grant)[0]
    seen[status] = seen.get(status, 0) + 1
assert set(seen) == {410, 429}, seen
assert 2 <= seen[410] <= 2 * (time.monotonic() - began + 2), seen
# What this replica knows is outside of that: renewed at its own pace, whatever the request asks for, and released.
began = time.monotonic()
seen = {200: 0, 429: 0}
while seen[429] < 20:
    seen[made_up.ask('POST', 'made/up', real, {'ttl_ms': 30000}, grant)[0]] += 1
assert 10 <= seen[200] <= 20 + 2 * (time.monotonic() - began + 2), seen
assert made_up.ask('DELETE', 'made/up', real, None, grant)[0] == 204
assert metric('lost_total') == [0, 0, 0], metric('lost_total')

# ---- a flood ----

holder = Client('secret-of-flood')
id = new_id()
status, told, _ = holder.ask('PUT', 'flooded', id, {'ttl_ms': 60000})
assert status == 201, told
grant = told['grant']
stop = threading.Event()
seen = {}
def flood(n):
    client = Client('secret-of-flood')
    for turn in range(10 ** 9):
        if stop.is_set():
            return
        if n % 2:
            status = client.ask('GET', 'flooded', 'x')[0]
        else:
            status = client.ask('PUT', 'other', 'flood-of-the-quota-test-%d-%06d' % (n, turn), {})[0]
        seen[status] = seen.get(status, 0) + 1
began = time.monotonic()
threads = [threading.Thread(target=flood, args=(n,)) for n in range(4)]
for thread in threads:
    thread.start()
until(lambda: seen.get(429, 0) > 200)
for n in range(9):
    status, told, _ = holder.ask('POST', 'flooded', id, {'ttl_ms': 60000}, grant)
    assert status == 200, told                          # renewals are outside of the quota
status, told, _ = Client('').ask('PUT', 'mine', new_id(), {})
assert status == 201, told                              # and so are others
# The tenth is free, the others take part in the quota that the flood has used up.
renewals = [holder.ask('POST', 'flooded', id, {'ttl_ms': 60000}, grant)[0] for n in range(50)]
assert renewals[0] == 200 and 429 in renewals[1:], renewals
assert holder.ask('DELETE', 'flooded', id, None, grant)[0] == 204
stop.set()
for thread in threads:
    thread.join()
spent = time.monotonic() - began
let_in = sum(count for status, count in seen.items() if status != 429)
assert let_in <= 20 * (spent + 2), (let_in, spent)
assert metric('quota_rejected_total{rule="3"}')[0] >= seen[429]
assert metric('quota_rejected_total{rule="2"}') == [0]
print('fine')
PY
is 'caps on leases, waiters, TTL and requests' \
    "$(timeout 120 python3 "$tmp/client.py" "$tcp" "$socket" "$tmp/audit" 2>&1 | tail -8)" fine
that 'what was refused is in the audit log' \
    eventually grep -q '"denied".*"token:flood".*"QUOTA"' "$tmp/audit"
stop
is 'TERM ends it' "$status" 0
unlike 'no secret is written anywhere' "$(cat "$tmp/log" "$tmp/audit")" 'secret|-of-the-quota-test'
unlike 'no sanitizer complains' "$(cat "$tmp/log")" 'Sanitizer|runtime error'
done_testing
