# SPDX-License-Identifier: BSD-2-Clause
"""What was ended stays ended, and is answered so: while renewals are under way, and with nodes down."""
from client import fresh
from daemon import ME, Case, Pair
from relay import Relay

BRIEF_MS = 6000  # of a stream: renewed every two seconds


class UnderWay(Case):
    """Two replicas, each with another node behind a relay, and a third with none."""
    tokens = ('far',)
    options = ('--allow', 'token:far * acquire,read', '--allow', f'{ME} * acquire,read,break,admin')

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        nodes = cls.nodes.names.split(',')
        cls.relays = [Relay(cls.nodes.ports[k]) for k in (2, 0)]
        cls.one = cls.start_ready(*cls.options, nodes=','.join(nodes[:2] + [cls.relays[0].address]))
        cls.two = cls.start_ready(*cls.options, nodes=','.join([cls.relays[1].address] + nodes[1:]))

    def setUp(self):
        self.name, self.third = fresh(), self.daemon.client()
        self.first, self.second = self.one.client(), self.two.client()

    def hold_back(self):
        for relay in self.relays:
            relay.passes.clear()

    def let_go(self):
        """What was held back arrives, and what follows from its answers has been carried out."""
        for relay in self.relays:
            relay.passes.set()
        for client in 2 * [self.first, self.second]:
            while {node['vote'] for node in client.look(self.name)['nodes']} != {'MISSING'}:
                pass
        self.assertEqual(self.nodes.on(self.name), 0)

    def renew_twice(self):
        """A lease that both replicas have renewed on different majorities."""
        held = self.third.acquire(self.name, ttl_ms=60000)
        self.nodes.until_on(3, self.name)
        self.hold_back()
        for client in self.first, self.second:
            self.assertEqual(client.renew(held, ttl_ms=60000).status, 200)
        return held

    def test_released(self):
        """A DELETE is not undone by renewals that two replicas have begun."""
        for _ in range(2):
            held = self.renew_twice()
            self.assertEqual(self.third.release(held).status, 204)
            self.nodes.until_on(0, self.name)
            self.let_go()

    def test_broken(self):
        """A break is not undone by renewals that two replicas have begun."""
        held = self.renew_twice()
        self.assertEqual(self.third.evict(self.name).status, 200)
        self.let_go()
        self.assertEqual(self.first.renew(held).verdict, (410, 'LOST'))

    def test_streams(self):
        """Neither a DELETE nor a break is undone by a stream that two replicas renew."""
        for end in self.third.release, lambda held: self.third.evict(held.name):
            stream = self.one.client('far').hold(self.name, ttl_ms=BRIEF_MS)
            back = self.second.hold(self.name, stream.lease, stream.find('granted')['grant'], ttl_ms=BRIEF_MS)
            back.find('granted')
            self.nodes.until_on(3, self.name)
            self.hold_back()
            for each in stream, back:
                each.find('renewed')
            self.nodes.keep(self.name)
            self.assertLess(end(back).status, 300)
            self.let_go()
            stream.close()
            back.close()


class Down(Case):
    own_servers = True
    servers = '-c 5'

    def test_leases(self):
        """With up to two of five nodes down, a lease that the others miss is 410, with three 503."""
        client = self.daemon.client()
        leases = [client.acquire(fresh(), ttl_ms=60000) for _ in range(4)]
        for down, held in enumerate(leases):
            if down:
                self.nodes.dev('kill', 6 - down)
            self.nodes.delete(held.name, *range(1, 6 - down))
            answer = client.renew(held)
            self.assertEqual(answer.verdict, (410, 'LOST') if down < 3 else (503, 'NOQUORUM'), down)
            if down < 3:
                self.assertIn('gone from', answer['detail'])


class StreamDown(Pair):
    own_servers = True
    tokens = ('far',)
    options = UnderWay.options

    def test_streams(self):
        """With one of three nodes down, a stream that is gone ends with `lost`, also coming back."""
        held, left = self.first.hold(self.name, ttl_ms=BRIEF_MS), self.daemon.client('far').hold(fresh())
        held.find('granted')
        grant = left.find('granted')['grant']
        for name in self.name, left.name:
            self.nodes.until_on(3, name)
        left.close()
        self.nodes.dev('kill', 3)
        for name in self.name, left.name:
            self.nodes.delete(name, 1, 2)
        self.assertEqual(held.find('lost')['code'], 'LOST')
        self.assertNotIn('jeopardy', held.words())
        self.assertEqual(self.second.begin_hold(left.name, left.lease, grant).answer().verdict, (410, 'LOST'))
