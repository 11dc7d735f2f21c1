# SPDX-License-Identifier: BSD-2-Clause
"""The audit log: a line for everything that happens to a lock, nothing secret in it, harmless
whatever clients call things, and never waited for."""
import fcntl
import json
import os
import stat
import time

from client import Client, fresh, new_lease, secrets
from daemon import ME, REDLOCKD, Case, read, run, until

RIGHTS = ('--allow', f'{ME} * acquire,read,break,admin', '--allow', 'token:ci ci/ acquire')


def brief(record):
    """Without its time and its sender."""
    return {key: value for key, value in record.items()
            if key not in ('time', 'peer', 'listener', 'path')}


class Audit(Case):
    tokens = ('ci',)
    audit = True
    options = RIGHTS

    def setUp(self):
        self.client, self.name = self.daemon.client(), fresh()

    def logged(self, **fields):
        """The only line with these fields, without its time and sender."""
        record, = self.daemon.audited(**fields)
        return brief(record)

    def line(self, event, name=None, label=None, fence=None, reason=None, principal=ME):
        return dict(event=event, principal=principal, name=name, label=label, fence=fence, reason=reason)

    def test_grant_and_release(self):
        """A grant and a release, by its tag, are a line each, with time and sender."""
        self.assertEqual(stat.S_IMODE(os.stat(self.daemon.audit_path).st_mode) & 0o007, 0)
        held = self.client.acquire(self.name, label='web 1', ttl_ms=30000)
        record, = self.daemon.audited(name=self.name)
        about = dict(name=self.name, label='web 1', fence=held['fence'])
        self.assertEqual(brief(record), self.line('granted', **about))
        self.assertRegex(record['peer'], f'^{ME} pid:{os.getpid()}$')
        self.assertEqual(record['listener'], 'unix:' + self.daemon.socket)
        self.assertRegex(record['time'], r'^20[0-9-]+T[0-9:]+\.[0-9]{3}Z$')
        self.assertEqual(self.client.release(held).status, 204)
        self.assertEqual(self.logged(name=self.name, event='released'), self.line('released', **about))
        self.assertEqual(self.client.release(held).status, 410)
        self.logged(name=self.name, event='released')  # is still the only one

    def test_break_and_loss(self):
        """A break is a line, and so is the loss that the holder's renewal finds."""
        held = self.client.acquire(self.name, label='web 2')
        about = dict(name=self.name, label='web 2', fence=held['fence'])
        self.assertEqual(self.client.evict(self.name).status, 200)
        self.assertEqual(self.logged(event='broken', name=self.name), self.line('broken', **about))
        self.assertEqual(self.client.renew(held).status, 410)
        self.assertEqual(self.logged(event='lost', name=self.name), self.line('lost', **about, reason='LOST'))

    def test_break_unnoticed(self):
        """A break is its only line, if the holder never comes again: the end of its time is none."""
        before = self.daemon.metric('leases', way='lease', state='held')
        self.client.acquire(self.name, ttl_ms=2000)
        self.assertEqual(self.client.evict(self.name).status, 200)
        self.daemon.until_metric(before, 'leases', way='lease', state='held')
        self.assertEqual([line['event'] for line in self.daemon.audited(name=self.name)], ['granted', 'broken'])

    def test_denials(self):
        """A denial names its principal, if it has one, and its address, listener and path."""
        port = self.daemon.port
        self.daemon.client('ci').acquire('not/mine')
        self.assertEqual(self.logged(event='denied', name='not/mine'),
                         self.line('denied', 'not/mine', reason='FORBIDDEN', principal='token:ci'))
        self.daemon.client('guess').get('/v1/locks')
        Client(port).get('/v1/locks?a=b', Host='rebound.example')
        for reason in 'UNAUTHORIZED', 'HOST':
            record, = self.daemon.audited(reason=reason)
            self.assertEqual(brief(record), self.line('denied', reason=reason, principal=None))
            self.assertRegex(record['peer'], '^127.0.0.1:[0-9]+$')
            self.assertEqual((record['listener'], record['path']), (f'127.0.0.1:{port}', '/v1/locks'))

    def test_made_up(self):
        """The grant of a lease that ended, under another id, notes no loss."""
        held = self.client.acquire(self.name)
        self.client.evict(self.name)
        self.client.renew(held)
        before, lost = len(self.daemon.audited()), self.daemon.metric('lost_total', reason='LOST')
        unknown = self.daemon.metric('unknown_renewals_total')
        for method in ['POST'] * 5 + ['DELETE']:
            answer = self.client.request(method, '/v1/locks/' + self.name, {} if method == 'POST' else None,
                                         {'Lease-Id': new_lease(), 'Grant': held['grant']})
            self.assertEqual(answer.status, 410)
        self.assertEqual(len(self.daemon.audited()), before)
        self.assertEqual(self.daemon.metric('lost_total', reason='LOST'), lost)
        self.assertEqual(self.daemon.metric('unknown_renewals_total'), unknown + 5)

    def test_stream(self):
        """A stream is granted, and released when its client is gone."""
        stream = self.client.hold(self.name, label='a stream')
        stream.find('granted')
        self.daemon.until_audited(event='granted', name=self.name)
        stream.close()
        record = self.daemon.until_audited(event='released', name=self.name)
        self.assertEqual((record['label'], record['reason']), ('a stream', 'CLOSED'))

    def test_hostile_text(self):
        """Names and labels that look like markup or a line stay in one line; escapes are refused."""
        label = '<script>alert("1")</script>\\n{"event":"granted"}'
        held = self.client.acquire('%3Cb%3E%22,%22event%22:%22granted', label=label, ttl_ms=30000)
        self.assertEqual(held.status, 201)
        record, = self.daemon.audited(label=label)
        self.assertEqual((record['event'], record['name']), ('granted', '<b>","event":"granted'))
        for line in read(self.daemon.audit_path).splitlines():
            self.assertIsInstance(json.loads(line), dict, line)
        self.assertEqual(self.client.acquire('a%1b%5b2J').status, 400, 'a name that steers a terminal')
        self.assertEqual(self.client.acquire(self.name, label='\x1b[2J').status, 422, 'and a label')
        self.daemon.audited()
        self.assertNotIn('\x1b', read(self.daemon.audit_path) + self.daemon.log())

    def test_secrets(self):
        """No answer but that of the grant itself has a secret, nor have the metrics."""
        held = self.client.acquire(self.name)
        self.assertIn(held['grant'], secrets(held.text))
        for answer in (self.client.look(self.name), self.client.acquire(self.name), self.client.release(held),
                       self.client.get('/v1/status?locks=9'), self.client.get('/metrics')):
            self.assertEqual(secrets(answer.text), [], answer)

    def test_moved_file(self):
        """HUP opens a file again that was moved away, and lines go there."""
        daemon = self.start(*RIGHTS)
        os.rename(daemon.audit_path, daemon.audit_path + '.1')
        daemon.reload()
        until(lambda: os.path.exists(daemon.audit_path), 'the new file')
        self.assertEqual(daemon.client().acquire(self.name, wait_ms=30000).status, 201)
        self.assertEqual(len(daemon.audited(event='granted', name=self.name)), 1)


class Replicas(Case):
    """A lease of one replica that another renews or releases: neither is said to have expired."""
    audit = True
    options = RIGHTS[:2]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.other = cls.start_ready(*cls.options)

    def renewed_elsewhere(self, name):
        """A short lease of one replica that the other renewed; again if the machine was too slow."""
        for _ in range(50):
            held = self.daemon.client().acquire(name, ttl_ms=2000, wait_ms=30000)
            self.assertEqual(held.status, 201)
            if self.other.client().renew(held, ttl_ms=60000).status == 200:
                return held
        self.fail('a lease of two seconds was never renewed')

    def test_fence(self):
        """The fence of a lease of another replica is not known here, whatever its grant says."""
        held, other = self.daemon.client().acquire(fresh()), self.other.client()
        self.assertEqual((other.renew(held).status, other.release(held).status), (200, 204))
        self.assertIsNone(self.other.until_audited(event='released', name=held.name)['fence'])

    def test_elsewhere(self):
        """What another replica released has ended, what it renewed goes on, and the rest expires."""
        client, name = self.daemon.client(), fresh('elsewhere')
        # Its time is over long after the nodes are looked at.
        released = client.acquire(name, ttl_ms=16000, label='moving')
        self.assertEqual(self.other.client().release(released).status, 204)
        moved = self.renewed_elsewhere(fresh())
        left = client.acquire(fresh('left'), ttl_ms=2000, label='gone')
        record = self.daemon.until_audited(event='expired', name=left.name)
        self.assertEqual(brief(record), dict(event='expired', principal=ME, name=left.name, label='gone',
                                             fence=left['fence'], reason=None))
        for daemon in self.daemon, self.other:
            self.assertEqual(daemon.audited(event='expired', fence=moved['fence']), [], 'it was renewed')
        self.assertEqual(self.daemon.metric('expired_unreleased_total'),
                         len(self.daemon.audited(event='expired')))
        # What was renewed elsewhere is not counted here any more.
        self.daemon.until_metric(0, 'leases', way='lease', state='held')
        line, = self.other.audited(name=name)
        self.assertEqual((line['event'], line['label'], line['fence']), ('released', 'moving', None))
        self.daemon.until_audited(name=name, event='ended')
        granted, ended = self.daemon.audited(name=name)
        self.assertEqual((granted['event'], ended['reason']), ('granted', 'ELSEWHERE'), 'it has not expired')
        self.assertEqual((ended['label'], ended['fence']), ('moving', released['fence']))
        self.assertEqual(self.daemon.metric('ended_elsewhere_total'), 1)
        self.assertNotIn(name, [row['name'] for row in self.daemon.status()['trouble']])


class Denials(Case):
    tokens = ('ci',)
    audit = True
    options = RIGHTS

    def test_flood(self):
        """A flood of denials is ten lines a second per sender, and a later line counts the others."""
        stranger, began = Client(self.daemon.port, keep=True), time.monotonic()

        def deny():
            self.assertEqual(stranger.get('/v1/locks').status, 401)
        for _ in range(500):
            deny()
        lines = len(self.daemon.audited(reason='UNAUTHORIZED'))
        self.assertTrue(10 <= lines <= 10 * (time.monotonic() - began + 2), lines)
        self.daemon.client('ci').acquire('not/mine')
        self.assertEqual(len(self.daemon.audited(principal='token:ci')), 1, 'another sender')
        asked = 500

        def all_are_counted():
            nonlocal asked
            asked += 1
            deny()
            records = self.daemon.audited(reason='UNAUTHORIZED')
            return asked == sum(1 + record.get('left_out', 0) for record in records)
        until(all_are_counted, 'a line with how many were left out')
        self.assertEqual(self.daemon.metric('denied_total'), asked + 1)


class Targets(Case):
    options = None

    def test_full_pipe(self):
        """A pipe that is not read holds up no request, and what it did not take is counted."""
        pipe = self.path('pipe')
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDWR)
        self.addCleanup(os.close, reader)
        fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)
        daemon = self.start('--audit', pipe)
        client, name = daemon.client(), fresh()
        label = 'a label of many characters, so that a pipe is full soon'
        until(daemon.is_ready, 'readiness')
        for _ in range(20):
            held = client.acquire(name, label=label)
            self.assertEqual((held.status, client.release(held).status), (201, 204))
        daemon.until_metric(0, 'audit_queued')
        self.assertTrue(1 <= daemon.metric('audit_dropped_total') <= 40)

    def test_stderr(self):
        """With `audit = stderr` the lines are on standard error."""
        daemon, name = self.start('--audit', 'stderr'), fresh()
        daemon.client().acquire(name, wait_ms=30000)
        daemon.until_logged(f'"name":"{name}"')

    def test_check(self):
        """--check says whether the file can be opened, and makes none."""
        self.refuses('audit: /nonexistent/audit: cannot be opened', '--audit', '/nonexistent/audit')
        done = run(REDLOCKD, '--check', '--listen', 'unix:/unused', '--audit', self.path('new'),
                   REDLOCK_NODES='127.0.0.1:1')
        self.assertEqual(done.returncode, 0, done)
        self.assertFalse(os.path.exists(self.path('new')))
