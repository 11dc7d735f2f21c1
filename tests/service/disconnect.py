# SPDX-License-Identifier: BSD-2-Clause
"""
How soon is the lock of a local client free that is killed with -9, and how soon is a waiter that is killed
out of the queue? From kill() to the moment at which a majority of the nodes says so, asked without a pause.

usage: redlock dev -- python3 disconnect.py REDLOCKD [COUNT]

Beside it the floor: from kill() to the end of a socket as this very program sees it, without a daemon. Ends
with 1 if a p99 is beyond 10 ms: the machine has to be idle.
"""
import os, signal, socket, subprocess, sys, tempfile, time

LIMIT_MS = 10
redlockd, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1000
directory = tempfile.mkdtemp()
path = directory + '/socket'
environment = {k: v for k, v in os.environ.items() if k != 'NOTIFY_SOCKET'}
daemon = subprocess.Popen([redlockd, '--listen', 'unix:' + path], env=environment,
                          stderr=subprocess.DEVNULL)


class Node:
    """One command at a time, in the inline form; the answer is a number, or - for an error."""

    def __init__(self, address):
        host, port = address.rsplit(':', 1)
        self.socket = socket.create_connection((host, int(port)), timeout=20)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, command):
        self.socket.sendall(command.encode() + b'\r\n')
        answer = b''
        while not answer.endswith(b'\r\n'):
            answer += self.socket.recv(4096)
        return int(answer[1:]) if answer[:1] == b':' else 0


nodes = [Node(address.split('//')[-1]) for address in os.environ['REDLOCK_NODES'].split(',')]


def majority_has(key):
    return sum(node.ask(key) > 0 for node in nodes) > len(nodes) // 2


def put(name, number, wait_ms):
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(60)
    client.connect(path)
    body = '{"wait_ms":%d}' % wait_ms
    client.sendall(('PUT /v1/locks/%s HTTP/1.1\r\nHost: h\r\nAccept: text/event-stream\r\n'
                    'Lease-Id: disconnect-%020d\r\nContent-Type: application/json\r\n'
                    'Content-Length: %d\r\n\r\n%s' % (name, number, len(body), body)).encode())
    return client


def child(work):
    """A process that says when it is so far, and then waits for its end."""
    ready, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        kept = work()
        os.write(tell, b'.')
        while True:
            signal.pause()
            del kept
    os.close(tell)
    assert os.read(ready, 1) == b'.', 'a client could not begin'
    os.close(ready)
    return pid


def until(client, text):
    seen = b''
    while text not in seen:
        got = client.recv(4096)
        assert got, seen
        seen += got
    return client


def kill_and_watch(pid, is_over):
    begin = time.perf_counter()
    os.kill(pid, signal.SIGKILL)
    while not is_over():
        assert time.perf_counter() < begin + 20, 'it is still there after 20 s'
    span = time.perf_counter() - begin
    os.waitpid(pid, 0)
    return span * 1000


def holders():
    for i in range(count):
        pid = child(lambda: until(put('holder', i, 0), b'event: granted'))
        assert majority_has('EXISTS redlock:holder')
        yield kill_and_watch(pid, lambda: not majority_has('EXISTS redlock:holder'))


def waiters():
    holder = until(put('waiter', 10**9, 0), b'event: granted')
    queued = 'ZCARD redlock.queue:waiter'
    for i in range(count):
        pid = child(lambda: until(put('waiter', 10**6 + i, 600000), b'event: queued'))
        while not majority_has(queued):
            pass
        yield kill_and_watch(pid, lambda: not majority_has(queued))
    holder.close()


def floor():
    for _ in range(count):
        ours, theirs = socket.socketpair()
        pid = child(lambda: theirs)
        theirs.close()
        yield kill_and_watch(pid, lambda: ours.recv(1) == b'')
        ours.close()


def report(what, spans):
    spans = sorted(spans)
    p99 = spans[min(len(spans) - 1, len(spans) * 99 // 100)]
    print('%-36s p50 %6.2f ms   p99 %6.2f ms   most %6.2f ms' %
          (what, spans[len(spans) // 2], p99, spans[-1]), flush=True)
    return p99


try:
    while True:
        try:
            probe = socket.socket(socket.AF_UNIX)
            probe.connect(path)
            probe.sendall(b'GET /readyz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n')
            if probe.recv(100).startswith(b'HTTP/1.1 200'):
                break
        except OSError:
            pass
        assert daemon.poll() is None
        time.sleep(0.01)
    print('%d clients each, on %d nodes' % (count, len(nodes)))
    floor_ms = report('floor: the end of a socket', floor())
    most_ms = max(report('a holder is killed: the lock is free', holders()),
                  report('a waiter is killed: out of the queue', waiters()))
finally:
    daemon.terminate()
    daemon.wait()
if most_ms <= LIMIT_MS:
    sys.exit(0)
if floor_ms > LIMIT_MS / 5:
    sys.exit('not judged: this machine is too busy, as the floor shows')
sys.exit('a p99 is beyond %d ms' % LIMIT_MS)
