# SPDX-License-Identifier: BSD-2-Clause
"""GET /v1/events: what happens to locks and nodes, for those that may know it; and a reader that is
slow."""
import signal
import socket

from client import PATIENCE_S, Client, fresh
from daemon import ME, Case, until

RULES = f'allow = {ME} * acquire,read,break,admin\nallow = token:other * acquire\n'
READER = 'allow = token:reader public/ read\n'


class Events(Case):
    tokens = ('reader', 'other')
    options = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.write('conf', RULES + READER)
        cls.daemon = cls.start_ready('--config', cls.path('conf'))

    def setUp(self):
        self.client = self.daemon.client()

    def test_locks(self):
        """A feed has what happens to each lock that its principal may read, below its prefix."""
        name, other = 'public/' + fresh('a'), 'public/' + fresh('b')
        every, some = self.client.feed(), self.client.feed('?prefix=' + name)
        few = self.daemon.client('reader').feed()
        self.addCleanup(lambda: [feed.close() for feed in (every, some, few)])
        held = self.client.acquire(name, label='first "x"')
        granted = every.find('granted', name=name)
        self.assertEqual((granted['label'], granted['fence'], granted['reason']), ('first "x"', held['fence'], None))
        self.assertEqual(self.client.release(held).status, 204)
        every.find('released', name=name)
        self.client.acquire(other, ttl_ms=2000)
        self.client.acquire('private')
        self.assertEqual(self.client.evict('private').status, 200)
        every.find('broken', name='private')
        every.find('expired', name=other)
        some.find('released', name=name)
        few.find('expired', name=other)
        self.assertNotRegex(some.text, f'{other}|private')
        self.assertNotRegex(few.text, 'private|event: node')
        self.assertNotRegex(every.text, 'lease-of')

    def test_slow(self):
        """A reader that does not read is cut off."""
        slow = socket.socket(socket.AF_UNIX)
        self.addCleanup(slow.close)
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.settimeout(PATIENCE_S)
        slow.connect(self.daemon.socket)
        slow.sendall(b'GET /v1/events HTTP/1.1\r\nHost: h\r\n\r\n')
        client, name = self.daemon.client(keep=True), 'slow/' + 'x' * 400

        def connections():
            return self.daemon.metric('connections', listener='unix:' + self.daemon.socket)
        client.look(name)  # connects
        before = connections()

        def is_cut():
            for _ in range(50):
                held = client.acquire(name)
                self.assertEqual((held.status, client.release(held).status), (201, 204))
            return connections() < before
        until(is_cut, 'the end of its connection')

    def test_refused(self):
        """A parameter that does not exist, HEAD, and a client without a right get no feed."""
        self.assertEqual(self.client.get('/v1/events?name=x').verdict, (400, 'QUERY'))
        self.assertEqual(self.client.request('HEAD', '/v1/events').status, 405)
        self.assertEqual(Client(self.daemon.port).get('/v1/events').code, 'UNAUTHORIZED')
        self.assertEqual(self.daemon.client('other').get('/v1/events').code, 'FORBIDDEN')

    def test_ends(self):
        """A feed ends with its right, and the others when the daemon does, in an orderly way."""
        daemon = self.start('--config', self.path('conf'), '--drain', '2')
        feed, reader = daemon.client().feed(), daemon.client('reader').feed()
        self.write('conf', RULES)
        daemon.reload()
        list(reader.all())
        self.write('conf', RULES + READER)
        daemon.signal(signal.SIGTERM)
        list(feed.all())  # or it would raise


class Trouble(Case):
    own_servers = True

    def test_nodes(self):
        """A feed begins with the state of each node; a stream in trouble and a lost node are sent."""
        client = self.daemon.client()
        feed = client.feed()
        self.addCleanup(feed.close)
        self.assertEqual([feed.next()[1]['state'] for _ in range(3)], ['up'] * 3)
        stream = client.hold('public/stream', ttl_ms=9000)
        self.addCleanup(stream.close)
        feed.find('granted', name='public/stream')
        self.nodes.dev('kill', 1, 2)
        feed.find('node', state='down')
        feed.find('jeopardy', name='public/stream', reason='NOQUORUM')
        feed.find('lost', name='public/stream')
        self.nodes.dev('start', 1, 2)
        feed.find('node', state='quarantined')
