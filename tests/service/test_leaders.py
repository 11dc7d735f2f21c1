# SPDX-License-Identifier: BSD-2-Clause
"""GET /v1/leaders/NAME: term and label of the leader, polls for the next term, and "do I lead?" by
lease id."""
import signal

from client import Client, fresh, new_lease
from daemon import ME, Case, until

RULES = ['token:pods jobs/ acquire', 'token:reader jobs/ read']


class Leaders(Case):
    tokens = ('pods', 'reader')
    options = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.configure(*RULES)
        cls.daemon, cls.other = [cls.start('--config', cls.path('conf')) for _ in range(2)]
        for daemon in cls.daemon, cls.other:
            until(daemon.is_ready, 'readiness')

    @classmethod
    def configure(cls, *rules):
        cls.write('conf', ''.join(f'allow = {rule}\n' for rule in (f'{ME} * acquire,read,break,admin', *rules)))

    def setUp(self):
        self.name = 'jobs/' + fresh()
        self.client, self.reader, self.pod = [self.daemon.client(token) for token in (None, 'reader', 'pods')]

    def begin(self, query='', client=None, lease=None, name=None):
        return (client or self.client).begin('GET', f'/v1/leaders/{name or self.name}{query}',
                                             headers={'Lease-Id': lease})

    def ask(self, *arguments, **named):
        return self.begin(*arguments, **named).answer()

    def poll(self, query, client=None):
        polls = self.daemon.metric('leader_polls')
        begun = self.begin(query, client)
        self.daemon.until_metric(polls + 1, 'leader_polls')
        return begun

    def elect(self, label=None, **terms):
        held = self.pod.acquire(self.name, label=label or 'web1:8080', **terms)
        self.assertEqual(held.status, 201)
        return held

    def test_reading(self):
        """A reader learns term, label and remaining time of the leader; before there is one, null."""
        self.assertEqual(self.ask().json, dict(name=self.name, term=None, label=None, remaining_ms=None))
        poll = self.poll('?term=0')
        held = self.elect()
        elected = poll.answer()
        self.assertEqual((elected['term'], elected['label']), (held['fence'], 'web1:8080'), 'a poll with term=0')
        seen = self.ask(client=self.reader)
        self.assertEqual((seen['term'], seen['label'], seen.json.get('leads')), (held['fence'], 'web1:8080', None))
        self.assertTrue(0 < seen['remaining_ms'] <= 30000)

    def test_do_i_lead(self):
        """A lease id learns whether it leads, also from another replica, by the right to acquire."""
        held = self.elect()
        mine, others = self.ask(client=self.pod, lease=held.lease), self.ask(client=self.pod, lease=new_lease())
        self.assertEqual((mine['leads'], mine['term']), (True, held['fence']))
        self.assertEqual((others['leads'], others['term']), (False, held['fence']), 'of the same principal')
        self.assertEqual((mine['label'], others['label']), ('web1:8080', None), 'without the right to read')
        self.assertEqual(self.ask(client=self.pod).verdict, (403, 'FORBIDDEN'), 'to acquire is not to read')
        self.assertEqual(self.ask(client=self.reader, lease=held.lease).verdict, (403, 'FORBIDDEN'))
        self.assertEqual(self.ask(lease='short').verdict, (400, 'LEASE_ID'))
        elsewhere = self.ask(client=self.other.client(), lease=held.lease)
        self.assertEqual((elsewhere['leads'], elsewhere['term']), (True, held['fence']))

    def test_terms(self):
        """Polls end with a leader that resigns, on any replica, and the next term is larger."""
        held = self.elect()
        query = f'?term={held["fence"]}'
        self.assertEqual(self.ask(query + '&wait_ms=1000')['term'], held['fence'], 'a poll ends with its wait')
        deposed, elsewhere = self.poll(query), self.begin(query, self.other.client())
        self.other.until_metric(1, 'leader_polls')
        self.assertEqual(self.pod.release(held).status, 204)
        self.assertEqual((deposed.answer()['term'], elsewhere.answer()['term']), (None, None))
        self.assertEqual(self.ask(client=self.pod, lease=held.lease)['leads'], False, 'it has resigned')
        following = self.elect('web2:8080', ttl_ms=2000)
        self.assertGreater(following['fence'], held['fence'])
        self.assertIsNone(self.ask(f'?term={following["fence"]}')['term'], 'missed when its lease is over')
        self.assertEqual(self.ask(client=self.pod, lease=following.lease)['leads'], False)

    def test_no_leader(self):
        """A shared lock and one without a token have no leader."""
        for terms in {'kind': 'shared'}, {'fenced': False}:
            name = 'jobs/' + fresh()
            held = self.client.acquire(name, **terms)
            found = self.ask(lease=held.lease, name=name)
            self.assertEqual((held.status, found['term'], found['leads']), (201, None, False), terms)

    def test_refused(self):
        """A query, method, name or client that is wrong is refused."""
        for query in 'term=', 'term=x', 'term=-1', 'term=1&wait_ms=50001', 'wait_ms=1', 'term=1&term=2', 'x=1':
            self.assertEqual(self.ask('?' + query).verdict, (400, 'QUERY'), query)
        self.assertEqual(self.client.request('POST', '/v1/leaders/jobs/a', {}).status, 405)
        self.assertEqual(self.ask(name='a//b').verdict, (400, 'NAME'))
        self.assertEqual(self.ask(client=Client(self.daemon.port)).verdict, (401, 'UNAUTHORIZED'))

    def test_dropped(self):
        """A client that goes leaves no poll."""
        self.poll('?term=0', self.reader).close()
        self.daemon.until_metric(0, 'leader_polls')

    def test_forbidden(self):
        """A poll whose right has ended learns nothing."""
        poll = self.poll('?term=0', self.reader)
        self.configure(RULES[0])
        self.daemon.reload('reloaded: ')
        self.elect()
        self.assertEqual(poll.answer().code, 'FORBIDDEN')
        self.configure(*RULES)
        self.daemon.reload('reloaded: ')

    def test_drain(self):
        """TERM answers a poll with the leader that there is."""
        daemon = self.start_ready('--config', self.path('conf'), '--drain', '5')
        held = daemon.client('pods').acquire(self.name)
        poll = daemon.client().begin('GET', f'/v1/leaders/{self.name}?term={held["fence"]}')
        daemon.until_metric(1, 'leader_polls')
        daemon.signal(signal.SIGTERM)
        self.assertEqual(poll.answer()['label'], 'token:pods')


class Majority(Case):
    own_servers = True

    def test_no_majority(self):
        """Without a majority no candidate leads, whatever this replica knows."""
        client = self.daemon.client()
        held = client.acquire('jobs/b', ttl_ms=60000)
        self.assertEqual(held.status, 201)
        self.nodes.dev('kill', 1, 2)
        for query in '', '?term=0&wait_ms=1000':
            found = client.request('GET', '/v1/leaders/jobs/b' + query, headers={'Lease-Id': held.lease})
            self.assertEqual(found.verdict, (503, 'NOQUORUM'), query)


class Behind(Case):
    own_servers = True

    def test_hung(self):
        """No poll learns of an earlier term, or of none, since the node with its own hangs."""
        client, other = self.daemon.client(), self.start_ready().client()
        held = client.acquire('jobs/b', ttl_ms=60000)
        path, counter = '/v1/leaders/jobs/b', 'redlock.fence:jobs/b'
        poll = f'{path}?term={held["fence"]}'
        self.nodes.until_on(3, 'jobs/b')
        for number, behind in (1, 0), (2, 0), (3, 5):
            field = self.nodes.ask(number, 'HKEYS', counter).split()[2]
            self.nodes.ask(number, 'HSET', counter, field, held['fence'] - behind)
        with self.nodes.hung(1):
            self.assertEqual(client.get(path)['term'], held['fence'], 'it was granted here')
            self.assertEqual(other.get(poll + '&wait_ms=1000').verdict, (503, 'NOQUORUM'))
            self.nodes.delete('jobs/b', 2)
            waiting = other.begin('GET', poll)
            self.assertIsNone(other.get(path)['term'], 'one node has it, and one is silent')
            self.assertFalse(waiting.is_answered())
        waiting.close()
