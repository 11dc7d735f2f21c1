# SPDX-License-Identifier: BSD-2-Clause
"""redlockd on other nodes than single masters: a Sentinel group, a cluster, several quorums."""
import os
import re
import shutil
import subprocess
import time
import unittest

from client import fresh
from daemon import ENVIRONMENT, ME, Case, run, until


class Group(Case):
    """What a failover may undo: locks, breaks and releases."""
    own_servers = True
    options = ('--allow', ME + ' * acquire,read,break,admin')

    def setUp(self):
        self.client = self.daemon.client()

    def nodes_of(self, path='/v1/nodes'):
        return self.client.get(path)['nodes']

    def until_quarantined(self, count=1):
        until(lambda: sum(node['quarantined'] for node in self.nodes_of()) == count, 'the quarantine')

    def check_break(self):
        """It says when it is final; the next token is larger."""
        held = self.client.acquire(name := fresh(), ttl_ms=30000)
        self.assertEqual((held.status, self.client.acquire(name, ttl_ms=30000).status), (201, 423))
        broken = self.client.evict(name)
        self.assertEqual((broken.status, broken['final'], broken['final_ms']), (200, False, 64000))
        self.assertGreater(self.client.acquire(name, ttl_ms=30000)['fence'], held['fence'])


class Sentinel(Group):
    servers = '--sentinel'

    def test_group(self):
        """A Sentinel group: its promise, breaks and releases that are not final, a quarantine."""
        status = self.daemon.status()['quorums'][0]
        self.assertEqual(status['deployment'], 'a Sentinel group with 3 sentinels')
        self.assertRegex(status['guarantee'], '^one holder, through any failover')
        node = self.nodes_of()[0]
        self.assertEqual((node['deployment'], node['vouchers'], len(node['sentinels'])), ('sentinel', 3, 3))
        self.assertTrue(node['sentinels'][0]['counts'])
        self.check_break()
        released = self.client.release(self.client.acquire(fresh(), ttl_ms=30000))
        self.assertEqual((released.status, released.headers['Redlock-Final-Ms']), (204, '64000'))
        self.nodes.dev('failover')
        node = until(lambda: next((node for node in self.nodes_of()
                                   if node['quarantined'] and node['quarantine_ms']), None))
        self.assertRegex(node['text'], 'another master, .* may vote in [0-9]+ s')
        self.assertIn(node['quarantine_ms'], range(30000, 64001))


class Cluster(Group):
    servers = '--cluster'

    @classmethod
    def setUpClass(cls):
        server = os.environ.get('REDLOCK_SERVER') or shutil.which('redis-server') or 'valkey-server'
        started = run(server, '--port', '0', '--cluster-port', '1', '--test-of-directives', 'x')
        if 'test-of-directives' not in started.stdout + started.stderr:
            raise unittest.SkipTest('this server has no cluster-port (before 7.0)')
        super().setUpClass()

    def test_cluster(self):
        """A cluster: three votes, breaks that are not final, and locks through a failover."""
        self.assertRegex(self.daemon.status()['quorums'][0]['guarantee'], '^one holder, through any failover')
        self.assertEqual([node['deployment'] for node in self.nodes_of()], ['cluster'] * 3)
        self.check_break()
        self.nodes.dev('failover', 'v1')
        self.until_quarantined()
        self.assertEqual(self.client.acquire(fresh(), ttl_ms=30000).status, 201)


class Undone(Group):
    """`redlock break --wait --service` of a lock that a failover brings back."""
    servers = '--sentinel --no-init'

    @classmethod
    def setUpClass(cls):
        # The quarantine of a new master, and what a break waits for: max-ttl and 4 s.
        options, cls.options = cls.options, None
        super().setUpClass()
        cls.config = cls.write('redlock.conf', 'node-timeout = 3s\nmax-ttl = 3s\n')
        cls.redlock('init', '--yes', '-q')
        cls.daemon = cls.start_ready(*options, REDLOCK_CONFIG=cls.config)

    @classmethod
    def redlock(cls, *words):
        done = cls.nodes.redlock(*words, REDLOCK_CONFIG=cls.config)
        assert done.returncode == 0, done
        return done.stdout

    def begin_break(self, name):
        return subprocess.Popen(['redlock', 'break', '--yes', '--wait', '--service', 'unix:' + self.daemon.socket, name],
                                env=ENVIRONMENT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def check_final(self, breaking, began, least_s):
        out, err = breaking.communicate()
        self.assertEqual((breaking.returncode, out.count('it is final')), (0, 1), err)
        self.assertIn(int(time.monotonic() - began), range(least_s, 30))
        return err

    def master(self):
        """The port of the master that is up; None."""
        found = re.search(r':(\d+) +master +up', self.redlock('dev', 'list'))
        return found and int(found[1])

    def ask(self, *words):
        self.nodes.ports = [self.master()]
        return self.nodes.ask(1, *words)

    def copy(self, *words):
        """From a key of the master to another, for so many ms; 0: for ever."""
        self.assertEqual('+OK', self.ask(
            'EVAL', "return redis.call('RESTORE', KEYS[2], ARGV[1], redis.call('DUMP', KEYS[1]))", 2, *words))

    def tenure(self, name):
        return self.nodes_of('/v1/locks/' + name)[0]['tenure']

    def test_final(self):
        """A break that waits returns when no failover can undo it: the longest TTL and 4 s."""
        self.redlock('lock', '-t', '3s', 'one')
        self.assertRegex(self.tenure('one'), '^[0-9a-f]{16}$')
        began = time.monotonic()
        self.assertNotIn('promoted', self.check_final(self.begin_break('one'), began, 7))

    def test_undone(self):
        """A break that a failover undoes is repeated, and counts anew."""
        self.redlock('lock', '-t', '3s', 'two')
        self.copy('redlock:two', 'copy', 0)
        tenure, old = self.tenure('two'), self.master()
        breaking = self.begin_break('two')
        said = breaking.stderr.readline()
        self.assertIn('waiting', said)
        self.redlock('dev', 'failover')
        until(lambda: self.master() not in (None, old), 'a failover')
        began = time.monotonic()
        # As if the deletion had been lost, and the holder had renewed what it found.
        self.copy('copy', 'redlock:two', 60000)
        self.assertIn('another server was promoted', said + self.check_final(breaking, began, 6))
        self.assertEqual(':0', self.ask('EXISTS', 'redlock:two'))
        self.assertNotEqual(tenure, self.tenure('two'), 'what speaks for the group then')
        for verb in 'hang', 'resume':
            self.nodes.dev(verb, 's1', 's2')
            until(lambda: (self.tenure('two') is None) == (verb == 'hang'), 'one of three sentinels alone')


class Quorums(Case):
    """Each lock lives in one quorum, and one that is down takes only its locks."""
    servers = '-c 3 --quorums 2'
    own_servers = True

    def home(self, quorum):
        """A name that lives there."""
        return next(name for name in iter(fresh, None)
                    if self.nodes.redlock('nodes', '--where', name).stdout.endswith(f': quorum {quorum}\n'))

    def test_quorums(self):
        """Locks of a quorum that is lost are refused, those of the other granted."""
        client = self.daemon.client()
        until(lambda: [(q['name'], q['voting'], q['nodes']) for q in self.daemon.status()['quorums']]
              == [('q1', 3, 3), ('q2', 3, 3)], 'two verdicts')
        held = [client.acquire(self.home(quorum), wait_ms=5000) for quorum in ('q1', 'q2')]
        self.assertEqual([answer.status for answer in held], [201, 201])
        self.assertEqual(len(client.get('/v1/locks')['names']), 2, 'the list has both')
        self.assertEqual(client.release(held[1]).status, 204)
        self.nodes.dev('kill', 1, 2)
        ready = until(lambda: (answer := client.get('/readyz?verbose')).status == 503 and answer)
        self.assertEqual((ready.code, [(q['name'], q['voting'], q['needed']) for q in ready['quorums']]),
                         ('NOQUORUM', [('q1', 1, 2), ('q2', 3, 2)]))
        self.assertEqual(client.acquire(self.home('q1'), wait_ms=5000).verdict, (503, 'NOQUORUM'))
        self.assertEqual(client.acquire(self.home('q2'), wait_ms=5000).status, 201)
        self.assertEqual(client.get('/livez').status, 200)


class Profile(Case):
    options = None

    def test_correctness(self):
        """The profile `correctness` of redlock.conf is in force, and the status has it."""
        nodes = self.write('nodes', f'nodes = {self.nodes.names}\nnode-timeout = 3s\nprofile = correctness\n')
        conf = self.write('conf', f'quorum-config = {nodes}\nallow = {ME} * acquire,read,admin\n')
        daemon = self.start_ready('--config', conf, nodes=None)
        client = daemon.client()
        held = client.acquire(fresh(), ttl_ms=60000)
        self.assertTrue(held.status == 201 and held['fence'] > 0, held)
        self.assertRegex(repr(client.acquire(fresh(), kind='shared')), '^4.*no fencing token: use a mutex')
        quorum, = daemon.status()['quorums']
        self.assertEqual(quorum['profile'], 'correctness')
        self.assertRegex(quorum['guarantee'], '^one holder; .*every lock has a token$')
