# SPDX-License-Identifier: BSD-2-Clause
"""`redlock run --service`: a lock that is held by a stream while a command runs, whatever becomes of
the service, of the connection and of the process itself."""
import os
import signal
import subprocess
import time

from client import PATIENCE_S, fresh
from daemon import ENVIRONMENT, ME, Case, certificates, digest, read, run, until, with_tls

# Tells fence and pid, then the time of each moment that it lives, until its input ends. It ignores TERM.
WORK = '''trap '' TERM; echo "$REDLOCK_FENCE $$" >"$0.new"; mv "$0.new" "$0"
while read -t 0.02 end; [ $? -gt 128 ]; do read -r up _ </proc/uptime; echo "$up" >"$0.alive"; done'''
TTL_S = 6
HELD = {'way': 'stream', 'state': 'held'}


def boottime():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Running:
    """redlock run --service SERVICE, holding NAME while its command runs."""

    def __init__(self, case, service, name, *options, **environment):
        self.told = case.path(fresh('told'))
        self.errors_path = self.told + '.err'
        with open(self.errors_path, 'w') as errors:
            self.process = subprocess.Popen(
                ['redlock', 'run', '-t', f'{TTL_S}s', '--service', service, *options, name, '--',
                 'bash', '-c', WORK, self.told], stdin=subprocess.PIPE, stderr=errors,
                env={**ENVIRONMENT, **environment})
        case.addCleanup(self.kill)
        until(lambda: os.path.exists(self.told) or self.process.poll() is not None, 'its command')
        self.fence, self.pid = map(int, read(self.told).split())

    def errors(self):
        return read(self.errors_path)

    def last_alive(self):
        return float(read(self.told + '.alive') or 0)

    def is_alive(self):
        """Has its command lived on since now?"""
        now = boottime()
        return until(lambda: self.last_alive() > now or not self.has_command(), 'a sign') and self.has_command()

    def has_command(self):
        return os.path.exists(f'/proc/{self.pid}')

    def end(self):
        """Its command ends; the status."""
        self.process.stdin.close()
        return self.process.wait(PATIENCE_S)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if not self.process.stdin.closed:
            self.process.stdin.close()


class Run(Case):
    options = None
    tokens = ('runner',)

    def setUp(self):
        self.name = fresh('job')
        self.daemon = self.begin()

    def begin(self, *options):
        daemon = self.start('--allow', f'{ME} * acquire,read,break,admin', '--allow', 'token:runner * acquire',
                            *options)
        self.addCleanup(daemon.kill)
        self.addCleanup(daemon.signal, signal.SIGCONT)
        until(daemon.is_ready, 'readiness')
        return daemon

    def run_held(self, service=None, *options, **environment):
        return Running(self, service or 'unix:' + self.daemon.socket, self.name, *options, **environment)

    def behind(self, daemon):
        """A path to the replica, which move() makes one to another."""
        self.link = self.path(fresh('link'))
        os.symlink(daemon.socket, self.link)
        return 'unix:' + self.link

    def move(self, daemon):
        os.symlink(daemon.socket, self.link + '.new')
        os.rename(self.link + '.new', self.link)

    def token(self):
        path = self.write(fresh('token'), 'secret-of-runner')
        os.chmod(path, 0o600)
        return '--token-file', path

    def was_ended_in_time(self, held, since):
        """It has ended with 76, and its command before the last deadline that it can have had."""
        self.assertEqual(held.process.wait(PATIENCE_S), 76)
        self.assertFalse(held.has_command())
        self.assertRegex(held.errors(), 'could not be renewed')
        if 'was lost while the command ran' not in held.errors():  # a machine that is late itself
            self.assertLess(held.last_alive(), since + TTL_S)

    def test_killed(self):
        """A run that was killed frees nothing: its lock is left to the TTL."""
        held = self.run_held()
        self.daemon.until_metric(1, 'leases', **HELD)
        held.process.kill()
        self.daemon.until_metric(0, 'leases', **HELD)
        look = self.daemon.client().look(self.name)
        self.assertTrue(look['held'], look)
        until(lambda: not held.has_command(), 'the end of its command')
        until(lambda: not self.daemon.client().look(self.name)['held'], 'the end of the TTL')

    def test_hung(self):
        """A service that hangs: the command is ended before the deadline, and the run then."""
        held = self.run_held()
        since = boottime()
        self.daemon.signal(signal.SIGSTOP)
        self.was_ended_in_time(held, since)
        self.assertRegex(held.errors(), 'warning: .* could not be renewed \\(the service does not answer')

    def test_hung_at_the_end(self):
        """A service that hangs when the command has ended does not change its status."""
        held = self.run_held()
        self.daemon.signal(signal.SIGSTOP)
        self.assertEqual(held.end(), 0)
        self.assertRegex(held.errors(), 'the command is done, but')

    def test_drained(self):
        """A hold moves from a replica that drains to the next, with its fence."""
        held = self.run_held(self.behind(self.daemon))
        second, before = self.begin(), boottime()
        self.move(second)
        self.assertEqual(self.daemon.stop(), 0)
        second.until_metric(1, 'leases', **HELD)
        self.assertEqual(second.client().look(self.name)['fence'], held.fence)
        until(lambda: boottime() > before + TTL_S, 'the end of the first TTL')
        self.assertTrue(held.is_alive())
        self.assertEqual(held.end(), 0)
        self.assertEqual(held.errors(), '')
        self.assertFalse(second.client().look(self.name)['held'])

    def test_killed_replica(self):
        """A stream that is cut without a word comes back through another replica."""
        held = self.run_held(self.behind(self.daemon))
        second, before = self.begin(), boottime()
        self.move(second)
        self.daemon.kill()
        second.until_metric(1, 'leases', **HELD)
        until(lambda: boottime() > before + TTL_S, 'the end of the first TTL')
        self.assertTrue(held.is_alive())
        self.assertEqual(held.end(), 0)
        self.assertFalse(second.client().look(self.name)['held'])

    def test_hung_replica(self):
        """A silent stream comes back through another replica, beside the one that hangs."""
        held = self.run_held(self.behind(self.daemon))
        second, before = self.begin(), boottime()
        self.move(second)
        self.daemon.signal(signal.SIGSTOP)
        second.until_metric(1, 'leases', **HELD)
        self.daemon.signal(signal.SIGCONT)
        self.daemon.until_metric(0, 'leases', **HELD)
        until(lambda: boottime() > before + 2 * TTL_S, 'the end of two TTLs')
        self.assertTrue(held.is_alive())
        self.assertEqual(second.client().look(self.name)['fence'], held.fence)
        self.assertEqual(held.end(), 0)

    def test_revoked(self):
        """Without its token a run is not renewed, and ends the command before the deadline."""
        tokens = self.write(fresh('tokens'), f'runner {digest("secret-of-runner")}\n')
        daemon = self.begin('--tokens', tokens)
        held = self.run_held(f'http://127.0.0.1:{daemon.port}', *self.token())
        with open(tokens, 'w') as file:
            file.write(f'other {digest("secret-of-other")}\n')
        since = boottime() + 1  # a renewal that is under way
        daemon.reload()
        self.was_ended_in_time(held, since)
        self.assertRegex(held.errors(), 'could not be renewed \\(.*(token|credentials)')

    def test_tls(self):
        """Over TLS a lock is held past its TTL, and given back."""
        daemon = self.begin(*with_tls())
        held = self.run_held(f'https://127.0.0.1:{daemon.tls_ports[0]}', '--tls-ca', certificates() + '/ca.crt',
                             *self.token())
        before = boottime()
        until(lambda: boottime() > before + TTL_S, 'the end of the first TTL')
        self.assertTrue(held.is_alive())
        self.assertEqual(held.end(), 0)
        self.assertEqual(held.errors(), '')
        self.assertFalse(daemon.client().look(self.name)['held'])

    def test_proxied(self):
        """Where a proxy refuses streams, a run ends at once with a sentence that says what to do."""
        path = self.path(fresh('proxied'))
        self.begin('--listen', f'unix:{path} peer=proxy')
        done = run('redlock', 'run', '--service', 'unix:' + path, *self.token(), self.name, '--', 'echo', 'no')
        self.assertEqual((done.returncode, done.stdout), (64, ''), done)
        self.assertRegex(done.stderr, 'a proxy is between .*: name a redlockd itself')
        self.assertFalse(self.daemon.client().look(self.name)['held'])

    def test_hung_and_ignored(self):
        """With --on-lost ignore a line says when the deadline has passed, and the command runs on."""
        held = self.run_held(None, '--on-lost', 'ignore')
        self.daemon.signal(signal.SIGSTOP)
        until(lambda: 'was lost, and the command runs on' in held.errors(), 'the loss')
        self.assertTrue(held.is_alive())
        self.assertEqual(held.end(), 76)

    def begin_wait(self):
        """A run that waits for the lock."""
        waiting = subprocess.Popen(['redlock', 'run', '--service', 'unix:' + self.daemon.socket, self.name, '--',
                                    'true'], env=ENVIRONMENT, stderr=subprocess.DEVNULL)
        self.addCleanup(waiting.wait)
        self.daemon.until_metric(1, 'waiters')
        return waiting

    def test_stopped_wait(self):
        """A signal ends a wait for a service that hangs, and leaves neither wait nor lock."""
        first, waiting = self.run_held(), self.begin_wait()
        self.daemon.signal(signal.SIGSTOP)
        waiting.send_signal(signal.SIGTERM)
        self.assertEqual(waiting.wait(PATIENCE_S), 128 + signal.SIGTERM)
        self.daemon.signal(signal.SIGCONT)
        self.daemon.until_metric(0, 'waiters')
        self.assertEqual(first.end(), 0)
        self.assertFalse(self.daemon.client().look(self.name)['held'])

    def test_granted_to_the_dying(self):
        """What was granted to a run that a signal ends is given back, not left to the TTL."""
        first, waiting = self.run_held(), self.begin_wait()
        waiting.send_signal(signal.SIGSTOP)
        self.assertEqual(first.end(), 0)
        self.daemon.until_metric(1, 'leases', **HELD)
        waiting.send_signal(signal.SIGTERM)
        waiting.send_signal(signal.SIGCONT)
        self.assertEqual(waiting.wait(PATIENCE_S), 128 + signal.SIGTERM)
        self.assertFalse(self.daemon.client().look(self.name)['held'])
