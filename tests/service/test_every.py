# SPDX-License-Identifier: BSD-2-Clause
"""`redlock run --every --service`: at most one start in a period, which the service records as the command does
on the nodes."""
import http.server
import json
import os
import socketserver
import threading
from concurrent.futures import ThreadPoolExecutor

from client import fresh
from daemon import ME, Case, run

BEGIN = (201, {'every_ms': 3600000, 'after_ms': 0, 'remaining_ms': 990, 'sure': True})
LATE = (201, {**BEGIN[1], 'remaining_ms': 0})
LOST = None  # an answer
GRANTED = {'grant': 'a-grant', 'fence': 7, 'after_ms': 0, 'remaining_ms': 60000}


class Fake(socketserver.ThreadingUnixStreamServer):
    """A service that grants each lock on a stream, and answers the next PUT of a record as it is told."""
    daemon_threads = True

    class Request(http.server.BaseHTTPRequestHandler):
        def handle_one(self):
            self.rfile.read(int(self.headers.get('Content-Length', 0)))
            is_record = self.path.startswith('/v1/once/')
            self.server.asked.append(('o' if is_record else '') + self.command)
            self.server.leases.append(self.headers['Lease-Id'])
            return is_record

        def do_PUT(self):
            if self.handle_one():
                answer = self.server.answers.pop(0)
                if answer:
                    self.answer(*answer)
            else:
                self.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n'
                                 b'event: granted\ndata: %s\n\n' % json.dumps(GRANTED).encode())
                self.rfile.read(1)  # until it is closed

        def do_DELETE(self):
            self.handle_one()
            self.answer(204, '')

        def do_GET(self):
            self.answer(403, {'code': 'FORBIDDEN', 'detail': 'no right to read'})

        def answer(self, status, body):
            body = body and json.dumps(body).encode()
            self.wfile.write(b'HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%s' % (status, len(body), body or b''))

        def log_message(self, *words):
            pass

    def __init__(self, path):
        super().__init__(path, self.Request)
        self.asked, self.leases, self.answers = [], [], []
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Recorded(Case):
    servers = options = None

    def test_begins_or_takes_back(self):
        """A command begins once its record is known to be in time; else that is taken back."""
        fake = Fake(self.path('fake'))
        self.addCleanup(fake.server_close)
        self.addCleanup(fake.shutdown)
        once, undone = 'PUT oPUT DELETE', 'PUT oPUT oDELETE DELETE'
        for what, status, asked, *answers in (
                ('recorded', 0, once, BEGIN),
                ('it has run', 75, once, (423, {'code': 'DONE', 'detail': 'd', 'label': 'web1', 'next_ms': 5000})),
                ('not allowed', 77, once, (403, {'code': 'FORBIDDEN', 'detail': 'd'})),
                ('an answer that is lost', 69, undone, LOST),
                ('an answer of a proxy', 69, undone, (200, BEGIN[1])),
                ('no quorum', 69, undone, (503, {'code': 'NOQUORUM', 'detail': 'd'})),
                ('without the lock', 76, undone, (410, {'code': 'ENDED', 'detail': 'd'})),
                ('late once', 0, f'{undone} {once}', (503, {'code': 'LATE', 'detail': 'd'}), BEGIN),
                ('late always', 76, ' '.join([undone] * 5), *[LATE] * 5)):
            fake.asked, fake.leases, fake.answers = [], [], list(answers)
            done = run('redlock', 'run', '-n', '--every', '1h', '--service', 'unix:' + self.path('fake'), 'job', '--',
                       'echo', 'ran')
            self.assertEqual((what, done.returncode, ' '.join(fake.asked)), (what, status, asked), done)
            self.assertEqual(done.stdout, 'ran\n' * (status == 0), what)
            self.assertEqual(len(set(fake.leases)), len(answers), f'{what}: each try has a lease of its own')


class Every(Case):
    tokens = ('worker',)
    options = ('--allow', f'{ME} * acquire,read,break', '--allow', 'token:worker * acquire')

    def setUp(self):
        super().setUp()
        self.name = fresh('job')

    def job(self, *words, **environment):
        """An option, or a word of the command."""
        command = [word for word in words if not word.startswith('-')]
        options = [word for word in words if word.startswith('-')]
        return run('redlock', 'run', '--every=1h', *options, self.name, '--', *command,
                   **{'REDLOCK_SERVICE': 'unix:' + self.daemon.socket, **environment})

    def test_period(self):
        """Of all that try one runs, whatever becomes of it, for the service and for the nodes."""
        failing = self.write('failing', 'echo ran; exit 3')
        with ThreadPoolExecutor(6) as pool:
            done = list(pool.map(lambda _: self.job('sh', failing), range(6)))
        self.assertEqual(sorted(one.returncode for one in done), [3] + [75] * 5, done)
        by_nodes = self.nodes.redlock('run', '-n', '--every', '1h', self.name, '--', 'echo', 'no')
        for again in self.job('-n', 'echo', 'no'), self.job('echo', 'no'), by_nodes:
            self.assertEqual((again.returncode, again.stdout), (75, ''))
            self.assertRegex(again.stderr, r'has run already, by \S+ \(sh\); --every allows it again in (59 min|1 h)')
        self.assertEqual(self.job('--skip-ok', 'echo', 'no').stdout, '')
        token = self.write('token', 'secret-of-worker')
        os.chmod(token, 0o600)
        hidden = self.job('-n', 'echo', 'no', REDLOCK_SERVICE=f'http://127.0.0.1:{self.daemon.port}',
                          REDLOCK_TOKEN_FILE=token)
        self.assertEqual(hidden.returncode, 75)
        self.assertRegex(hidden.stderr, 'has run already; --every', 'without the right to read')

    def test_not_started(self):
        """A command that cannot be run leaves no record."""
        self.assertEqual(self.job('/nonexistent').returncode, 127)
        self.assertEqual(self.job('-n', 'true').returncode, 0)
