# SPDX-License-Identifier: BSD-2-Clause
"""
disconnect.py REDLOCKD [COUNT]: how soon is the lock of a local client free that is killed with -9, and a
waiter that is killed out of the queue? From kill(), when each of three nodes has it, until none has, without a pause.

Beside it the floor: from kill() to the end of a socket as this very program sees it, without a daemon. Ends
with 1 if a p99 is beyond 10 ms: the machine has to be idle.
"""
import os
import signal
import socket
import sys
import tempfile
import time

os.environ['REDLOCKD'] = os.path.realpath(sys.argv[1])

from daemon import Daemon, Nodes, until  # noqa: E402: it reads the environment

LIMIT_MS = 10
count = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
nodes = Nodes()
folder = tempfile.TemporaryDirectory()
daemon = Daemon(folder.name, nodes=nodes.names)


def nodes_with(*words):
    return sum(reply != ':0' for reply in nodes.ask_all(*words))


def stream(name, word, **terms):
    held = daemon.client().hold(name, **terms)
    held.find(word)
    return held


def child(work):
    """A process that reports when it has begun, and then waits for its end."""
    ready, begun = os.pipe()
    pid = os.fork()
    if pid == 0:
        kept = work()
        os.write(begun, b'.')
        while kept:
            signal.pause()
    os.close(begun)
    assert os.read(ready, 1) == b'.', 'a client could not begin'
    os.close(ready)
    return pid


def kill_and_watch(pid, is_over):
    begin = time.perf_counter()
    os.kill(pid, signal.SIGKILL)
    while not is_over():
        assert time.perf_counter() < begin + 20, 'it is still there after 20 s'
    span = time.perf_counter() - begin
    os.waitpid(pid, 0)
    return span * 1000


def holders():
    for _ in range(count):
        pid = child(lambda: stream('holder', 'granted'))
        until(lambda: nodes_with('EXISTS', 'redlock:holder') == 3, 'a holder on every node')
        yield kill_and_watch(pid, lambda: not nodes_with('EXISTS', 'redlock:holder'))


def waiters():
    holder = stream('waiter', 'granted')
    queued = 'ZCARD', 'redlock.queue:waiter'
    for _ in range(count):
        pid = child(lambda: stream('waiter', 'queued', wait_ms=600000))
        until(lambda: nodes_with(*queued) == 3, 'a waiter on every node')
        yield kill_and_watch(pid, lambda: not nodes_with(*queued))
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
    p99 = spans[len(spans) * 99 // 100]
    print('%-36s p50 %6.2f ms   p99 %6.2f ms   most %6.2f ms' %
          (what, spans[len(spans) // 2], p99, spans[-1]), flush=True)
    return p99


try:
    until(daemon.is_ready, 'readiness')
    print('%d clients each, on %d nodes' % (count, len(nodes.ports)))
    floor_ms = report('floor: the end of a socket', floor())
    most_ms = max(report('a holder is killed: the lock is free', holders()),
                  report('a waiter is killed: out of the queue', waiters()))
finally:
    daemon.stop()
    nodes.stop()
if most_ms > LIMIT_MS:
    sys.exit('not judged: this machine is too busy, as the floor shows' if floor_ms > LIMIT_MS / 5
             else 'a p99 is beyond %d ms' % LIMIT_MS)
