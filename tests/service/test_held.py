# SPDX-License-Identifier: BSD-2-Clause
"""Streams that hold a lock: their events, their renewals and their ends; and how they come back."""
import os
import signal
import socket
import time

from client import Client, fresh
from daemon import ME, Case, Pair, until

BRIEF_MS = 6000   # renewed every two seconds
LONG_MS = 60000


class Holding:
    """Tests whose streams end with them."""
    tokens = ('far',)
    options = ('--allow', 'token:far * acquire,read', '--allow', f'{ME} * acquire,read,admin')

    def hold(self, client, ttl_ms=LONG_MS, **terms):
        """A stream that holds the lock, on all nodes; of a long one only a release ends it."""
        stream = client.hold(self.name, ttl_ms=ttl_ms, **terms)
        self.addCleanup(stream.close)
        stream.granted = stream.find('granted')
        self.nodes.until_on(3, self.name)
        if ttl_ms == LONG_MS:
            self.nodes.keep(self.name)
        return stream

    def come_back(self, stream, client, **terms):
        back = client.hold(self.name, stream.lease, stream.granted['grant'], **{'ttl_ms': LONG_MS, **terms})
        self.addCleanup(back.close)
        back.granted = back.find('granted')
        return back

    def ends(self, stream, status, code):
        """With an event that has these."""
        last = stream.find('lost')
        self.assertEqual((last['status'], last['code']), (status, code))
        self.assertEqual(stream.next(), (None, None))

    def leaves(self, stream, daemon):
        """It is closed: nothing renews the lock, and nothing deletes it."""
        before = daemon.metric('leases', way='stream', state='held')
        stream.close()
        daemon.until_metric(before - 1, 'leases', way='stream', state='held')
        self.assertEqual(self.nodes.on(self.name), 3)


class Held(Holding, Pair):
    def setUp(self):
        super().setUp()
        self.far = self.daemon.client('far')

    def wait(self, lease=None, **terms):
        """A stream that waits, and its place."""
        stream = self.first.hold(self.name, lease, **{'wait_ms': 60000, **terms})
        self.addCleanup(stream.close)
        return stream, stream.find('queued')['place']

    def verdict(self, client, lease=None, grant=None, **terms):
        """Of a PUT that does not become a stream."""
        return client.begin_hold(self.name, lease, grant, terms).answer().verdict

    def test_renewed(self):
        """A stream has fence and deadline, and outlives its TTL by renewals."""
        stream = self.hold(self.first, ttl_ms=BRIEF_MS)
        granted = stream.granted
        self.assertEqual((granted['name'], granted['ttl_ms']), (self.name, BRIEF_MS))
        self.assertTrue(1 <= granted['remaining_ms'] <= 0.99 * BRIEF_MS)
        self.assertTrue(granted['fence'] > 0 <= granted['after_ms'])
        self.assertNotIn('grant', granted, 'where closing releases no client may be able to renew')
        renewals = [stream.next() for _ in range(4)]
        deadlines = [data['deadline_boottime_ns'] for data in [granted] + [data for _, data in renewals]]
        self.assertEqual(deadlines, sorted(set(deadlines)))
        self.assertEqual({(word, data['fence']) for word, data in renewals}, {('renewed', granted['fence'])})
        self.assertEqual(self.nodes.on(self.name), 3)

    def test_closed(self):
        """The close of a stream on the local socket releases, and its id is spent."""
        stream = self.hold(self.first)
        self.daemon.until_metric(1, 'leases', way='stream', state='held')
        stream.close()
        self.until_on(0)
        self.daemon.until_metric(0, 'leases', way='stream', state='held')
        self.assertEqual(self.verdict(self.first, stream.lease), (410, 'ENDED'))

    def test_lost(self):
        """A stream whose key is gone from the nodes is sent `lost`, and ends."""
        stream, lost = self.hold(self.first, ttl_ms=BRIEF_MS), self.daemon.metric('lost_total')
        self.nodes.delete(self.name)
        self.ends(stream, 410, 'LOST')
        self.assertEqual(self.daemon.metric('lost_total'), lost + 1)
        self.assertEqual(self.first.acquire(self.name, stream.lease).status, 410)

    def test_comments(self):
        """A stream is sent a comment now and then, while it waits and while it holds."""
        streams = self.hold(self.first), self.wait()[0]
        for stream in streams:
            while stream.response.readline() != b': alive\n':
                pass

    def test_refused(self):
        """A stream that is refused at once gets the status of a lease."""
        self.hold(self.first)
        self.assertEqual(self.verdict(self.first), (423, 'BUSY'))
        self.assertEqual(self.verdict(self.first, leave=1), (422, 'INVAL'))
        self.assertEqual(self.first.acquire(self.name, wait_ms=60000).status, 422, 'longer than a lease may')

    def test_refused_later(self):
        """A wait that ends after the stream has begun is reported as lost, with its status."""
        self.hold(self.first)
        self.ends(self.wait(wait_ms=2000)[0], 423, 'TIMEOUT')

    def test_queued(self):
        """A stream that waits has its place, the next one when that changes, and then the lock."""
        holder = self.hold(self.first)
        (first, place), (second, behind) = self.wait(), self.wait()
        self.assertEqual((place, behind), (1, 2))
        gone = self.daemon.metric('disconnected_waiters_total')
        first.close()
        second.find('queued', place=1)
        self.assertEqual(self.daemon.metric('disconnected_waiters_total'), gone + 1)
        holder.close()
        second.find('granted')
        second.close()
        self.until_on(0)

    def test_held_by_each(self):
        """A stream lives until every process that has its socket has closed it."""
        stream = self.hold(self.first, ttl_ms=BRIEF_MS)
        copy = os.dup(stream.response.fileno())
        stream.close()
        os.set_blocking(copy, True)
        with os.fdopen(copy) as lines:
            while lines.readline() != 'event: renewed\n':
                pass
            self.nodes.keep(self.name)
            self.assertEqual(self.nodes.on(self.name), 3)
        self.until_on(0)

    def test_left(self):
        """The close of a stream behind TCP, or of one with `leave`, leaves it to its TTL."""
        for client, terms in (self.far, {}), (self.first, {'leave': True}):
            stream = self.hold(client, **terms)
            self.leaves(stream, self.daemon)
            self.assertEqual(self.come_back(stream, client).granted['fence'], stream.granted['fence'])
            self.assertEqual(self.first.release(stream).status, 204)
            self.until_on(0)

    # ---- one id, one stream ----

    def test_yours(self):
        """An id that a stream holds is not granted again, as stream or as lease."""
        stream = self.hold(self.first)
        for client in self.first, self.second:
            self.assertEqual(self.verdict(client, stream.lease), (409, 'YOURS'))
            self.assertEqual(client.acquire(self.name, stream.lease).verdict, (409, 'YOURS'))

    def test_superseded(self):
        """A repeated PUT takes the wait of a stream over, and the older one ends with its code."""
        holder = self.hold(self.first)
        first, _ = self.wait()
        second, _ = self.wait(first.lease)
        self.ends(first, 409, 'SUPERSEDED')
        first.close()
        # Another way to hold is another acquisition.
        self.assertEqual(self.first.acquire(self.name, first.lease).verdict, (409, 'YOURS'))
        holder.close()
        second.find('granted')
        second.close()
        self.until_on(0)

    def test_deleted(self):
        """DELETE ends a stream at once, on another replica by its next renewal."""
        for client, code, ttl_ms in (self.first, 'ENDED', LONG_MS), (self.second, 'LOST', BRIEF_MS):
            stream = self.hold(self.first, ttl_ms=ttl_ms)
            self.assertEqual(client.release(stream).status, 204)
            self.ends(stream, 410, code)
            self.until_on(0)

    def test_two_ways(self):
        """The grant of a stream renews no lease, and that of a lease no stream."""
        stream = self.hold(self.far)
        renewed = self.first.request('POST', '/v1/locks/' + self.name, {},
                                     {'Lease-Id': stream.lease, 'Grant': stream.granted['grant']})
        self.assertEqual(renewed.verdict, (400, 'GRANT'))
        self.assertEqual(self.first.release(stream).status, 204)
        held = self.first.acquire(self.name)
        self.assertEqual(held.status, 201)
        self.assertEqual(self.verdict(self.first, held.lease, held['grant']), (400, 'GRANT'))

    # ---- coming back ----

    def test_returned(self):
        """A stream that came back has its fence, is left on close, and gives way to a copy."""
        stream = self.hold(self.far)
        self.leaves(stream, self.daemon)
        back = self.come_back(stream, self.second, ttl_ms=BRIEF_MS)
        self.assertEqual((back.granted['fence'], back.granted['grant'], back.granted['ttl_ms']),
                         (stream.granted['fence'], stream.granted['grant'], BRIEF_MS))
        back.find('renewed')
        self.nodes.keep(self.name)
        self.leaves(back, self.other)
        back, copy = self.come_back(stream, self.second), self.come_back(stream, self.second)
        self.ends(back, 409, 'SUPERSEDED')
        self.assertEqual(self.nodes.on(self.name), 3)
        self.assertEqual(self.second.release(stream).status, 204)
        self.ends(copy, 410, 'ENDED')
        self.until_on(0)
        self.assertEqual(self.verdict(self.second, stream.lease, stream.granted['grant']), (410, 'ENDED'))

    def test_returned_to_nothing(self):
        """A stream that comes back after its end is 410, and sets nothing."""
        stream = self.hold(self.far)
        self.leaves(stream, self.daemon)
        self.nodes.delete(self.name)
        self.assertEqual(self.verdict(self.second, stream.lease, stream.granted['grant']), (410, 'LOST'))
        self.assertEqual(self.nodes.on(self.name), 0)

    def test_returned_and_gone(self):
        """A PUT with a grant behind which the client has closed extends nothing."""
        stream = self.hold(self.far, ttl_ms=30000)
        self.leaves(stream, self.daemon)
        with self.first.open() as raw:
            with self.daemon.standing_still():
                raw.sendall(f'PUT /v1/locks/{self.name} HTTP/1.1\r\nHost: localhost\r\nLease-Id: {stream.lease}\r\n'
                            f'Grant: {stream.granted["grant"]}\r\nAccept: text/event-stream\r\n'
                            'Content-Type: application/json\r\nContent-Length: 16\r\n\r\n{"ttl_ms":50000}'.encode())
                raw.shutdown(socket.SHUT_WR)
            self.assertEqual(raw.recv(1), b'')
        self.first.look(self.name)  # on the connections on which it would have been requested
        self.assertTrue(1 <= self.nodes.left_ms(1, self.name) <= 30000)

    def test_proxies(self):
        """A stream that came through a proxy is refused."""
        for field in 'Via', 'Forwarded', 'X-Forwarded-For', 'X-Forwarded-Proto':
            refused = self.first.begin_hold(self.name, **{field: 'x'}).answer()
            self.assertEqual(refused.verdict, (400, 'PROXIED'), field)
        # The listener of a proxy: what it says about its clients does not matter.
        path = self.path('proxy')
        self.start_ready(*self.options, '--listen', f'unix:{path} peer=proxy')
        client = Client(path, token='secret-of-far')
        self.assertEqual(self.verdict(client), (400, 'PROXIED'))
        self.assertEqual(self.nodes.on(self.name), 0)
        self.assertEqual(client.acquire(self.name).status, 201)


class Silence(Holding, Case):
    own_servers = True

    def setUp(self):
        self.name, self.client = fresh(), self.daemon.client()

    def test_jeopardy(self):
        """A renewal that too few nodes confirm is jeopardy, and the next that works ends it."""
        stream = self.hold(self.client, ttl_ms=18000)
        with self.nodes.hung(2, 3):
            trouble = stream.find('jeopardy')
            self.assertEqual(trouble['code'], 'NOQUORUM')
            self.assertTrue(trouble['detail'] and trouble['remaining_ms'] > 0)
            self.daemon.until_metric(1, 'leases', way='stream', state='jeopardy')
        self.assertGreater(stream.find('recovered')['remaining_ms'], 0)
        self.daemon.until_metric(0, 'leases', way='stream', state='jeopardy')

    def test_closed(self):
        """A close in the middle of a renewal releases behind it."""
        stream = self.hold(self.client, ttl_ms=18000)
        until(lambda: self.nodes.left_ms(1, self.name) < 13000, 'a second before its renewal')
        with self.nodes.hung(2, 3):
            until(lambda: self.nodes.left_ms(1, self.name) > 13000, 'a renewal on one node')
            self.nodes.keep(self.name, 1)
            stream.close()
        self.nodes.until_on(0, self.name)
        self.daemon.until_metric(0, 'leases', way='stream', state='held')

    def test_drained(self):
        """A close between the drain and `reconnect` is recognised by what was left."""
        daemon = self.start_ready(*self.options, '--drain', '30')
        stream = self.hold(daemon.client())
        with self.nodes.hung(2, 3):
            # The renewal of the drain has no majority for a while, and the stream gets nothing yet.
            daemon.signal(signal.SIGTERM)
            daemon.until_logged('ending: ')
            stream.close()
            time.sleep(0.5)  # a daemon that does not wait for the release would end meanwhile
        self.nodes.until_on(0, self.name)

    def test_returned_too_early(self):
        """A failed return is 503, rolls nothing back, and can be repeated."""
        stream = self.hold(self.daemon.client('far'))
        self.leaves(stream, self.daemon)
        with self.nodes.hung(2, 3):
            early = self.client.begin_hold(self.name, stream.lease, stream.granted['grant']).answer()
        self.assertEqual(early.status, 503)
        self.nodes.until_on(3, self.name)
        self.come_back(stream, self.client)
