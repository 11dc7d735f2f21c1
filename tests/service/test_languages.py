# SPDX-License-Identifier: BSD-2-Clause
"""The programs of examples/service, one for each language: each gives the status of its command and hands
on the fence, trusts no clock that stands still or is set, and all of them take turns, on two replicas. What
else they do: bindings/cases."""
import glob
import http.server
import itertools
import os
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor

from client import fresh
from daemon import ENVIRONMENT, REDLOCKD, TOP, Pair, read, run, until

EXAMPLES = TOP + '/examples/service/hold'
BUILD = os.path.dirname(REDLOCKD)
STEPPED = ('sh', 'py', 'mjs')  # Go reads its clocks without the C library: bindings/go/clock_test.go steps them
# Fails where another is inside; the folder has the number of turns, and their fences.
INSIDE = ('mkdir "$1/inside" || exit 1; n=$(cat "$1/count"); echo $((n + 1)) >"$1/count";'
          'echo "$FENCE" >>"$1/fences"; rmdir "$1/inside"')


def build_go():
    """What was compiled once is kept beside the build."""
    folder = tempfile.mkdtemp(dir=os.path.dirname(ENVIRONMENT['REDLOCK_CONFIG']))
    shutil.copy(EXAMPLES + '.go', folder + '/main.go')
    with open(folder + '/go.mod', 'w') as module:
        module.write(f'module hold\n\ngo 1.19\n\nrequire redlock v0.0.0\n\nreplace redlock => {TOP}/bindings/go\n')
    done = run('env', '-C', folder, 'go', 'build', '-o', 'hold', '.', HOME=folder, GOCACHE=BUILD + '/go-cache',
               GOFLAGS='-mod=mod', GOPROXY='off', GO111MODULE='on')
    assert done.returncode == 0, done
    return folder + '/hold'


class Silent(http.server.ThreadingHTTPServer):
    """A service that grants for five minutes, and does not answer renewals."""

    class Request(http.server.BaseHTTPRequestHandler):
        def do_PUT(self):
            self.answer(201, b'{"grant":"g","fence":7,"after_ms":0,"remaining_ms":300000}')

        def do_POST(self):
            self.server.asked.release()
            self.server.is_over.wait()

        def do_DELETE(self):
            self.answer(204, b'')

        def answer(self, status, body):
            self.rfile.read(int(self.headers.get('Content-Length', 0)))
            self.send_response(status)
            self.send_header('Content-Length', len(body))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words):
            pass

    def __init__(self):
        super().__init__(('127.0.0.1', 0), self.Request)
        self.port, self.asked, self.is_over = self.server_port, threading.Semaphore(0), threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def end(self):
        self.is_over.set()
        self.shutdown()
        self.server_close()


class Languages(Pair):
    tokens = ('tester',)
    options = ('--allow', 'token:tester * acquire,read')

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        programs = {'sh': 'bash', 'py': 'python3', 'mjs': 'node'}
        cls.hold = {end: [program, f'{EXAMPLES}.{end}'] for end, program in programs.items()}
        if shutil.which('go'):
            cls.hold['go'] = [build_go()]
        cls.environment = {'TOKEN': 'secret-of-tester', 'TTL_MS': '20000',
                           'TOKEN_FILE': cls.write('token', 'secret-of-tester\n')}

    def words(self, language, daemon, name, *command):
        return [*self.hold[language], f'http://127.0.0.1:{daemon.port}/v1/locks/{name}', *command]

    def run_all(self, languages, name, *command):
        """The command under a lock of each of these, all at the same time, at both replicas by turns."""
        daemons = itertools.cycle([self.daemon, self.other])
        jobs = [self.words(language, next(daemons), name(language), *command) for language in languages]
        with ThreadPoolExecutor(len(jobs)) as pool:
            return list(pool.map(lambda words: run(*words, **self.environment), jobs))

    def test_short(self):
        """An example has at most seventy lines."""
        for path in glob.glob(EXAMPLES + '.*'):
            self.assertLessEqual(len(read(path).splitlines()), 70, path)

    def test_status(self):
        """An example gives the status of its command, and hands on a fence that grows."""
        runs = [self.run_all(self.hold, 'plain-{}'.format, 'bash', '-c', 'echo "$FENCE"; exit 5') for _ in range(2)]
        for first, second in zip(*runs):
            self.assertEqual((first.returncode, second.returncode), (5, 5), (first, second))
            self.assertGreater(int(second.stdout), int(first.stdout), first)

    def test_turns(self):
        """Examples take turns with one lock on both replicas, in the order of their fences."""
        count, jobs = self.write('count', '0\n'), [language for language in self.hold for _ in range(3)]
        for done in self.run_all(jobs, lambda _: 'all', 'bash', '-c', INSIDE, '-', self.folder):
            self.assertEqual(done.returncode, 0, done)
        self.assertEqual(int(read(count)), len(jobs))
        fences = list(map(int, read(self.path('fences')).split()))
        self.assertEqual(fences, sorted(set(fences)))

    def test_silent_stream(self):
        """The example on a stream in docs/service.md kills its work when the daemon hangs."""
        folder = self.path(fresh('page'))
        os.mkdir(folder)
        for name, script in (('report', 'echo $$ >pid; exec sleep 600'),
                             ('redlockd', f'echo $$ >daemon; exec {REDLOCKD} "$@"')):
            with open(f'{folder}/{name}', 'w') as program:
                program.write(f'#!/bin/sh\n{script}\n')
            os.chmod(program.name, 0o755)
        block = re.search(r'## A stream\n\n```sh\n(.*?)```', read(TOP + '/docs/service.md'), re.DOTALL)[1]
        process = subprocess.Popen(
            ['bash', '-e', '-c', block.replace('{"wait_ms"', '{"ttl_ms":6000,"wait_ms"')], cwd=folder,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**ENVIRONMENT, 'REDLOCK_NODES': self.nodes.names, 'PATH': f'{folder}:{ENVIRONMENT["PATH"]}'})
        self.addCleanup(process.wait)
        pid, daemon = [int(until(lambda: read(f'{folder}/{name}').endswith('\n') and read(f'{folder}/{name}'), name))
                       for name in ('pid', 'daemon')]
        self.addCleanup(os.kill, daemon, signal.SIGKILL)
        os.kill(daemon, signal.SIGSTOP)
        until(lambda: not os.path.exists(f'/proc/{pid}'), 'the end of its work')

    # ---- the wall clock: of the larger of both clocks, no step of it makes the deadline later ----

    def step(self, ms):
        """The clocks of the programs that look there."""
        with open(self.path('clock'), 'r+b') as clock:
            clock.write(struct.pack('q', ms))

    def begin(self, ttl_ms, service=None):
        """Examples that hold locks, once their commands run: (language, process, pid of its command)."""
        self.write('clock', '\0' * 8)
        begun = []
        for language in STEPPED:
            pid_path = self.path(fresh('pid'))
            process = subprocess.Popen(
                self.words(language, service or self.daemon, fresh(language), 'bash', '-c',
                           f'echo $$ >{pid_path}; exec sleep 600'),
                stderr=subprocess.DEVNULL, env={
                    **ENVIRONMENT, **self.environment, 'TTL_MS': str(ttl_ms), 'REDLOCK_TEST_CLOCK': self.path('clock'),
                    'LD_PRELOAD': BUILD + '/tests/libredlock_test_servershim.so'})
            self.addCleanup(process.wait)
            begun.append((language, process, pid_path))
        return [(language, process, int(until(lambda: read(path).endswith('\n') and read(path), language)))
                for language, process, path in begun]

    def all_lose(self, begun):
        for language, process, pid in begun:
            self.assertEqual(process.wait(120), 76, language)
            until(lambda: not os.path.exists(f'/proc/{pid}'), f'the end of the command of {language}')

    def test_suspended(self):
        """A lock is lost when the wall clock has gone on beyond the deadline, as in a suspend."""
        begun = self.begin(60000)
        self.step(3600000)
        self.all_lose(begun)

    def test_suspended_in_a_renewal(self):
        """A lock is lost when the clock passes the deadline while a renewal is not answered."""
        service = Silent()
        self.addCleanup(service.end)
        begun = self.begin(300000, service)
        self.step(120000)
        for _ in begun:
            self.assertTrue(service.asked.acquire(timeout=60), 'no renewal')
        self.step(3600000)
        self.all_lose(begun)

    def test_set_back(self):
        """A lock is lost when the daemon is silent until its end, though the clock is set back."""
        begun = self.begin(9000)
        with self.daemon.standing_still():
            self.step(-3600000)
            self.all_lose(begun)
