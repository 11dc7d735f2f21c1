# SPDX-License-Identifier: BSD-2-Clause
"""Floods: connections that do nothing, requests that wait, and more requests than a rule allows. The
daemon stays inside its limits, and renewals and releases of others work all the while."""
import re
from collections import Counter

from client import Client, fresh, new_lease
from daemon import ME, Case, read, with_tls

LIMIT = 400
WAITERS = 200
HALF_A_HEAD = b'GET /v1/locks HTTP/1.1\r\n'


def private_kib(pid):
    """The memory that is the daemon's own; None: a sanitizer's memory is in it."""
    if int(re.search(r'VmSize:\s+(\d+)', read(f'/proc/{pid}/status'))[1]) > 1 << 30:
        return None
    return sum(map(int, re.findall(r'Private_\w+:\s+(\d+)', read(f'/proc/{pid}/smaps_rollup'))))


class Flood(Case):
    tokens = ('greedy', 'busy')

    @classmethod
    def setUpClass(cls):
        cls.options = (*with_tls(), '--connections', str(LIMIT),
                       '--allow', f'{ME} * acquire,read,admin',
                       '--allow', f'token:greedy greedy/ acquire,read waiters={WAITERS}',
                       '--allow', 'token:busy greedy/ read,acquire requests=5')
        super().setUpClass()

    def setUp(self):
        self.good = self.daemon.client()
        self.held = [self.good.acquire(fresh('keep'), ttl_ms=50000) for _ in range(5)]
        self.assertEqual([each.status for each in self.held], [201] * 5)

    def tearDown(self):
        for each in self.held:
            self.assertEqual(self.good.release(each).status, 204)

    def renew_all(self, when):
        """On new connections, as most clients do."""
        for each in self.held:
            self.assertEqual(self.good.renew(each, ttl_ms=50000).status, 200, when)
        self.assertLessEqual(self.daemon.metric('connections'), LIMIT, when)

    def test_strangers(self):
        """Strangers who begin requests and handshakes keep no client of socket and port out."""
        before = self.daemon.metric('connections_evicted_total')
        port, tls_port = self.daemon.port, self.daemon.tls_ports[0]
        greedy = [self.daemon.client('greedy', keep=True) for _ in range(2)]
        held = greedy[0].acquire('greedy/' + fresh(), ttl_ms=50000)
        for where, text in (port, HALF_A_HEAD), (tls_port, b''), (port, b''):
            crowd = []
            for _ in range(2 * LIMIT):
                crowd.append(Client(where).open())
                crowd[-1].sendall(text)
            self.renew_all('strangers')
            self.assertEqual(self.daemon.client('greedy').renew(held).status, 200, 'a new one')
            # A rule has served this connection before: none of them closes it.
            self.assertEqual(greedy[0].renew(held, ttl_ms=50000).status, 200, 'a kept one')
            for client in crowd:
                client.close()
        self.assertEqual(greedy[0].release(held).status, 204)
        self.assertGreater(self.daemon.metric('connections_evicted_total') - before, 3 * LIMIT)

    def test_waiting(self):
        """As many requests wait as the rule allows, in little memory, and the next is refused."""
        greedy, name = self.daemon.client('greedy'), 'greedy/' + fresh()
        held = greedy.acquire(name, ttl_ms=50000)
        before_kib = private_kib(self.daemon.pid)
        waiting = [greedy.begin_acquire(name, wait_ms=50000) for _ in range(WAITERS)]
        self.daemon.until_metric(WAITERS, 'waiters')
        # 2 KiB each (make bench-service measures 10,000), and what the first ones need for all.
        if before_kib is not None:
            self.assertLessEqual(private_kib(self.daemon.pid) - before_kib, WAITERS * 6)
        refused = greedy.acquire(name, wait_ms=50000)
        self.assertEqual(refused.verdict, (429, 'QUOTA'))
        self.assertIn('Retry-After', refused.headers)
        self.renew_all('waiting')
        self.assertEqual(greedy.release(held).status, 204)
        for each in waiting:  # one of them has the lock now
            each.close()
        self.daemon.until_metric(0, 'waiters')

    def test_busy(self):
        """A rule that asks too much is refused, not slowed, and its releases are not refused."""
        busy, name = [self.daemon.client('busy', keep=True) for _ in range(10)], 'greedy/' + fresh()
        seen = Counter()
        for turn in range(60):
            for answer in [each.answer() for each in [client.begin('GET', '/v1/locks/' + name)
                                                      for client in busy]]:
                seen[answer.status] += 1
                self.assertEqual('Retry-After' in answer.headers, answer.status == 429)
            if turn % 20 == 0:
                self.renew_all('busy')
        self.assertGreater(seen[429], 0)
        never = self.daemon.client('busy').request('DELETE', '/v1/locks/' + name,
                                                   headers={'Lease-Id': new_lease()})
        self.assertEqual(never.status, 410)


class Lists(Case):
    own_servers = True
    tokens = ('greedy', 'lister')
    options = ('--allow', f'{ME} * acquire,read', '--allow', 'token:greedy greedy/ read',
               '--allow', 'token:lister greedy/ read')

    def test_lists(self):
        """A flood of lists asks the nodes for eight at a time, four of each principal."""
        self.nodes.dev('hang', 1, 2, 3)
        begun = [client.begin('GET', '/v1/locks') for client in
                 [self.daemon.client()] * 5 + [self.daemon.client('greedy')] * 5 +
                 [self.daemon.client('lister')] * 2]
        answers = [each.answer() for each in begun]
        self.nodes.dev('resume', 1, 2, 3)
        refused = [answer for answer in answers if answer.code == 'LISTS']
        self.assertEqual(Counter(answer.status for answer in refused), {429: 2, 503: 2})
        for answer in refused:
            self.assertIn('Retry-After', answer.headers)


class Descriptors(Case):
    own_servers = True
    options = None

    def crowd(self, daemon, most):
        """Clients that are served once, and then have sent half a head: none of them is idle."""
        for _ in range(most):
            self.clients.append(daemon.client().open())
            self.clients[-1].sendall(b'GET /livez HTTP/1.1\r\nHost: h\r\n\r\nGET /livez')
            self.clients[-1].settimeout(0.3)
            try:
                self.clients[-1].recv(4096)
            except TimeoutError:
                return  # no room

    def test_descriptors(self):
        """A crowd of clients leaves a descriptor for a node that comes back."""
        daemon = self.start_ready(through=('sh', '-c', 'ulimit -n 80; exec "$@"', 'sh'))
        self.assertIn('at most 40 connections, not 16384', daemon.log())
        self.clients, feed, states = [], daemon.client().feed(), {}

        def wait_for(count):
            """The feed, which is not idle, has the states of the nodes."""
            while sum(state != 'down' for state in states.values()) != count:
                word, data = feed.next()
                if word == 'node':
                    states[data['node']] = data['state']
        wait_for(3)
        self.crowd(daemon, 80)
        self.nodes.dev('kill', 1)
        wait_for(2)
        self.crowd(daemon, 10)  # those that find room have the descriptors of the node
        self.nodes.dev('start', 1)
        wait_for(3)
        feed.close()
        for client in self.clients:
            client.close()
