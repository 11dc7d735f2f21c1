# SPDX-License-Identifier: BSD-2-Clause
"""Streams: curl and fetch as holders of locks, the death of their processes, the drain, and restarts
by a service manager."""
import json
import shutil
import signal
import socket
import subprocess
import threading
import unittest

from client import Client, fresh, new_lease
from daemon import HERE, ME, Case, Manager, certificates, read, run, until, with_tls

has_fetch = shutil.which('node') and run('node', '-p', 'typeof fetch').stdout == 'function\n'


class Curl:
    """curl -N with a PUT for a stream; what it writes is at PATH."""

    def __init__(self, path, url, terms, *words):
        self.path, self.lease = path, new_lease()
        with open(path, 'w') as out:
            self.process = subprocess.Popen(
                ['curl', '-sSN', '-X', 'PUT', '-H', 'Accept: text/event-stream', '-H', 'Lease-Id: ' + self.lease,
                 '--json', json.dumps(terms), *words, url], stdout=out, stderr=out)

    def text(self):
        return read(self.path)

    def until(self, word):
        """The data of the first event of this name."""
        until(lambda: f'event: {word}\n' in self.text() and self.text().endswith('\n'), word)
        lines = self.text().splitlines()
        return json.loads(lines[lines.index('event: ' + word) + 1].removeprefix('data: '))

    def kill(self):
        self.process.kill()
        self.process.wait()


class Streams(Case):
    tokens = ('reader',)

    @classmethod
    def setUpClass(cls):
        cls.options = (*with_tls(), '--allow', 'token:reader * acquire,read',
                       '--allow', f'{ME} * acquire,read,admin')
        super().setUpClass()

    def setUp(self):
        self.name = fresh('job')

    def curl(self, daemon=None, grant=None, lease=None, **terms):
        """On the local socket."""
        headers = ['-H', 'Grant: ' + grant] if grant else []
        return self.begin('http://h', terms, '--unix-socket', (daemon or self.daemon).socket, *headers)

    def begin(self, at, terms, *words):
        curl = Curl(self.path(fresh('curl')), f'{at}/v1/locks/{self.name}', terms, *words)
        self.addCleanup(curl.kill)
        return curl

    def until_look(self, **fields):
        until(lambda: fields.items() <= self.daemon.client().look(self.name).json.items(), fields)

    def test_curl(self):
        """A lock of curl goes to the next living waiter when its process is killed."""
        first = self.curl(label='first')
        first.until('granted')
        self.until_look(held=True)
        self.assertNotIn('grant"', first.text(), 'while closing releases')
        second = self.curl(wait_ms=600000)
        self.until_look(waiters=1)
        third = self.curl(wait_ms=600000)
        self.daemon.until_metric(2, 'waiters')
        second.kill()
        first.kill()
        third.until('granted')
        self.assertNotIn('granted', second.text())
        third.kill()
        self.until_look(held=False)

    def test_curl_with_tls(self):
        """Through TLS curl gets its grant, is renewed, and holds until the TTL when it is killed."""
        far = self.begin(f'https://127.0.0.1:{self.daemon.tls_ports[0]}', {'ttl_ms': 9000}, '--cacert',
                         certificates() + '/ca.crt', '-H', 'Authorization: Bearer secret-of-reader')
        self.assertRegex(far.until('granted')['grant'], '^[A-Za-z0-9_-]+$')
        far.until('renewed')
        far.kill()
        self.until_look(held=False)

    @unittest.skipUnless(has_fetch, 'node with fetch is not installed')
    def test_fetch(self):
        """The fetch of node reads the events of its lock, is renewed, and ends it by DELETE."""
        done = run('node', HERE + '/events.mjs', f'http://127.0.0.1:{self.daemon.port}/v1/locks/{self.name}',
                   new_lease(), new_lease())
        self.assertEqual(done.stdout.splitlines(),
                         ['200 text/event-stream', 'granted true true true', 'beside it 423', 'renewed 204',
                          'lost 410 ENDED', 'the end'], done)

    def test_drain(self):
        """TERM moves streams elsewhere, refuses waiters, and waits for leases."""
        daemon = self.start_ready(*self.options, '--drain', '30')
        leaving = self.curl(daemon)
        fence = leaving.until('granted')['fence']
        waiting = self.curl(daemon, wait_ms=600000)
        self.until_look(waiters=1)
        client = daemon.client()
        held = client.acquire(fresh())
        queued = daemon.begin_wait(held.name)
        for number in 1, 2, 3:
            self.nodes.ask(number, 'PEXPIRE', 'redlock:' + self.name, 10000)
        daemon.signal(signal.SIGTERM)
        self.assertEqual(queued.answer().verdict, (503, 'DRAINING'))
        moved, lost = leaving.until('reconnect'), waiting.until('lost')
        self.assertGreater(min(moved['remaining_ms'], self.nodes.left_ms(1, self.name)), 10000, 'renewed once')
        self.assertEqual(moved['fence'], fence)
        for lease, grant in (leaving.lease, moved['grant']), (None, None):
            refused = client.begin_hold(self.name, lease, grant).answer()
            self.assertEqual(refused.verdict, (503, 'DRAINING'))
        self.assertEqual((lost['status'], lost['code']), (503, 'DRAINING'))
        self.assertNotIn('granted', waiting.text())
        self.assertEqual((leaving.process.wait(), waiting.process.wait()), (0, 0))
        self.assertEqual(client.get('/readyz').status, 503)
        self.assertEqual(client.renew(held).status, 200, 'through a new connection')
        self.assertEqual(client.acquire(fresh()).status, 503)
        self.assertFalse(daemon.has_ended())
        self.assertEqual(client.release(held).status, 204)
        self.assertEqual(daemon.wait(), 0)

        self.until_look(held=True)
        back = self.daemon.client().hold(self.name, leaving.lease, moved['grant'])
        self.assertEqual(back.find('granted')['fence'], fence)
        back.close()
        self.assertEqual(self.daemon.client().release(back).status, 204)


class Managed(Case):
    options = None
    servers = '-c 3'

    def listener(self, path):
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind(path)
        listener.listen(100)
        return listener

    def test_restarts(self):
        """Two restarts under load lose no lease, and refuse no connection."""
        manager, path = Manager(self.path('notify')), self.path('inherited')
        self.addCleanup(manager.socket.close)
        listener, stop, wrong, turns = self.listener(path), threading.Event(), [], []

        def until_served(ask, *expected):
            """503: draining, or the nodes are not connected yet."""
            while (answer := ask()).status == 503:
                pass
            assert answer.status in expected, answer
            return answer

        def work():
            client = Client(path)
            try:
                while not stop.is_set():
                    held = until_served(lambda: client.acquire(fresh('rolling'), ttl_ms=30000), 201)
                    for _ in range(3):
                        until_served(lambda: client.renew(held), 200)
                    until_served(lambda: client.release(held), 204, 410)
                    turns.append(held)
            except Exception as error:  # any one is what the test is about
                wrong.append(repr(error))

        def begin():
            daemon = self.start('--drain', '5', inherited=listener, NOTIFY_SOCKET=manager.path)
            manager.until_sent('READY=1')
            return daemon
        daemon = begin()
        manager.until_sent('STATUS=3/3 nodes vote, 0 leases')
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(2):
            manager.until_sent(r'STATUS=3/3 nodes vote, [1-9]\d* leases')
            daemon.signal(signal.SIGTERM)
            manager.until_sent('STOPPING=1')
            self.assertEqual(daemon.wait(), 0)
            daemon = begin()
        before = len(turns)
        until(lambda: wrong or len(turns) >= before + 8, 'eight turns')
        stop.set()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_inherited(self):
        """A socket of the manager knows its clients by their user, unless a proxy connects to it."""
        for path, status, *options in ((self.path('plain'), 200),
                                       (self.path('proxy'), 401, '--listen', f'unix:{self.path("proxy")} peer=proxy')):
            self.start(*options, inherited=self.listener(path))
            self.assertEqual(Client(path).get('/v1/status').status, status)
