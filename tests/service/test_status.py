# SPDX-License-Identifier: BSD-2-Clause
"""GET /v1/status?locks=N: locks and trouble in the order of importance; and the page at /, without a
browser."""
import base64
import hashlib
import re
import subprocess
import threading
import time
from collections import Counter

from client import Client, fresh
from daemon import ENVIRONMENT, ME, TOP, Case, read, until


class Status(Case):
    own_servers = True
    tokens = ('reader',)
    options = ('--allow', f'{ME} * acquire,read,break,admin', '--allow', 'token:reader old read',
               '--allow', 'token:reader evicted read')

    def setUp(self):
        self.client = self.daemon.client()

    def status(self):
        return self.daemon.status('?locks=100')

    def until_status(self, condition):
        until(lambda: condition(self.status()), condition)
        return self.status()

    def begin(self, *words):
        """The command, until the test ends."""
        process = subprocess.Popen(['redlock', *words], env={**ENVIRONMENT, **self.nodes.environment}, text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

        def end():
            process.kill()
            process.communicate()
        self.addCleanup(end)
        return process

    def keep(self, label, name, *words):
        """A lock that another program renews, however long the test takes."""
        self.assertIn('held', self.begin('hold', '--label', label, *words, name).stdout.readline())

    def forget(self, name, *numbers):
        for number in numbers:
            self.nodes.ask(number, 'DEL', 'redlock:' + name)

    def test_locks(self):
        """What most wait for comes first, then what is held for longest; records come last."""
        plain = self.daemon.status()
        self.assertEqual((plain.get('locks'), plain.get('look')), (None, None), 'no node has a part in it')
        for bad in '0', '1001', 'x', '', '5&locks=5':
            self.assertEqual(self.client.get('/v1/status?locks=' + bad).code, 'QUERY', bad)
        for label, name, *words in (('first', 'old'), ('it', 'busy'), ('r1', 'readers', '--shared'),
                                    ('r2', 'readers', '--shared'), ('elsewhere', 'outside')):
            self.keep(label, name, *words)
        waiting = [self.client.begin_acquire('busy', wait_ms=50000) for _ in range(3)]
        self.begin('lock', '-w', '60s', 'old')
        locks = self.until_status(lambda status: [(row['name'], row['waiters']) for row in status['locks']] == [
            ('busy', 3), ('old', 1), ('readers', 0), ('outside', 0)])['locks']
        self.assertEqual([(row['kind'], row['holder_count'], sorted(holder['label'] for holder in row['holders']))
                          for row in locks],
                         [('mutex', 1, ['it']), ('mutex', 1, ['first']), ('shared', 2, ['r1', 'r2']),
                          ('mutex', 1, ['elsewhere'])])
        self.assertTrue(locks[0]['held'] and locks[0]['held_ms'] >= 0 and locks[0]['remaining_ms'] > 0)

        done = self.nodes.redlock('run', '--every', '1h', '--label', 'of a run', 'job', '--', 'true')
        self.assertEqual(done.returncode, 0, done)
        self.forget('job.every', 1)
        locks = self.until_status(lambda status: [row['name'] for row in status['locks']][4:] == ['job.every'])['locks']
        self.assertEqual(([row['record'] for row in locks], locks[4]['holders'][0]['label']),
                         ([False] * 4 + [True], 'of a run'))
        # A second look that finds the same makes trouble of what the nodes disagree about.
        self.nodes.redlock('lock', '-t', '50s', 'split')
        self.forget('split', 1)
        self.until_status(lambda status: [row['name'] for row in status['locks'] if row['disagree']] == ['split'])
        alone = self.client.look('job.every')
        self.assertEqual((alone['record'], alone['disagree']), (True, False), 'nodes may forget a record')
        for name in 'split', 'job.every':
            self.forget(name, 1, 2, 3)
        text = self.client.get('/v1/status?locks=100').text
        self.assertNotRegex(text, 'lease-of|"value')
        self.until_status(lambda status: len(status['locks']) == 4)
        first = self.daemon.status('?locks=1')
        self.assertEqual(([row['name'] for row in first['locks']], first['look']['more']), (['busy'], 3))
        reader = self.daemon.client('reader').get('/v1/status?locks=100')
        self.assertEqual(([row['name'] for row in reader['locks']], reader['nodes'], reader['look']['unasked']),
                         (['old'], None, None), 'names that it may read')
        for each in waiting:
            each.close()

    def test_one_survey(self):
        """Thirty clients that ask all the time share the answers of a few looks at the nodes."""
        answers, end = [], time.monotonic() + 1

        def work():
            client = self.daemon.client(keep=True)
            while time.monotonic() < end:
                client.get('/v1/status?locks=5')
                answers.append(time.monotonic())
        threads = [threading.Thread(target=work) for _ in range(30)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertGreaterEqual(len(answers), 30)
        moments = {round((at - min(answers)) * 20) for at in answers}
        self.assertLess(len(moments), len(answers))

    def test_trouble(self):
        """The worst trouble is first: streams in jeopardy, evicted holders, expired leases."""
        self.assertEqual(self.status()['trouble'], [])
        self.client.acquire('gone', ttl_ms=2000, label='died')
        row, = self.until_status(lambda status: status['trouble'])['trouble']
        self.assertEqual((row['name'], row['state'], row['label']), ('gone', 'expired', 'died'))
        self.client.acquire('evicted')
        self.assertEqual(self.client.evict('evicted').status, 200)
        self.until_status(lambda status: [row['state'] for row in status['trouble']] == ['broken', 'expired'])
        reader = self.daemon.client('reader').get('/v1/status?locks=100')
        self.assertEqual([row['name'] for row in reader['trouble']], ['evicted'], 'what it may read')
        # Renewed after 5 s; its nodes have 4 s to answer, and the test 6 s to let them go on.
        stream, feed = self.client.hold('stream', ttl_ms=15000, label='worker'), self.client.feed()
        stream.find('granted')
        self.until_status(lambda status: status['streams'] == 1)
        self.nodes.dev('hang', 1, 2)
        self.until_status(lambda status: status['look']['age_ms'] > 400)
        status = self.until_status(lambda status: status['jeopardy'])
        self.nodes.dev('resume', 1, 2)
        worst = status['trouble'][0]
        self.assertEqual((worst['name'], worst['state'], worst['reason']), ('stream', 'jeopardy', 'NOQUORUM'))
        self.assertEqual((status['jeopardy'], status['streams']), (1, 1))
        self.assertTrue(status['locks'], 'what was known stays')
        self.until_status(lambda status: not status['jeopardy'] and
                          'stream' not in [row['name'] for row in status['trouble']])
        feed.find('recovered', name='stream')
        stream.close()
        feed.close()


class Page(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.answer = Client(cls.daemon.port).get('/')
        cls.page = cls.answer.text

    def test_policy(self):
        """The page needs no right; its policy allows its own script and style alone."""
        self.assertEqual((self.answer.status, self.answer.headers['Content-Type']), (200, 'text/html; charset=utf-8'))
        policy = self.answer.headers['Content-Security-Policy']
        hashes = [base64.b64encode(hashlib.sha256(re.search(f'<{tag}>(.*?)</{tag}>', self.page, re.S)[1].encode())
                                   .digest()).decode() for tag in ('script', 'style')]
        self.assertIn("default-src 'self'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src data:;".format(*hashes),
                      policy)
        self.assertNotIn('unsafe', policy)

    def test_source(self):
        """The page names no other address, writes no markup, and is only read."""
        self.assertNotRegex(self.page, r'''(src|href)=["']?(https?:|//)''')
        self.assertNotRegex(self.page, r'innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(')
        self.assertEqual(Client(self.daemon.port).request('POST', '/', {}).code, 'METHOD_NOT_ALLOWED')

    def titles(self, section):
        """Of the columns of its table, in capitals."""
        head = re.search(f'<section id="{section}".*?</thead>', self.page, re.S)[0]
        return [title.upper() for title in re.findall('<th [^>]*>([^<]*)', head)]

    def test_words(self):
        """The page has the words of `redlock top`: titles, verdict and kinds."""
        self.daemon.client().acquire(fresh())
        top = self.nodes.redlock('top', '-c', '1').stdout.splitlines()
        nodes, locks = [line.split() for line in top if line.startswith(('NODE', 'NAME'))]
        self.assertEqual(Counter(self.titles('nodes')), Counter(['QUORUM', *nodes, 'WHY']))
        self.assertEqual(Counter([*self.titles('locks'), 'CHG/S']), Counter(locks))
        quorum, = self.daemon.status()['quorums']
        self.assertIn('{voting} of {nodes} vote, {needed} needed;'.format(**quorum), top[0])
        self.assertIn('q.voting + " of " + q.nodes + " vote, " + q.needed + " needed"', self.page)
        kinds = re.search('(?m)^const KINDS.*', self.page)[0]
        for word in 'exclusive', 'shared', 'slots':
            self.assertIn(f'"{word}"', kinds)
            self.assertIn(f'shown = "{word}"', read(TOP + '/cli/ui/kind.c'))
