#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# curl as the holder of a lock: streams on the local socket, the death of their processes, and the drain.
. "$(dirname "$0")/lib.bash" "$@"
needs curl python3 jq openssl
inside_dev 3 "$@"
unhurried
printf 'reader %s\n' "$(digest reader-token)" >"$tmp/tokens"
mkdir "$tmp/certs"
"$certs" "$tmp/certs" || exit 1
start --drain 30 --listen tls:127.0.0.1:0 --tls-cert "$tmp/certs/good.crt" --tls-key "$tmp/certs/good.key" \
    --tokens "$tmp/tokens" --allow 'token:reader * acquire,read' \
    --allow "uid:$(id -u) * acquire,read,admin"

curls() { curl -sS -m 60 --unix-socket "$socket" -H 'Content-Type: application/json' "$@"; }
that 'the nodes vote' eventually ready

# stream FILE BODY [CURL-ARGUMENT...]: a curl that holds or waits; $! is its process.
stream() {
    local file=$1 body=$2
    shift 2
    curl -sSN --unix-socket "$socket" -X PUT -H 'Accept: text/event-stream' -H "Lease-Id: $id" \
        -H 'Content-Type: application/json' "$@" -d "$body" http://h/v1/locks/job >"$file" 2>&1 &
}
told() { grep -qsx "event: $2" "$1"; }
# member FILE EVENT KEY: of the last event of this name
member() { grep -A1 "^event: $2\$" "$1" | sed -n 's/^data: //p' | tail -1 | jq -r ".$3"; }
held() { [ "$(curls http://h/v1/locks/job | jq -r .held)" = "$1" ]; }
waiters() { [ "$(curls http://h/v1/locks/job | jq -r .waiters)" = "$1" ]; }

# ---- curl holds ----

new_id
stream "$tmp/first" '{"label":"first"}'
first=$!
that 'curl -N on the local socket holds a lock' eventually told "$tmp/first" granted
that '   the nodes say so' held true
unlike '   its grant is not told while closing releases' "$(cat "$tmp/first")" grant\"
new_id
stream "$tmp/second" '{"wait_ms":600000}'
second=$!
that 'another curl waits for it' eventually waiters 1
new_id
stream "$tmp/third" '{"wait_ms":600000}'
third=$!
kill -KILL "$second"
wait "$second" 2>/dev/null
kill -KILL "$first"
wait "$first" 2>/dev/null
that 'kill -9 of the holder gives it to the waiter that still lives' eventually told "$tmp/third" granted
unlike '   not to the one that was killed' "$(cat "$tmp/second")" granted
kill -KILL "$third"
wait "$third" 2>/dev/null
that '   and kill -9 of that one frees it' eventually held false

# ---- curl holds, through TLS ----

new_id
curl -sSN --cacert "$tmp/certs/ca.crt" -X PUT -H 'Accept: text/event-stream' -H "Lease-Id: $id" \
    -H 'Authorization: Bearer reader-token' --json '{"ttl_ms":9000}' \
    "https://127.0.0.1:$tls/v1/locks/job" >"$tmp/tls" 2>&1 &
far=$!
that 'curl -N holds a lock through TLS' eventually told "$tmp/tls" granted
that '   and is renewed' eventually told "$tmp/tls" renewed
like '   its grant is told: a connection that breaks can be followed by another' \
    "$(member "$tmp/tls" granted grant)" '^[A-Za-z0-9_-]+$'
kill -KILL "$far"
wait "$far" 2>/dev/null
that '   killed, its lock is free when the TTL has passed' eventually held false

# ---- fetch of node holds, through TCP ----

cat >"$tmp/events.mjs" <<'JS'
// Reads events as EventSource does, which itself can only GET: fields up to an empty line are one event.
const [, , url, lease, other] = process.argv;
const ask = (method, id, headers, body) =>
    fetch(url, {
        method,
        headers: { Authorization: "Bearer reader-token", "Lease-Id": id, "Content-Type": "application/json", ...headers },
        body,
    });
const give_up = setTimeout(() => process.exit(3), 60000);

async function* events(answer) {
    let text = "";
    for await (const piece of answer.body.pipeThrough(new TextDecoderStream())) {
        text += piece;
        for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
            const fields = text.slice(0, end).split("\n").filter((line) => !line.startsWith(":"));
            const event = Object.fromEntries(fields.map((line) => line.split(/: (.*)/s)));
            if (event.event) yield [event.event, JSON.parse(event.data)];
        }
    }
}

const body = JSON.stringify({ ttl_ms: 3000, wait_ms: 60000 });
const stream = await ask("PUT", lease, { Accept: "text/event-stream" }, body);
console.log(stream.status, stream.headers.get("content-type"));
let renewed = false;
for await (const [event, data] of events(stream)) {
    if (event === "granted") console.log(event, data.fence > 0, data.after_ms >= 0, data.remaining_ms > 0);
    if (event === "granted") console.log("beside it", (await ask("PUT", other, {}, "{}")).status);
    if (event === "renewed" && !renewed) {
        renewed = true;
        console.log(event, (await ask("DELETE", lease, {})).status);
    }
    if (event === "lost") console.log(event, data.status, data.code);
}
console.log("the end");
clearTimeout(give_up);
JS
if command -v node >/dev/null && [ "$(node -p 'typeof fetch')" = function ]; then
    new_id
    one=$id
    new_id
    is 'node reads the events of its lock, is renewed, and ends it by DELETE' \
        "$(timeout 90 node "$tmp/events.mjs" "http://127.0.0.1:$tcp/v1/locks/job" "$one" "$id" 2>&1)" \
        '200 text/event-stream
granted true true true
beside it 423
renewed 204
lost 410 ENDED
the end'
else
    printf '# left out: fetch of node, which is not installed\n'
fi

# ---- the drain ----

new_id
stream "$tmp/leaving" '{}'
leaving=$!
that 'a stream holds when TERM comes' eventually told "$tmp/leaving" granted
stream_id=$id
new_id
stream "$tmp/waiting" '{"wait_ms":600000}'
waiting=$!
that '   another waits' eventually waiters 1
new_id
grant=$(curls -X PUT -H "Lease-Id: $id" -d '{}' http://h/v1/locks/lease | jq -r .grant)
kill -TERM "$pid"
that '   the holder is told to reconnect' eventually told "$tmp/leaving" reconnect
wait "$leaving" "$waiting"
is '   with its grant and the deadline' "$(member "$tmp/leaving" reconnect 'grant != null and .remaining_ms > 0')" true
is '   the waiter gets 503' "$(member "$tmp/waiting" lost 'status, .code' | xargs)" '503 DRAINING'
unlike '   and is not granted' "$(cat "$tmp/waiting")" granted
like '   new connections are told that it is not ready' \
    "$(curls -i http://h/readyz)" '^HTTP/1.1 503 '
that '   a lease is renewed through a new connection' test 200 = "$(curls -o /dev/null -w '%{http_code}' \
    -X POST -H "Lease-Id: $id" -H "Grant: $grant" -d '{}' http://h/v1/locks/lease)"
is '   a new one is 503' "$(curls -o /dev/null -w '%{http_code}' -X PUT -H "Lease-Id: $stream_id-2" \
    -d '{}' http://h/v1/locks/other)" 503
that '   it is still there, since the lease is' kill -0 "$pid"
is '   it releases' "$(curls -o /dev/null -w '%{http_code}' -X DELETE -H "Lease-Id: $id" \
    http://h/v1/locks/lease)" 204
status=0
wait "$pid" || status=$?
is '   and then ends by itself' "$status" 0
cp "$tmp/log" "$tmp/log-1"

start --drain 30
that 'the next process is up' eventually ready
that '   what was left is still held' held true
id=$stream_id
stream "$tmp/back" '{}' -H "Grant: $(member "$tmp/leaving" reconnect grant)"
back=$!
that 'the stream comes back with its grant' eventually told "$tmp/back" granted
is '   and keeps its fence' "$(member "$tmp/back" granted fence)" "$(member "$tmp/leaving" granted fence)"
kill -KILL "$back"
wait "$back" 2>/dev/null
is '   DELETE ends it without the grant' "$(curls -o /dev/null -w '%{http_code}' -X DELETE \
    -H "Lease-Id: $id" http://h/v1/locks/job)" 204
stop
is 'TERM ends a daemon without leases at once' "$status" 0

# ---- a service manager: STATUS, and restarts without a refused connection ----

cat >"$tmp/manager.py" <<'PY'
# Restarts the daemon twice on one inherited socket, while clients take, renew and release leases.
import http.client, json, os, re, signal, socket, sys, threading, time

redlockd, directory = sys.argv[1:]
manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
manager.bind(directory + '/notify')
manager.settimeout(60)
listener = socket.socket(socket.AF_UNIX)
listener.bind(directory + '/inherited')
listener.listen(100)

def start():
    pid = os.fork()
    if pid == 0:
        os.dup2(listener.fileno(), 3)
        os.set_inheritable(3, True)  # also if it was 3 already
        os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='1',
                          NOTIFY_SOCKET=directory + '/notify')
        os.execv(redlockd, [redlockd, '--drain', '5'])
    return pid

def told(pattern):
    for _ in range(100):
        message = manager.recv(4096).decode()
        if re.fullmatch(pattern, message):
            return message
    raise SystemExit('not told ' + pattern)

def ask(method, id, body=None, grant=None):
    client = http.client.HTTPConnection('h', timeout=60)
    client.sock = socket.socket(socket.AF_UNIX)
    client.sock.settimeout(60)
    client.sock.connect(directory + '/inherited')
    headers = {'Lease-Id': id, 'Content-Type': 'application/json', 'Connection': 'close'}
    if grant:
        headers['Grant'] = grant
    client.request(method, '/v1/locks/' + id, None if body is None else json.dumps(body), headers)
    answer = client.getresponse()
    text = answer.read()
    return answer.status, json.loads(text) if text else None

stop, wrong, turns = threading.Event(), [], [0]
def work(n):
    turn = 0
    while not stop.is_set():
        turn += 1
        id = 'rolling-%04d-%020d' % (n, turn)
        try:
            status, told = ask('PUT', id, {'ttl_ms': 30000})
            if status == 503:  # draining, or the nodes are not connected yet
                continue
            assert status == 201, (status, told)
            grant = told['grant']
            for _ in range(3):
                status, told = ask('POST', id, {}, grant)
                while status == 503:
                    status, told = ask('POST', id, {}, grant)
                assert status == 200, (status, told)
            status, told = ask('DELETE', id, grant=grant)
            while status == 503:
                status, told = ask('DELETE', id, grant=grant)
            assert status == 204 or status == 410, (status, told)
            turns[0] += 1
        except Exception as error:
            wrong.append(repr(error))
            return

pid = start()
told('READY=1')
told('STATUS=3/3 nodes vote, 0 leases')
threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
for thread in threads:
    thread.start()
for _ in range(2):
    told(r'STATUS=3/3 nodes vote, [1-9]\d* leases')
    os.kill(pid, signal.SIGTERM)
    told('STOPPING=1')
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    pid = start()
    told('READY=1')
before = turns[0]
end = time.monotonic() + 60
while turns[0] < before + 8 and not wrong and time.monotonic() < end:
    time.sleep(0.02)
assert turns[0] >= before + 8 or wrong
stop.set()
for thread in threads:
    thread.join()
os.kill(pid, signal.SIGTERM)
os.waitpid(pid, 0)
assert not wrong, wrong
print('fine')
PY
is 'two restarts under load: no lease is lost, and no connection refused' \
    "$(timeout 120 python3 "$tmp/manager.py" "$redlockd" "$tmp" 2>"$tmp/errors" || tail -3 "$tmp/errors")" fine
# ---- a socket of the manager that a proxy talks to ----

cat >"$tmp/proxied.py" <<'PY'
# Prints the status of a look through an inherited unix socket, as `listen` has it, or not at all.
import os, signal, socket, sys

redlockd, path, *options = sys.argv[1:]
listener = socket.socket(socket.AF_UNIX)
listener.bind(path)
listener.listen(10)
pid = os.fork()
if pid == 0:
    os.dup2(listener.fileno(), 3)
    os.set_inheritable(3, True)  # also if it was 3 already
    os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='1')
    os.execv(redlockd, [redlockd] + options)
try:
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(20)
    client.connect(path)
    client.sendall(b'GET /v1/status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
    print(client.recv(4096).split()[1].decode())
finally:
    os.kill(pid, signal.SIGTERM)
    os.waitpid(pid, 0)
PY
is 'a socket of the manager knows its clients by their user' \
    "$(timeout 60 python3 "$tmp/proxied.py" "$redlockd" "$tmp/plain" 2>>"$tmp/errors")" 200
is '   but not where listen says that a proxy connects to it' \
    "$(timeout 60 python3 "$tmp/proxied.py" "$redlockd" "$tmp/proxy" \
        --listen "unix:$tmp/proxy peer=proxy" 2>>"$tmp/errors")" 401
unlike 'no sanitizer complains' "$(cat "$tmp/log" "$tmp/log-1" "$tmp/errors")" 'Sanitizer|runtime error'
done_testing
