# SPDX-License-Identifier: BSD-2-Clause
"""/openapi.json has what the daemon answers, no more and no less."""
import re
import socket
import threading
from collections import Counter
from http.client import HTTPResponse

from client import Answer, new_lease
from daemon import ME, TOP, Case, read, until
from openapi import Checked, Document

LOCK, LEADER, ONCE, BREAK = ('/v1/' + kind + '/a/b' for kind in ('locks', 'leaders', 'once', 'breaks'))
GROUP = 'sentinel://127.0.0.1:1+127.0.0.1:2+127.0.0.1:3/group'
NOT_IT = '0' * 40  # the fingerprint of no lock


def refusing_nodes(count=3):
    """Servers that want a password: each command of theirs has the same reply. Their addresses."""
    def serve(client):
        rest, refusal = b'', b'-NOAUTH Authentication required.\r\n'
        with client:
            while part := client.recv(65536):
                *lines, rest = (rest + part).split(b'\r\n')
                client.sendall(refusal * sum(line[:1] == b'*' for line in lines))

    def accept(listener):
        while True:
            threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
    listeners = [socket.create_server(('127.0.0.1', 0)) for _ in range(count)]
    for listener in listeners:
        threading.Thread(target=accept, args=(listener,), daemon=True).start()
    return ','.join('127.0.0.1:%d' % listener.getsockname()[1] for listener in listeners)


class OpenApi(Case):
    own_servers = True
    tokens = ('powerless', 'streamer', 'stranger', 'reader-a', 'reader-b', 'reader-c')
    options = ('--class', 'a/*', '--allow', f'{ME} * acquire,read,break,admin', '--allow', 'token:streamer * acquire',
               *(word for name in ('powerless', 'reader-a', 'reader-b', 'reader-c')
                 for word in ('--allow', f'token:{name} nothing read')))

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        Checked.document = cls.document = Document(cls.daemon.client().get('/openapi.json').text)
        cls.good = Checked(cls.daemon.socket)

    def token(self, name=None):
        """On TCP."""
        return Checked(self.daemon.port, token=name and 'secret-of-' + name)

    def another(self, nodes, *options):
        return Checked(self.start(*options, nodes=nodes).socket)

    def ask(self, status, method, path, body=None, by=None, lease=None, grant=None, **headers):
        answer = (by or self.good).request(method, path, body, {
            'Lease-Id': lease, 'Grant': grant,
            **{name.replace('_', '-'): value for name, value in headers.items()}})
        self.assertEqual(answer.status, status, f'{method} {path}: {answer}')
        return answer

    def test_document(self):
        """The document has each status, field and event of the answers, and the page each code."""
        grant = self.lease()
        self.once()
        self.streams()
        self.wrong_requests(grant)
        self.rights(grant)
        self.caps()
        self.state()
        self.bad_nodes(grant)
        self.fading_nodes()  # the last: the daemon has no majority then
        self.assertEqual(self.document.problems, [])
        self.assertEqual(self.document.unseen(), [])
        self.assertEqual(self.document.codes - set(re.findall('[A-Z_]+', read(TOP + '/man/redlockd.8'))), set())
        ids = re.findall(r'"operationId": *"([^"]*)"', self.daemon.client().get('/openapi.json').text)
        self.assertEqual([name for name, count in Counter(ids).items() if count > 1], [])

    def lease(self):
        good, lease, waiting = self.good, new_lease(), new_lease()
        held = good.acquire('a/b', lease, ttl_ms=30000, label='openapi')
        grant = held['grant']
        self.ask(409, 'PUT', LOCK, {}, lease=lease)
        self.ask(200, 'GET', LEADER, lease=lease)
        self.ask(200, 'POST', LOCK, {'ttl_ms': 30000}, lease=lease, grant=grant)
        self.ask(423, 'PUT', LOCK, {}, lease=new_lease())
        found = self.ask(200, 'GET', LOCK)
        self.ask(200, 'GET', '/v1/locks')
        first = good.begin_acquire('a/b', waiting, wait_ms=50000, label='first')
        until(lambda: self.ask(200, 'GET', LOCK)['queue'], 'a waiter')
        second = good.begin_acquire('a/b', waiting, wait_ms=50000, label='first')
        self.assertEqual(first.answer().status, 409)
        self.ask(204, 'DELETE', LOCK, lease=waiting)
        self.assertEqual(second.answer().status, 410)
        self.ask(412, 'POST', BREAK, {'fingerprint': NOT_IT})
        self.ask(200, 'POST', BREAK, {'fingerprint': found['holders'][0]['fingerprint']})
        for wrong in {}, {'fingerprint': NOT_IT, 'name': 'x'}, {'fingerprint': NOT_IT[1:]}:
            self.ask(422, 'POST', BREAK, wrong)
        self.ask(400, 'POST', BREAK + '?x=1', {'fingerprint': NOT_IT})
        self.ask(405, 'GET', BREAK)
        self.ask(410, 'POST', LOCK, {}, lease=lease, grant=grant)
        self.ask(410, 'DELETE', LOCK, lease=lease, grant=grant)
        self.ask(410, 'PUT', LOCK, {}, lease=lease)
        return grant

    def once(self):
        first, second, period = new_lease(), new_lease(), {'every_ms': 60000}
        self.ask(410, 'PUT', ONCE, period, lease=first)
        self.ask(201, 'PUT', LOCK, {'label': 'openapi'}, lease=first)
        self.ask(201, 'PUT', ONCE, period, lease=first)
        self.ask(409, 'PUT', ONCE, period, lease=first)
        self.ask(204, 'DELETE', LOCK, lease=first)
        self.ask(201, 'PUT', LOCK, {}, lease=second)
        self.ask(423, 'PUT', ONCE, period, lease=second)
        self.ask(410, 'DELETE', ONCE, lease=second)
        self.ask(204, 'DELETE', ONCE, lease=first)
        self.ask(204, 'DELETE', LOCK, lease=second)
        self.ask(405, 'GET', ONCE)

    def streams(self):
        good = self.good
        feed, stream = good.feed(), good.hold('stream', ttl_ms=3000, label='holder')
        stream.find('granted')
        feed.find('granted')
        behind = good.hold('stream', wait_ms=20000)
        behind.find('queued')
        good.hold('stream', wait_ms=2000).find('lost')
        stream.find('renewed')
        self.assertEqual(good.evict('stream').status, 200)
        feed.find('broken')
        stream.find('lost')
        behind.find('granted')
        behind.close()
        feed.find('released')
        distant = self.token('streamer').hold('distant')
        self.assertIn('grant', distant.find('granted'), 'a stream by TCP')
        distant.close()
        self.ask(400, 'GET', '/v1/events?x=1')
        self.ask(401, 'GET', '/v1/events', by=self.token())
        feeds = [good.feed() for _ in range(63)]
        self.ask(429, 'GET', '/v1/events')
        feeds += [self.token(name).feed() for name in ('powerless', 'reader-a', 'reader-b') for _ in range(64)]
        self.ask(503, 'GET', '/v1/events', by=self.token('reader-c'))
        for each in *feeds, feed:
            each.close()

    def wrong_requests(self, grant):
        for status, method, path, body, headers in (
                (400, 'PUT', LOCK, {}, dict(lease='short')),
                (400, 'POST', LOCK, {}, dict(lease=new_lease())),
                (400, 'DELETE', LOCK, None, {}),
                (400, 'GET', '/v1/locks/a//b', None, {}),
                (400, 'GET', LEADER + '?term=x', None, {}),
                (400, 'GET', '/v1/locks?limit=0', None, {}),
                (400, 'GET', '/readyz?x=1', None, {}),
                (400, 'PUT', ONCE, {'every_ms': 60000}, dict(lease='short')),
                (400, 'DELETE', ONCE + '?x=1', None, dict(lease=new_lease())),
                (422, 'PUT', ONCE, {'every_ms': 60000, 'x': 1}, dict(lease=new_lease())),
                (422, 'PUT', LOCK, {'ttl': 1}, dict(lease=new_lease())),
                (422, 'POST', LOCK, {'ttl': 1}, dict(lease=new_lease(), grant=grant)),
                (405, 'POST', '/v1/status', {}, {}),
                (413, 'PUT', LOCK, ' ' * 9000, dict(lease=new_lease())),
                (414, 'GET', '/v1/locks/' + 'a' * 5000, None, {}),
                (415, 'PUT', LOCK, {}, dict(lease=new_lease(), Content_Type='text/plain')),
                (431, 'GET', LOCK, None, dict(X='x' * 8200)),
                (501, 'PUT', LOCK, {}, dict(lease=new_lease(), Transfer_Encoding='chunked'))):
            self.ask(status, method, path, body, **headers)
        with self.good.open() as raw:
            raw.sendall(b'PUT /v1/locks/a HTTP/1.1\r\nHost: h\r\n\r\n')
            response = HTTPResponse(raw)
            response.begin()
            answer = Answer(response, response.read().decode())
            self.assertEqual(answer.status, 411)
            self.document.check('PUT', '/v1/locks/a', answer)

    def rights(self, grant):
        for method, path in [('PUT', LOCK), ('POST', LOCK), ('POST', BREAK), ('DELETE', LOCK), ('PUT', ONCE), ('DELETE', ONCE), ('GET', LOCK),
                             ('GET', LEADER), ('GET', '/v1/locks'), ('GET', '/v1/nodes'), ('GET', '/v1/status'),
                             ('GET', '/metrics')]:
            named = dict(body=None if method in ('GET', 'DELETE') else {}, lease=new_lease(), grant=grant)
            self.ask(401, method, path, by=self.token(), **named)
            self.ask(200 if path in ('/v1/locks', '/v1/status') else 403, method, path, by=self.token('powerless'),
                     **named)
        for path in '/v1/status', '/v1/locks', '/v1/events':
            self.ask(403, 'GET', path, by=self.token('streamer'))
        self.ask(400, 'GET', '/v1/status?locks=0')

    def caps(self):
        """One request a second, and one lease: for each kind of request until there is no room."""
        capped = self.another(self.nodes.names, '--allow', f'{ME} * acquire,read,admin leases=1 requests=1')
        held = until(lambda: (got := capped.acquire('one', ttl_ms=60000)).status == 201 and got, 'a grant')

        def flood(method, path, body=None, by=capped, lease=None, grant=None):
            def is_refused():
                return by.request(method, path, body, {'Lease-Id': lease and lease(), 'Grant': grant}).status == 429
            until(is_refused, f'{method} {path}: 429')
        flood('PUT', '/v1/locks/two', {}, lease=new_lease)
        flood('POST', '/v1/locks/one', {'ttl_ms': 60000}, lease=lambda: held.lease, grant=held['grant'])
        for path in '/v1/locks/one', '/v1/leaders/one', '/v1/locks', '/v1/nodes', '/v1/status', '/metrics':
            flood('GET', path)
        capped.get('/v1/events')
        flood('DELETE', '/v1/locks/one', lease=new_lease)
        flood('PUT', '/v1/once/one', {'every_ms': 60000}, lease=new_lease)
        flood('DELETE', '/v1/once/one', lease=new_lease)
        flood('POST', BREAK, {}, by=self.token('stranger'))
        self.assertEqual(capped.release(held).status, 204)

    def state(self):
        lease = new_lease()
        self.ask(201, 'PUT', LOCK, {'label': 'x'}, lease=lease)
        for path in ('/v1/nodes', '/v1/status', '/v1/status?locks=5', '/metrics', '/readyz', '/readyz?verbose',
                     '/livez', '/version', '/openapi.json', '/'):
            self.ask(200, 'GET', path)
        self.ask(204, 'DELETE', LOCK, lease=lease)

    def bad_nodes(self, grant):
        """Nodes that refuse the daemon, nodes that are not there, and one node of several that is a group."""
        refusing, lonely = self.another(refusing_nodes()), self.another(GROUP)
        for by, status in (refusing, 502), (lonely, 503):
            lease = new_lease()
            self.ask(status, 'PUT', LOCK, {}, by, lease)
            self.ask(status, 'POST', LOCK, {}, by, lease, grant)
            self.ask(status, 'DELETE', LOCK, by=by, lease=lease)
            self.ask(status, 'PUT', ONCE, {'every_ms': 60000}, by, lease)
            self.ask(status, 'DELETE', ONCE, by=by, lease=lease)
            self.ask(status, 'POST', BREAK, {'fingerprint': NOT_IT}, by)
            for path in LOCK, LEADER, '/v1/locks':
                self.ask(status, 'GET', path, by=by)
        self.ask(503, 'GET', '/readyz?verbose', by=lonely)
        for path in '/v1/status', '/v1/nodes':
            self.ask(200, 'GET', path, by=lonely)
        self.ask(200, 'GET', LOCK, by=self.another(f'{self.nodes.names},{GROUP}'))

    def fading_nodes(self):
        feed, stream = self.good.feed(), self.good.hold('stream', ttl_ms=3000)
        stream.find('granted')
        self.nodes.dev('kill', 1, 2)
        stream.find('jeopardy')
        stream.find('lost')
        for word in 'node', 'jeopardy', 'lost':
            feed.find(word)
        self.ask(200, 'GET', '/v1/status?locks=5')
