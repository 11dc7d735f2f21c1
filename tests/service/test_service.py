# SPDX-License-Identifier: BSD-2-Clause
"""Locks over HTTP on real servers, field by field."""
import threading

from client import Client, fresh, new_lease
from daemon import Case, until

KINDS = ('"rwlock"', '"Mutex"', '""', '"unknown"', '0', 'null', '["mutex"]')


class Locks(Case):
    def setUp(self):
        self.client, self.name = self.daemon.client(), fresh('billing')

    def test_grant(self):
        """PUT grants a lease, whose holder GET shows without a secret, and POST renews it."""
        held = self.client.acquire(self.name, ttl_ms=30000, label='web3 invoice run')
        self.assertEqual(held.status, 201)
        self.assertEqual(sorted(held.json), ['after_ms', 'deadline_boottime_ns', 'fence', 'grant', 'name',
                                             'remaining_ms', 'ttl_ms'])
        self.assertEqual(held['name'], self.name)
        self.assertTrue(1 <= held['fence'] <= 1 << 52)
        self.assertTrue(1 <= held['remaining_ms'] <= 29400)
        seen = self.client.look(self.name)
        self.assertEqual((seen['holders'][0]['label'], seen['held'], seen['kind']), ('web3 invoice run', True, 'mutex'))
        self.assertNotIn(held.lease, seen.text)
        self.assertNotIn('value', seen.text)
        renewed = self.client.renew(held, ttl_ms=50000)
        self.assertEqual((renewed.status, renewed['ttl_ms']), (200, 50000))

    def test_busy(self):
        """Another lease is refused with the holder and the vote of each node, also after a wait."""
        self.client.acquire(self.name, label='first')
        refused = self.client.acquire(self.name)
        self.assertEqual((refused.verdict, refused['holder']['label']), ((423, 'BUSY'), 'first'))
        self.assertTrue(1 <= refused['holder']['remaining_ms'] <= 30000)
        self.assertEqual([node['vote'] for node in refused['nodes']], ['TAKEN'] * 3)
        self.assertEqual(self.client.acquire(self.name, wait_ms=2000).verdict, (423, 'TIMEOUT'))

    def test_list(self):
        """The list has a name by its prefix, behind another, and so many at a time."""
        self.client.acquire(self.name)
        for query, names in ('prefix=' + self.name, [self.name]), ('prefix=other', []), \
                (f'prefix={self.name}&after={self.name}', []):
            found = self.client.get('/v1/locks?' + query)
            self.assertEqual((found.status, found['names'], found['more']), (200, names, False), query)
        self.assertEqual(self.client.get('/v1/locks?limit=0').status, 400)

    def test_break(self):
        """A break by the fingerprint of the holder evicts it, one by another evicts no lock."""
        held = self.client.acquire(self.name, label='web3', ttl_ms=50000)
        mark = self.client.look(self.name)['holders'][0]['fingerprint']
        wrong = self.client.request('DELETE', f'/v1/locks/{self.name}?break={mark}', None, {'Lease-Id': held.lease})
        self.assertEqual(wrong.verdict, (400, 'QUERY'), 'a DELETE with a parameter releases nothing')
        other = mark.translate(str.maketrans('0123456789abcdef', '123456789abcdef0'))
        self.assertEqual(self.client.evict(self.name, other).verdict, (412, 'EXPIRED'))
        broken = self.client.evict(self.name, mark)
        self.assertEqual((broken.status, broken['label'], broken['fingerprint']), (200, 'web3', mark))
        self.assertTrue(1 <= broken['remaining_ms'] <= 50000)
        self.assertEqual((self.client.renew(held).status, self.client.release(held).status), (410, 410))

    def statuses(self, *terms):
        """Of acquisitions of one name with these terms, one after the other."""
        name = fresh()
        return [self.client.acquire(name, **each).status for each in terms]

    def test_kinds(self):
        """Readers share a lock, slots are counted, and an owner enters again."""
        shared, slots = dict(kind='shared'), dict(kind='semaphore', slots=2)
        mine, yours = [dict(kind='reentrant', owner=owner) for owner in ('me', 'you')]
        self.assertEqual(self.statuses(shared, shared, {}), [201, 201, 423])
        self.assertEqual(self.statuses(slots, slots, slots), [201, 201, 423])
        self.assertEqual(self.statuses(mine, mine, yours), [201, 201, 423])
        self.assertIsNone(self.client.acquire(fresh(), **shared)['fence'])
        self.assertEqual(self.client.acquire(fresh(), **shared, fenced=True).verdict, (422, 'INVAL'))

    def test_refused(self):
        """A request that is wrong is refused by status and code, and nothing is held by it."""
        lease, at, other = new_lease(), '/v1/locks/' + self.name, self.client.acquire(fresh())
        stream = {'Accept': 'text/event-stream'}
        for what, method, path, body, headers, *verdict in (
                ('no lease id', 'PUT', at, {}, {}, 400, 'LEASE_ID'),
                ('a short one', 'PUT', at, {}, {'Lease-Id': 'short'}, 400, 'LEASE_ID'),
                ('no grant', 'POST', at, {}, {'Lease-Id': lease}, 400, 'GRANT'),
                ('made up', 'POST', at, {}, {'Lease-Id': lease, 'Grant': 'nonsense'}, 400, 'GRANT'),
                ('no name', 'PUT', '/v1/locks/', {}, {'Lease-Id': lease}, 400, 'NAME'),
                ('a proxy would rewrite it', 'PUT', '/v1/locks/a/%2e%2e/b', {}, {'Lease-Id': lease}, 400, 'NAME'),
                ('a parameter', 'PUT', at + '?x=1', {}, {'Lease-Id': lease}, 400, 'QUERY'),
                ('through a proxy', 'PUT', at, {}, {'Lease-Id': lease, 'Via': '1.1 proxy', **stream}, 400, 'PROXIED'),
                ('a renewal as a stream', 'POST', at, {}, {'Lease-Id': lease, 'Grant': other['grant'], **stream},
                 400, 'NO_STREAM'),
                ('no JSON', 'PUT', at, '{', {'Lease-Id': lease}, 400, 'JSON')):
            self.assertEqual(self.client.request(method, path, body, headers).verdict, tuple(verdict), what)
        for terms in ('{"fence":true}', '{"wait_ms":50001}', '{"ttl_ms":0}', '{"ttl_ms":80000000}',
                      r'{"label":"\u001b[2J"}', '{"kind":"reentrant"}'):
            refused = self.client.request('PUT', at, terms, {'Lease-Id': lease})
            self.assertEqual(refused.verdict, (422, 'INVAL'), terms)
        for kind in KINDS:
            refused = self.client.request('PUT', at, f'{{"kind":{kind}}}', {'Lease-Id': lease})
            self.assertEqual(refused.verdict, (422, 'INVAL'), kind)
            self.assertRegex(refused['detail'], '^kind is one of( [a-z]+){4,}$')
        with self.client.open() as raw:
            raw.sendall(f'PUT {at} HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n'
                        f'Content-Length: 2\r\nLease-Id: {lease}\r\nLease-Id: {lease}\r\n\r\n{{}}'.encode())
            self.assertIn('"LEASE_ID"', raw.recv(4096).decode(), 'two lease ids')
        stranger = Client(self.daemon.port)
        self.assertEqual(stranger.acquire(self.name).code, 'UNAUTHORIZED')
        self.assertEqual(stranger.get('/metrics').code, 'UNAUTHORIZED')
        self.assertEqual(self.client.look(self.name)['held'], False)

    def test_nodes(self):
        """Nodes and status have the votes of each and the verdict of the quorum."""
        until(lambda: [node['votes'] for node in self.client.get('/v1/nodes')['nodes']] == [True] * 3, 'all votes')
        quorum, = self.daemon.status()['quorums']
        self.assertEqual([quorum[field] for field in ('voting', 'nodes', 'needed')], [3, 3, 2])

    def test_turns(self):
        """Ten clients at a time take turns: one holder, and fences in the order of the grants."""
        holders, fences, wrong, guard = [], [], [], threading.Lock()

        def work(number):
            client = self.daemon.client()
            for _ in range(5):
                held = client.acquire(self.name, ttl_ms=30000, wait_ms=50000)
                if held.status != 201:
                    wrong.append(held)
                    return
                with guard:
                    holders.append(number)
                    fences.append(held['fence'])
                    if len(holders) != 1:
                        wrong.append('two holders')
                with guard:
                    holders.remove(number)
                if client.release(held).status != 204:
                    wrong.append('not released')
        threads = [threading.Thread(target=work, args=(number,)) for number in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
        self.assertEqual(fences, sorted(set(fences)))
        self.assertEqual(len(fences), 50)
