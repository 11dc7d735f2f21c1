# SPDX-License-Identifier: BSD-2-Clause
"""class = PATTERN: wait, hold, timeouts, losses and expiries by class, in the metrics and in
/v1/status."""
import json

from daemon import ME, Case

RULE = f'allow = {ME} * acquire,read,break,admin'
NIGHTLY, JOBS, QUOTED = 'jobs/*/nightly', 'jobs/*', r'say"so\\/*'


class Classes(Case):
    options = None

    def setUp(self):
        self.configure(NIGHTLY, JOBS, QUOTED)
        self.daemon = self.start_ready('--config', self.path('conf'))
        self.client = self.daemon.client()

    def configure(self, *patterns):
        self.write('conf', '\n'.join([RULE] + ['class = ' + pattern for pattern in patterns]) + '\n')

    def shows(self, wanted, name, pattern=NIGHTLY):
        self.assertEqual(self.daemon.metric('class_' + name, **{'class': pattern}), wanted, (name, pattern))

    def row(self, pattern):
        found, = [row for row in self.daemon.status()['classes'] if row['class'] == pattern]
        return found

    def use(self, name):
        held = self.client.acquire(name)
        self.assertEqual((held.status, self.client.release(held).status), (201, 204))

    def test_first(self):
        """A name counts for the first class that it matches, and is no label."""
        self.shows(0, 'wait_seconds_count', JOBS)
        self.shows(0, 'lost_total', JOBS)
        self.assertEqual([self.row(JOBS)[field] for field in ('granted', 'wait_us', 'hold_us')], [0, None, None])
        for name in 'jobs/db/nightly', 'jobs/web/nightly', 'jobs/db/hourly', 'other':
            self.use(name)
        for metric in 'wait_seconds_count', 'hold_seconds_count':
            self.shows(2, metric, NIGHTLY)
            self.shows(1, metric, JOBS)
        row = self.row(NIGHTLY)
        self.assertEqual((row['granted'], row['wait_us'] > 0, row['hold_us'] > 0), (2, True, True))
        self.assertNotIn('jobs/db', self.client.get('/metrics').text)

    def test_quoted(self):
        """A quote and a backslash of a pattern are escaped in the metrics."""
        self.assertIn(r'redlockd_class_lost_total{class="say\"so\\\\/*"} 0', self.client.get('/metrics').text)

    def test_ends(self):
        """Expiries, timeouts and losses are counted, each for itself."""
        name = 'jobs/db/nightly'
        self.client.acquire(name, ttl_ms=2000)
        self.client.acquire(name)
        self.shows(0, 'timeouts_total')  # it did not wait
        self.daemon.until_metric(1, 'class_expired_unreleased_total', **{'class': NIGHTLY})
        self.shows(0, 'lost_total')
        held = self.client.acquire(name, ttl_ms=60000, wait_ms=30000)
        self.assertEqual(self.client.acquire(name, wait_ms=2000).verdict, (423, 'TIMEOUT'))
        self.shows(1, 'timeouts_total')
        self.assertEqual(self.client.evict(name).status, 200)
        self.assertEqual(self.client.renew(held).status, 410)
        self.shows(1, 'lost_total')

    def top(self, *words, **environment):
        return self.nodes.redlock('top', '-c', '1', *words, **environment)

    def test_top(self):
        """`redlock top --by class` shows the classes of a service, in rows or JSON."""
        self.use('jobs/db/nightly')
        where = ['--by', 'class', '--service', 'unix:' + self.daemon.socket]
        rows = self.top(*where)
        self.assertEqual(rows.returncode, 0, rows)
        for pattern in (r'CLASS +GRANTED +WAIT +HOLD +TIMEOUTS +LOST +EXPIRED',
                        r'jobs/\*/nightly +1 +[0-9.]+(us|ms|s) +[0-9.]+(us|ms|s) +0 +0 +0',
                        r'say"so.* +0 +- +- +0 +0 +0'):
            self.assertRegex(rows.stdout, f'(?m)^{pattern}$')
        frames = [json.loads(line) for line in self.top('-c', '2', '-d', '100ms', '--json', *where).stdout.splitlines()]
        self.assertEqual(len(frames), 2)
        for frame in frames:
            row, = [row for row in frame['classes'] if row['class'] == NIGHTLY]
            self.assertEqual((frame['command'], row['granted'], row['wait_us'] > 0, row['lost']), ('top', 1, True, 0))
        for words, status in (where[:2], 64), (where[2:], 64), (['--by', 'class', '--service', 'unix:/none'], 69):
            self.assertEqual(self.top(*words).returncode, status, words)
        reader = self.start_ready('--allow', f'{ME} * read')
        refused = self.top('--by', 'class', '--service', 'unix:' + reader.socket)
        self.assertEqual(refused.returncode, 77)
        self.assertIn('the right `admin`', refused.stdout)

    def test_reload(self):
        """HUP reads classes again: those that stay go on, others go."""
        self.use('jobs/db/nightly')
        self.configure(NIGHTLY, 'ci/*')
        self.daemon.reload()
        self.shows(0, 'wait_seconds_count', 'ci/*')
        self.shows(1, 'wait_seconds_count', NIGHTLY)
        self.shows(None, 'wait_seconds_count', JOBS)

    def test_refused(self):
        """A pattern that is long, doubled or broken, and the 101st, are refused with their line."""
        for line, complaint, patterns in (
                (1, ' a pattern has 1 to 64 characters', ['x' * 65]), (2, r' a/\* stands twice', ['a/*', 'a/*']),
                (1, '.*without blanks', ['a b']), (101, '.*at most 100', [f'c{n}/*' for n in range(101)])):
            path = self.write('wrong', ''.join(f'class = {pattern}\n' for pattern in patterns))
            self.refuses(f'wrong:{line}: class:?{complaint}', '--config', path)
