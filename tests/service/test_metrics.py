# SPDX-License-Identifier: BSD-2-Clause
"""/metrics: all that redlockd(8) lists, in a format that a parser takes, with numbers that are right."""
import re
import shutil
import subprocess
import unittest

from client import Client, fresh
from daemon import TOP, Case, read

DECLARED = '''requests_total request_seconds acquire_wait_seconds leases waiters leader_polls yours_total
    disconnected_waiters_total connections connections_evicted_total node_up node_votes
    node_quarantine_seconds node_rtt_seconds node_clock_offset_seconds node_last_answer_seconds
    quorum_margin build_info hold_seconds lost_total expired_unreleased_total ended_elsewhere_total
    unknown_renewals_total broken_total quota_rejected_total'''.split()


class Exposition(Case):
    """Of a daemon that has served something of everything."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        client, name = cls.daemon.client(), fresh('secret-name')
        client.release(client.acquire(name))
        stream = client.hold(name)
        stream.find('granted')
        cls.text = client.get('/metrics').text
        stream.close()

    def test_format(self):
        """A parser of Prometheus finds nothing wrong with the lines of all metrics."""
        self.assertEqual(self.daemon.metrics().problems, [])

    def test_declared(self):
        """Every metric is there from the start, and redlockd(8) names all of them."""
        types = self.start().metrics().types
        self.assertEqual([name for name in DECLARED if 'redlockd_' + name not in types], [])
        manual = read(TOP + '/man/redlockd.8')
        self.assertEqual([name for name in types if not re.search(
            rf'(Li|,) {name.removeprefix("redlockd_")}( |$)', manual, re.M)], [])

    def test_names(self):
        """No name of a lock is a label."""
        self.assertNotIn('secret-name', self.text)

    @unittest.skipUnless(shutil.which('promtool'), 'promtool is not installed')
    def test_promtool(self):
        """Promtool finds nothing wrong."""
        done = subprocess.run(['promtool', 'check', 'metrics'], input=self.text, text=True,
                              capture_output=True, check=False)
        self.assertEqual(done.stdout + done.stderr, '')


class Numbers(Case):
    """Each test has a daemon of its own, and knows what its counters must be."""
    options = None

    def setUp(self):
        self.daemon = self.start_ready()
        self.client, self.name = self.daemon.client(), fresh()

    def tearDown(self):
        self.daemon.stop()

    def shows(self, wanted, name, **labels):
        self.assertEqual(self.daemon.metric(name, **labels), wanted, (name, labels))

    def test_requests(self):
        """Requests are counted by operation and status, and what is held by its way."""
        held = self.client.acquire(self.name, ttl_ms=60000)
        self.client.acquire(self.name)
        self.client.renew(held, ttl_ms=60000)
        self.client.look(self.name)
        self.client.acquire(self.name, held.lease)
        stranger = Client(self.daemon.port)
        stranger.get('/v1/status')
        stranger.request('PATCH', '/')
        for op, code, count in (('acquire', 201, 1), ('acquire', 423, 1), ('acquire', 409, 1),
                                ('renew', 200, 1), ('look', 200, 1), ('status', 401, 1), ('none', 405, 1)):
            self.shows(count, 'requests_total', op=op, code=str(code))
        self.assertGreaterEqual(self.daemon.metric('requests_total', op='ready', code='200'), 1)
        self.shows(3, 'request_seconds_count', op='acquire')
        self.shows(1, 'yours_total')
        self.shows(1, 'leases', way='lease', state='held')
        self.shows(0, 'leases', way='stream', state='held')
        self.shows(1, 'acquire_wait_seconds_count')

    def test_waits(self):
        """A wait and a stream are counted while they last, and how long a lock was held."""
        held = self.client.acquire(self.name, ttl_ms=60000)
        waiting = self.client.begin_acquire(self.name, wait_ms=50000)
        self.daemon.until_metric(1, 'waiters')
        self.shows(1, 'leases', way='lease', state='waiting')
        self.shows(2, 'connections', listener='unix:' + self.daemon.socket)
        self.shows(0, 'connections', listener=f'127.0.0.1:{self.daemon.port}')
        stream = self.client.hold(self.name + '-stream', ttl_ms=60000)
        stream.find('granted')
        self.shows(1, 'leases', way='stream', state='held')
        second = self.client.hold(self.name + '-stream', wait_ms=50000)
        self.daemon.until_metric(2, 'waiters')
        self.shows(1, 'leases', way='stream', state='waiting')
        self.client.release(held)
        self.assertEqual(waiting.answer().status, 201)
        second.close()
        self.daemon.until_metric(0, 'waiters')
        self.shows(1, 'disconnected_waiters_total')
        self.shows(1, 'requests_total', op='release', code='204')
        self.shows(1, 'hold_seconds_count')
        self.assertTrue(0 < self.daemon.metric('hold_seconds_sum') < 600)
        stream.close()

    def test_ends(self):
        """What others end is counted: a break, an expiry, and the renewal that comes too late."""
        stream = self.client.hold(self.name, ttl_ms=60000)
        stream.find('granted')
        self.assertEqual(self.client.evict(self.name).status, 200)
        stream.close()  # it would learn of that by its next renewal, in 20 s
        short = self.client.acquire(self.name + '-brief', ttl_ms=2000)
        self.daemon.until_metric(1, 'expired_unreleased_total')
        self.shows(1, 'broken_total')
        self.client.renew(short)
        self.shows(1, 'requests_total', op='renew', code='410')
