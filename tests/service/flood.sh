#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Floods: connections that do nothing, requests that wait, and more requests than a rule allows. The daemon
# stays inside its limits, and renewals and releases of others work all the while.
. "$(dirname "$0")/lib.bash" "$@"
needs python3 openssl
inside_dev 3 "$@"
unhurried
for name in good greedy busy lister; do
    printf '%s %s\n' $name "$(digest $name-token)"
done >"$tmp/tokens"
mkdir "$tmp/certs"
"$certs" "$tmp/certs" || exit 1
start --drain 1 --connections 400 --listen tls:127.0.0.1:0 --tls-cert "$tmp/certs/good.crt" \
    --tls-key "$tmp/certs/good.key" --tokens "$tmp/tokens" --allow 'token:good * acquire,read,admin' \
    --allow 'token:greedy greedy/ acquire,read waiters=200' --allow 'token:busy greedy/ read,acquire requests=5' \
    --allow 'token:lister greedy/ read'
that 'the daemon is ready' eventually ready

cat >"$tmp/flood.py" <<'PY'
import json, re, socket, sys, time

path, pid = sys.argv[1], sys.argv[2]
plain_port, tls_port = int(sys.argv[3]), int(sys.argv[4])
LIMIT = 400

def connect(port=None):
    client = socket.socket(socket.AF_INET if port else socket.AF_UNIX)
    client.settimeout(60)
    client.connect(('127.0.0.1', port) if port else path)
    return client

def request(method, target, id='', who='good', body=None, grant=None):
    text = '%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s-token\r\n' % (method, target, who)
    if id:
        text += 'Lease-Id: %s\r\n' % id
    if grant:
        text += 'Grant: %s\r\n' % grant
    if body is not None:
        text += 'Content-Type: application/json\r\nContent-Length: %d\r\n' % len(body)
    return (text + '\r\n' + (body or '')).encode()

def answer(client):
    got = b''
    while b'\r\n\r\n' not in got:
        piece = client.recv(65536)
        if not piece:
            raise EOFError
        got += piece
    head, _, body = got.partition(b'\r\n\r\n')
    length = re.search(rb'(?i)content-length: (\d+)', head)
    while length and len(body) < int(length[1]):
        body += client.recv(65536)
    return int(head.split()[1]), head.decode(), body.decode()

def ask(*arguments, **named):
    """On a new connection, as most clients do."""
    client = connect()
    client.sendall(request(*arguments, **named))
    result = answer(client)
    client.close()
    return result

def metric(pattern):
    status, _, text = ask('GET', '/metrics')
    assert status == 200, text
    return sum(float(value) for value in re.findall(r'(?m)^redlockd_%s(?:{[^}]*})? (\S+)$' % pattern, text))

def memory_kib():
    """What is the daemon's own; None: a sanitizer's memory is in it."""
    if int(re.search(r'VmSize:\s+(\d+)', open('/proc/%s/status' % pid).read())[1]) > 1 << 30:
        return None
    return sum(map(int, re.findall(r'Private_\w+:\s+(\d+)', open('/proc/%s/smaps_rollup' % pid).read())))

def lease(number):
    return 'lease-of-the-good-client-%d' % number

held = []
for number in range(5):
    status, _, text = ask('PUT', '/v1/locks/keep/%d' % number, lease(number), body='{"ttl_ms":50000}')
    assert status == 201, text
    held.append(json.loads(text)['grant'])

def renew_all(when):
    for number, grant in enumerate(held):
        status, _, text = ask('POST', '/v1/locks/keep/%d' % number, lease(number), body='{"ttl_ms":50000}',
                              grant=grant)
        assert status == 200, (when, status, text)
    connections = metric('connections')
    assert connections <= LIMIT, (when, connections)

# Connections that do nothing: the one that is idle for longest makes room.
idle = [connect() for _ in range(2 * LIMIT)]
renew_all('idle')
closed = 0
for client in idle:
    client.setblocking(False)
    try:
        closed += client.recv(1) == b''
    except BlockingIOError:
        pass
    client.close()
assert closed >= LIMIT - 1, closed

# Strangers on the ports that begin requests and TLS handshakes and never end them: clients of the socket and
# of the port get in beside them, and a connection that a rule has served before is not closed for any of them.
def renew_through(client):
    client.sendall(request('POST', '/v1/locks/keep/0', lease(0), body='{"ttl_ms":50000}', grant=held[0]))
    status, _, text = answer(client)
    assert status == 200, (status, text)

kept = connect(plain_port)
renew_through(kept)
for port, text in (plain_port, b'GET /v1/locks HTTP/1.1\r\n'), (tls_port, b''), (plain_port, b''):
    crowd = []
    for _ in range(2 * LIMIT):
        crowd.append(connect(port))
        crowd[-1].sendall(text)
    renew_all('strangers')
    renew_through(connect(plain_port))
    renew_through(kept)
    for client in crowd:
        client.close()
assert metric('connections_evicted_total') > 3 * LIMIT

# Requests that wait: as many as the rule allows, the next is told so.
status, _, text = ask('PUT', '/v1/locks/greedy/held', 'lease-that-is-waited-for', body='{"ttl_ms":50000}',
                      who='greedy')
assert status == 201, text
waiting = []
before_kib = memory_kib()
for number in range(200):
    client = connect()
    client.sendall(request('PUT', '/v1/locks/greedy/held', 'lease-that-waits-here-%d' % number, who='greedy',
                           body='{"wait_ms":50000}'))
    waiting.append(client)
until = time.monotonic() + 60
while metric('waiters') < 200:
    assert time.monotonic() < until, metric('waiters')
    time.sleep(0.02)
# 2 KiB each (make bench-service measures 10,000 of them), and what the first ones need for all.
assert before_kib is None or memory_kib() - before_kib <= 200 * 6, memory_kib() - before_kib
status, head, text = ask('PUT', '/v1/locks/greedy/held', 'lease-that-waits-too-much', who='greedy',
                         body='{"wait_ms":50000}')
assert status == 429 and 'Retry-After: ' in head, (status, head)
renew_all('waiting')

# More requests than the rule allows: the others are not even slower for it, and a release is never refused.
seen = {}
busy = [connect() for _ in range(10)]
for turn in range(60):
    for client in busy:
        client.sendall(request('GET', '/v1/locks/greedy/held', who='busy'))
    for client in busy:
        status, head, _ = answer(client)
        seen[status] = seen.get(status, 0) + 1
        assert status != 429 or 'Retry-After: ' in head
    if turn % 20 == 0:
        renew_all('busy')
assert seen.get(429, 0) > 0, seen
status, _, text = ask('DELETE', '/v1/locks/greedy/held', 'lease-that-is-not-there', who='busy')
assert status == 410, (status, text)
status, _, text = ask('DELETE', '/v1/locks/greedy/held', 'lease-that-is-waited-for', who='greedy')
assert status == 204, (status, text)

# One of the waiters has the lock now. All go, and nothing of them is left.
for client in waiting + busy:
    client.close()
while metric('waiters') > 0:
    assert time.monotonic() < until + 30
    time.sleep(0.02)
for number, grant in enumerate(held):
    status, _, text = ask('DELETE', '/v1/locks/keep/%d' % number, lease(number), grant=grant)
    assert status == 204, (status, text)
print('fine')
PY
is 'renewals and releases work beside idle, strange, waiting and greedy clients' \
    "$(timeout 120 python3 "$tmp/flood.py" "$socket" "$pid" "$tcp" "$tls" 2>&1 | tail -3)" fine

# ---- lists ----

cat >"$tmp/lists.py" <<'PY'
# Twelve lists while no node answers: eight are asked, four of each principal; the others are refused at once.
import select, socket, sys
clients = []
for who in ['good'] * 5 + ['greedy'] * 5 + ['lister'] * 2:
    client = socket.socket(socket.AF_UNIX)
    client.connect(sys.argv[1])
    client.sendall(b'GET /v1/locks HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer %s-token\r\n\r\n' % who.encode())
    clients.append(client)
refused = {b'429': 0, b'503': 0, b'200': 0}
while clients:
    readable = select.select(clients, [], [], 60)[0]
    assert readable
    for client in readable:
        text = client.recv(65536)
        if b'"LISTS"' in text and b'Retry-After: ' in text:
            refused[text.split()[1]] += 1
        clients.remove(client)
print(refused[b'429'], refused[b'503'])
PY
redlock=$(dirname "$redlockd")/redlock
for node in 1 2 3; do "$redlock" dev hang $node >/dev/null; done
is 'a flood of lists asks the nodes for eight at a time' "$(timeout 100 python3 "$tmp/lists.py" "$socket" 2>&1 | tail -1)" '2 2'
for node in 1 2 3; do "$redlock" dev resume $node >/dev/null; done

stop
is 'TERM ends it' "$status" 0
unlike 'no sanitizer complains' "$(cat "$tmp/log")" 'Sanitizer|runtime error'

# ---- clients take no descriptor that a node needs ----

printf '#!/bin/sh\nulimit -n 80\nexec "%s" "$@"\n' "$redlockd" >"$tmp/few"
chmod +x "$tmp/few"
redlockd=$tmp/few
start
that 'few descriptors are fewer connections, which is said' \
    eventually grep -qs 'at most 40 connections, not 16384' "$tmp/log"
that 'the daemon is ready' eventually ready
cat >"$tmp/descriptors.py" <<'PY'
import re, socket, subprocess, sys
path, redlock = sys.argv[1:]
def connect(text):
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(60)
    client.connect(path)
    client.sendall(text)
    return client
def crowd(most):
    """Clients that are served once, and then have sent half a head: none of them is idle."""
    for _ in range(most):
        clients.append(connect(b'GET /livez HTTP/1.1\r\nHost: h\r\n\r\nGET /livez'))
        clients[-1].settimeout(0.3)
        try:
            clients[-1].recv(4096)
        except TimeoutError:
            return # no room
clients = []
# A feed is not idle, and tells what becomes of the nodes.
feed, told = connect(b'GET /v1/events HTTP/1.1\r\nHost: h\r\n\r\n'), b''
def connected():
    """How many nodes are, as told last."""
    states = dict(re.findall(rb'"node":"([^"]*)".*"state":"([^"]*)"', told))
    return sum(state != b'down' for state in states.values())
def wait_for(count):
    global told
    while connected() != count:
        piece = feed.recv(65536)
        assert piece
        told += piece
wait_for(3)
crowd(80)
subprocess.run([redlock, 'dev', 'kill', '1'], check=True, stdout=subprocess.DEVNULL)
wait_for(2)
crowd(10) # those that find room have the descriptors of the node
subprocess.run([redlock, 'dev', 'start', '1'], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
wait_for(3)
print('fine')
PY
is 'a crowd of clients leaves a descriptor for a node that comes back' \
    "$(timeout 120 python3 "$tmp/descriptors.py" "$socket" "$redlock" 2>&1 | tail -3)" fine
stop
is 'TERM ends it' "$status" 0
unlike 'no sanitizer complains' "$(cat "$tmp/log")" 'Sanitizer|runtime error'
done_testing
