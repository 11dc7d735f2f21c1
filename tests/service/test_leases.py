# SPDX-License-Identifier: BSD-2-Clause
"""The rules of leases: one id is one acquisition, on whatever replica, and what a majority did not
confirm is not answered with success."""
import base64
import hashlib
import socket
import struct
import time

from client import fresh, new_lease
from daemon import Case, Pair

KINDS = ({}, {'kind': 'shared'}, {'kind': 'semaphore', 'slots': 2}, {'kind': 'reentrant', 'owner': 'me'})


def tag(lease):
    """What the nodes see of an id."""
    return base64.urlsafe_b64encode(hashlib.sha256(lease.encode()).digest())[:22].decode()


class Leases(Pair):
    def take(self, lease=None, client=None, name=None, **terms):
        """A lease, on all nodes."""
        held = (client or self.first).acquire(name or self.name, lease, **terms)
        self.assertEqual(held.status, 201, held)
        self.nodes.until_on(3, held.name)
        return held

    def test_cycle(self):
        """A lease is granted, renewed and released on all nodes, and then it is gone."""
        held = self.take(ttl_ms=20000)
        self.assertLessEqual(held['remaining_ms'], 19599)
        self.assertGreater(held['deadline_boottime_ns'], 0)
        self.assertIn(tag(held.lease), self.nodes.ask(1, 'GET', 'redlock:' + self.name))
        renewed = self.first.renew(held, ttl_ms=50000)
        self.assertEqual((renewed.status, renewed['grant']), (200, held['grant']))
        self.assertGreater(min(renewed['remaining_ms'], self.nodes.left_ms(1, self.name)), 30000)
        self.assertEqual(self.first.release(held).status, 204)
        self.until_on(0)
        self.assertEqual([self.first.release(held).status, self.first.renew(held).status,
                          self.first.acquire(self.name, held.lease).status], [410, 410, 410])

    def test_kinds(self):
        """A lease of any kind is YOURS, renewed, repaired nowhere and ended on another replica."""
        for number, terms in enumerate(KINDS):
            held = self.take(**terms)
            self.assertEqual(self.second.acquire(self.name, held.lease, **terms).verdict, (409, 'YOURS'), terms)
            self.nodes.delete(self.name, 1 + number % 3)
            self.assertEqual(self.second.renew(held).status, 200, terms)
            self.assertEqual(self.nodes.on(self.name), 2, 'a key is not put back')
            # A lost answer to PUT costs one DELETE, without a grant.
            self.assertEqual([self.second.release(held).status for _ in range(2)], [204, 410], terms)
            self.until_on(0)

    def test_another_id(self):
        """A DELETE ends no lease of another id, and none of the same id under another name."""
        held, other = self.take(), fresh()
        waiting = self.daemon.begin_wait(self.name)
        delete = self.first.request('DELETE', '/v1/locks/' + self.name, headers={'Lease-Id': new_lease()})
        self.assertEqual(delete.status, 410)
        for lease in waiting.lease, held.lease:
            delete = self.first.request('DELETE', '/v1/locks/' + other, headers={'Lease-Id': lease})
            self.assertEqual(delete.status, 410)
        lost = self.daemon.metric('lost_total')
        renewed = self.first.request('POST', '/v1/locks/' + other, {},
                                     {'Lease-Id': held.lease, 'Grant': held['grant']})
        self.assertEqual(renewed.status, 410)
        self.assertEqual(self.daemon.metric('lost_total'), lost, 'what was never held is no loss')
        self.assertEqual((self.first.renew(held).status, self.first.release(held).status), (200, 204))
        self.assertEqual(waiting.answer().status, 201)

    def test_two_grants(self):
        """A request with two grants is refused, also if they are the same."""
        held = self.take()
        for method in 'POST', 'DELETE':
            with self.daemon.client().open() as raw:
                raw.sendall((f'{method} /v1/locks/{self.name} HTTP/1.1\r\nHost: localhost\r\nLease-Id: {held.lease}\r\n' +
                             f'Grant: {held["grant"]}\r\n' * 2 + 'Content-Length: 0\r\n\r\n').encode())
                self.assertIn(b'HTTP/1.1 400 ', raw.recv(4096))
        self.assertEqual(self.nodes.on(self.name), 3)

    def test_made_up_fence(self):
        """A renewal cannot raise the fences of a name beyond the nodes' clocks."""
        held = self.take()
        text = bytearray(base64.urlsafe_b64decode(held['grant'] + '=='))
        text[3:11] = struct.pack('>Q', (1 << 52) - 8)
        made_up = {'Lease-Id': held.lease, 'Grant': base64.urlsafe_b64encode(text).decode().rstrip('=')}
        at = '/v1/locks/' + self.name
        self.assertEqual(self.first.request('POST', at, {}, made_up).status, 400)
        # One that clocks of nodes may have given, which differ from that of this host.
        text[3:11] = struct.pack('>Q', (int(time.time()) + 3600) * 1000000)
        ahead = {**made_up, 'Grant': base64.urlsafe_b64encode(text).decode().rstrip('=')}
        self.assertEqual(self.first.request('POST', at, {}, ahead).status, 200)
        # A release raises nothing, and is always allowed.
        self.assertEqual(self.first.request('DELETE', at, headers=made_up).status, 204)

    def test_from_memory(self):
        """What an operator has deleted is neither renewed nor granted again to the same id."""
        held = self.take()
        yours = self.daemon.metric('yours_total')
        self.assertEqual(self.first.acquire(self.name, held.lease).verdict, (409, 'YOURS'))
        self.nodes.delete(self.name)
        self.assertEqual(self.first.acquire(self.name, held.lease).verdict, (409, 'YOURS'))
        self.assertEqual(self.daemon.metric('yours_total'), yours + 2)
        self.assertEqual(self.first.renew(held).status, 410)
        self.assertEqual(self.nodes.on(self.name), 0)

    def test_leftovers(self):
        """A value of the same id on a minority of the nodes is no grant."""
        lease, key = new_lease(), 'redlock:' + self.name
        for number in 1, 2:
            self.nodes.ask(number, 'SET', key, f'{tag(lease)}:{number}2345678901234567890123456789', 'PX', 60000)
        # Two attempts that were lost: neither has a majority, and the lock is busy with both.
        self.assertEqual(self.first.acquire(self.name, lease).status, 423)
        self.nodes.delete(self.name, 2)
        self.assertEqual(self.first.acquire(self.name, lease).status, 201)

    # ---- ids that wait ----

    def test_two_waits(self):
        """Of two replicas that wait with one id, one grants and the other answers YOURS."""
        held = self.take()
        first = self.daemon.begin_wait(self.name)
        second = self.other.begin_wait(self.name, first.lease)
        self.assertEqual(self.first.release(held).status, 204)
        verdicts = sorted(waiting.answer().verdict for waiting in (first, second))
        self.assertEqual(verdicts, [(201, None), (409, 'YOURS')])

    def test_superseded(self):
        """A repeated PUT takes the wait over and is answered by its own clock."""
        held = self.take()
        first = self.daemon.begin_wait(self.name)
        time.sleep(0.5)  # so much too late a deadline would be that counts from the first
        began = time.monotonic()
        second = self.first.begin_acquire(self.name, first.lease, wait_ms=50000)
        self.assertEqual(first.answer().verdict, (409, 'SUPERSEDED'))
        self.daemon.until_metric(1, 'waiters')
        self.assertEqual(self.first.release(held).status, 204)
        granted = second.answer()
        self.assertEqual(granted.status, 201)
        self.assertLessEqual(granted['after_ms'], (time.monotonic() - began) * 1000)
        self.daemon.until_metric(0, 'waiters')

    def test_asks_otherwise(self):
        """An id that waits is used for no other name, and granted as no other kind."""
        self.take()
        other = fresh()
        waiting = self.daemon.begin_wait(self.name)
        self.assertEqual(self.first.acquire(other, waiting.lease).verdict, (409, 'YOURS'))
        self.assertEqual(self.nodes.on(other), 0)
        waiting.close()
        slots, owner = (lambda n: dict(kind='semaphore', slots=n)), (lambda who: dict(kind='reentrant', owner=who))
        for terms, again, code in ((dict(kind='shared'), dict(kind='mutex'), 'YOURS'),
                                   (dict(kind='shared'), dict(kind='mutex', fenced=False), 'YOURS'),
                                   (dict(kind='mutex'), dict(kind='shared'), 'YOURS'),
                                   (slots(2), slots(1), 'YOURS'), (owner('x'), owner('y'), 'YOURS'),
                                   (dict(fenced=False), dict(fenced=True), 'YOURS'),
                                   # What does not change what is held, or what is in the answer.
                                   (dict(label='x'), dict(label='y', ttl_ms=5000), 'SUPERSEDED')):
            self.daemon.until_metric(0, 'waiters')
            first = self.daemon.begin_wait(self.name, **terms)
            second = self.first.begin_acquire(self.name, first.lease, wait_ms=50000, **again)
            refused = second if code == 'YOURS' else first
            self.assertEqual(refused.answer().verdict, (409, code), again)
            first.close()
            second.close()

    def test_asks_for_another_way(self):
        """A wait is taken over by no request that would hold the lock in another way."""
        self.take()
        waiting, terms = self.daemon.begin_wait(self.name), dict(wait_ms=50000)
        stream = self.first.begin_hold(self.name, waiting.lease, terms=terms)
        self.assertEqual(stream.answer().verdict, (409, 'YOURS'))
        waiting.close()
        self.daemon.until_metric(0, 'waiters')
        stream = self.first.hold(self.name, **terms)
        self.daemon.until_metric(1, 'waiters')
        self.assertEqual(self.first.acquire(self.name, stream.lease, **terms).verdict, (409, 'YOURS'))
        left = self.first.begin_hold(self.name, stream.lease, terms=dict(**terms, leave=True))
        self.assertEqual(left.answer().verdict, (409, 'YOURS'))
        stream.close()

    def test_delete(self):
        """DELETE ends the wait of its id on this replica, which gets 410."""
        self.take()
        waiting = self.daemon.begin_wait(self.name)
        self.assertEqual(self.first.release(waiting).status, 204)
        self.assertEqual(waiting.answer().status, 410)
        self.assertEqual(self.nodes.on(self.name), 3)

    def test_eof(self):
        """A PUT behind which its client has closed sends to no node."""
        name, other, seen = fresh('behind-which-is-eof'), fresh('afterwards'), b''
        with socket.create_connection(('127.0.0.1', self.nodes.ports[0])) as monitor, self.first.open() as raw:
            monitor.sendall(b'MONITOR\r\n')
            self.assertEqual(monitor.recv(5), b'+OK\r\n')
            with self.daemon.standing_still():
                raw.sendall(f'PUT /v1/locks/{name} HTTP/1.1\r\nHost: localhost\r\nLease-Id: {new_lease()}\r\n'
                            'Content-Length: 0\r\n\r\n'.encode())
                raw.shutdown(socket.SHUT_WR)
            self.assertEqual(raw.recv(1), b'')
            self.take(name=other)
            while other.encode() not in seen:
                seen += monitor.recv(65536)
        self.assertNotIn(name.encode(), seen)


class Silence(Case):
    own_servers = True

    def setUp(self):
        self.client, self.name = self.daemon.client(), fresh()

    def test_renewal(self):
        """A renewal that too few nodes confirmed is 503 and deletes nothing."""
        held = self.client.acquire(self.name)
        self.nodes.until_on(3, self.name)
        with self.nodes.hung(2, 3):
            answer = self.client.renew(held, ttl_ms=50000)
        self.assertEqual(answer.status, 503)
        self.assertIn('Retry-After', answer.headers)
        self.assertEqual(self.nodes.on(self.name), 3)

    def test_release(self):
        """An id is spent once its DELETE has come, also where too few nodes confirm the release."""
        held = self.client.acquire(self.name)
        with self.nodes.hung(2, 3):
            self.assertEqual(self.client.release(held).verdict, (503, 'NOQUORUM'))
        self.assertEqual(self.client.acquire(self.name, held.lease).verdict, (410, 'ENDED'))
        # What had no answer in time is carried out all the same.
        self.assertIn(self.client.release(held).status, (204, 410))
        self.nodes.until_on(0, self.name)

    def test_end(self):
        """Requests that wait for the nodes when the process ends are freed."""
        daemon = self.start_ready()
        with self.nodes.hung(1, 2, 3):
            asked = daemon.client().begin('GET', '/v1/locks/' + self.name)
            self.assertEqual(daemon.client().get('/livez').status, 200, 'so the one before was read')
            self.assertEqual(daemon.stop(), 0)
        asked.close()
