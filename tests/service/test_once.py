# SPDX-License-Identifier: BSD-2-Clause
"""PUT and DELETE /v1/once/NAME: of all that try, one begins in a period, as with `redlock run --every`."""
from client import fresh
from daemon import ME, Pair, until
from relay import Relay

DAY_MS = 86400000
MINUTE_MS = 60000


class Once(Pair):
    tokens = ('worker',)
    options = ('--allow', f'{ME} * acquire,read,admin', '--allow', 'token:worker * acquire')

    def setUp(self):
        super().setUp()
        self.client = self.first

    def candidate(self, label='web1', client=None, name=None):
        held = (client or self.client).acquire(name or self.name, label=label, wait_ms=20000)
        self.assertEqual(held.status, 201, held)
        return held

    def begin_once(self, held, every_ms=MINUTE_MS, client=None):
        return (client or self.client).begin('PUT', '/v1/once/' + held.name, {'every_ms': every_ms},
                                             {'Lease-Id': held.lease}, held.name)

    def once(self, *arguments, **named):
        return self.begin_once(*arguments, **named).answer()

    def take_back(self, held, client=None):
        return (client or self.client).request('DELETE', '/v1/once/' + held.name,
                                               headers={'Lease-Id': held.lease}).status

    def is_recorded(self):
        return self.client.look(self.name + '.every')['held']

    def test_period(self):
        """The holder of the lock begins, and the next one learns that it has run, for a day."""
        held = self.candidate()
        begun = self.once(held, DAY_MS)
        self.assertEqual((begun.status, begun['every_ms'], begun['sure']), (201, DAY_MS, True))
        self.assertTrue(0 < begun['remaining_ms'] <= 1000)
        self.assertEqual(self.once(held, DAY_MS).verdict, (409, 'YOURS'), 'the same lease again')
        self.client.release(held)
        second = self.candidate('web2', self.other.client())
        done = self.once(second, client=self.other.client())
        self.assertEqual((done.verdict, done['label']), ((423, 'DONE'), 'web1'))
        self.assertTrue(DAY_MS - MINUTE_MS < done['next_ms'] <= DAY_MS)
        hidden = self.once(second, client=self.daemon.client('worker'))
        self.assertEqual((hidden.verdict, hidden['label']), ((423, 'DONE'), None), 'without the right to read')
        self.assertEqual(hidden['next_ms'] > 0, True)

    def test_over(self):
        """After the period another begins."""
        held = self.candidate()
        self.assertEqual(self.once(held, 1000).status, 201)
        self.client.release(held)
        second = self.candidate()
        until(lambda: self.once(second, 1000).status == 201, 'the next period')

    def test_only_the_holder(self):
        """A lease without the lock records nothing: neither before its PUT nor behind its DELETE."""
        held = self.candidate()
        self.client.release(held)
        self.assertEqual(self.once(held).verdict, (410, 'ENDED'))
        stranger = self.candidate(name=fresh())
        stranger.name = self.name
        self.candidate()
        self.assertEqual(self.once(stranger).verdict, (410, 'ENDED'))
        self.assertFalse(self.is_recorded())

    def test_command(self):
        """A run of the command counts for clients of the service, and the other way round."""
        self.assertEqual(self.nodes.redlock('run', '-n', '--every', '1h', self.name, '--', 'true').returncode, 0)
        held = self.candidate()
        self.assertEqual(self.once(held).verdict, (423, 'DONE'))
        self.name = fresh()
        held = self.candidate()
        self.assertEqual(self.once(held).status, 201)
        self.client.release(held)
        self.assertEqual(self.nodes.redlock('run', '-n', '--every', '1h', self.name, '--', 'true').returncode, 75)

    def test_taken_back(self):
        """Whatever replica is asked, and only by the lease that recorded it: then another begins."""
        held = self.candidate()
        self.assertEqual(self.once(held).status, 201)
        self.client.release(held)
        second = self.candidate()
        self.assertEqual(self.take_back(second), 410)
        self.assertEqual(self.take_back(held, self.other.client()), 204)
        self.assertEqual(self.once(second).status, 201)

    def test_killed(self):
        """The record outlives the daemon that wrote it."""
        daemon = self.start_ready(*self.options)
        held = self.candidate(client=daemon.client())
        self.assertEqual(self.once(held, client=daemon.client()).status, 201)
        daemon.kill()
        self.client.release(held)
        self.assertEqual(self.once(self.candidate()).verdict, (423, 'DONE'))

    def test_late(self):
        """A record that is too late for its run is undone, and so is one without its client."""
        relays = [Relay(port) for port in self.nodes.ports[:2]]
        nodes = ','.join([relay.address for relay in relays] + ['127.0.0.1:%d' % self.nodes.ports[2]])
        slow = self.start_ready(*self.options, nodes=nodes)
        client = slow.client()
        held = self.candidate(client=client)
        self.assertEqual(self.once(held, client=client).status, 201)
        self.assertEqual(self.take_back(held, client), 204)
        for relay in relays:
            relay.is_slow = True
        self.assertEqual(self.once(held, client=client).verdict, (503, 'LATE'))
        late = [relay.late for relay in relays]
        pending = self.begin_once(held, client=client)
        until(lambda: all(relay.late > before for relay, before in zip(relays, late)), 'a look at the lock')
        pending.close()
        for relay in relays:
            relay.is_slow = False
        until(lambda: not self.is_recorded(), 'the end of the record')
        until(lambda: self.once(held, client=client).status == 201, 'another beginning')

    def test_right_taken(self):
        """A run whose right ends while it is recorded does not begin, and leaves no record."""
        relays = [Relay(port) for port in self.nodes.ports[:2]]
        nodes = ','.join([relay.address for relay in relays] + ['127.0.0.1:%d' % self.nodes.ports[2]])
        conf = self.write('conf', f'allow = {ME} * acquire,read,admin\nallow = token:worker * acquire\n')
        slow = self.start_ready('--config', conf, nodes=nodes)
        worker = slow.client('worker')
        held = self.candidate(client=worker)
        for relay in relays:
            relay.is_slow = True
        pending = self.begin_once(held, client=worker)
        until(lambda: all(relay.late for relay in relays), 'a look at the lock')
        self.write('conf', f'allow = token:worker other/ acquire\nallow = {ME} * acquire,read,admin\n')
        slow.reload()
        for relay in relays:
            relay.is_slow = False
        refused = pending.answer()
        self.assertEqual((refused.verdict, refused['detail']),
                         ((403, 'FORBIDDEN'), 'no rule allows that any more'))
        until(lambda: not self.is_recorded(), 'the end of the record')

    def test_refused(self):
        """Refused: other periods, names without room, and nodes that are not those of the start."""
        held = self.candidate()
        for every_ms in 999, DAY_MS + 1, '1h', None:
            self.assertEqual(self.once(held, every_ms).status, 422)
        held.name = 'x' * 510
        self.assertEqual(self.once(held).status, 422)
        conf = self.write('nodes.conf', f'nodes = {self.nodes.names}\nnode-timeout = 3s\n')
        moved = self.start_ready('--quorum-config', conf, nodes=None)
        self.write('nodes.conf', 'nodes = 127.0.0.1:1\n')
        held = self.candidate(client=moved.client(), name=fresh())
        self.assertEqual(self.once(held, client=moved.client()).verdict, (503, 'RECORDS'))
