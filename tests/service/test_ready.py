# SPDX-License-Identifier: BSD-2-Clause
"""redlockd --ready: a health check that needs neither a shell nor curl."""
import subprocess
import unittest

from daemon import ENVIRONMENT, NO_NODES, REDLOCKD, Case, certificates, read, run, until, with_tls


class Ready(Case):
    options = with_tls()

    def check(self, status, pattern, *words):
        done = run(REDLOCKD, '--ready', *words)
        self.assertEqual(done.returncode, status, done)
        self.assertRegex(done.stdout + done.stderr, pattern)

    def test_ready(self):
        """--ready: a daemon is ready by each of its listeners, or by its file."""
        tls = f'tls:127.0.0.1:{self.daemon.tls_ports[0]}'
        for address in 'unix:' + self.daemon.socket, f'127.0.0.1:{self.daemon.port}', f'0.0.0.0:{self.daemon.port}', tls:
            self.check(0, '^ready$', '--listen', address)
        self.check(0, '^ready$', '--config', self.write('conf', f'listen = unix:{self.daemon.socket}\n'))
        demands = ['--tls-client-ca', certificates() + '/ca.crt', '--listen']
        self.check(78, 'add one on loopback, or cert=optional', *demands, tls)
        self.check(0, '^ready$', *demands, 'tls:127.0.0.1:1', '--listen', 'unix:' + self.daemon.socket)

    def test_not_ready(self):
        """--ready fails without a majority, after the end, or where process 1 is another program."""
        daemon = self.start(nodes=NO_NODES)
        self.check(69, 'not ready: HTTP/1.1 503 .*too few nodes vote', '--listen', 'unix:' + daemon.socket)
        daemon.stop()
        self.check(69, f'cannot connect to unix:{daemon.socket}', '--listen', 'unix:' + daemon.socket)
        self.check(64, 'process 1 is not redlockd: give the --listen')

    def test_process_1(self):
        """A daemon that is process 1, or runs below an init, is found without further settings."""
        space = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc']
        if run(*space, 'true').returncode != 0:
            raise unittest.SkipTest('this user can make no namespace of processes')
        for number, begins in enumerate(['exec "$@"', 'exec -a init bash -c \'"$@"; exit\' -- "$@"']):
            path = self.path(f'first-{number}')
            with subprocess.Popen([*space, 'bash', '-c', begins, 'sh', REDLOCKD, '--drain', '0', '--listen',
                                   'unix:' + path], stderr=subprocess.DEVNULL,
                                  env={**ENVIRONMENT, 'REDLOCK_NODES': self.nodes.names}) as outer:
                try:
                    until(lambda: run(REDLOCKD, '--ready', '--listen', 'unix:' + path).returncode == 0, 'readiness')
                    one = read(f'/proc/{outer.pid}/task/{outer.pid}/children').strip()
                    done = run('nsenter', '--target', one, '--pid', '--mount', '--root', REDLOCKD, '--ready')
                finally:
                    outer.kill()
            self.assertEqual(done.returncode, 0, done)
