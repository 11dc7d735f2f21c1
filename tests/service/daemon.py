# SPDX-License-Identifier: BSD-2-Clause
"""The base of the tests of redlockd in Python: real servers, the program, and what it writes. A first
test is in CONTRIBUTING.md."""
import atexit
import contextlib
import functools
import hashlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from client import PATIENCE_S, Client, fresh, secrets
from metrics import Metrics

REDLOCKD = os.environ['REDLOCKD']  # run.py
HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
NO_NODES = '127.0.0.1:1'
ME = f'uid:{os.getuid()}'

os.umask(0o022)  # files of rules and tokens that others can write are refused
_folder = tempfile.mkdtemp(prefix='redlockd-test-')
atexit.register(shutil.rmtree, _folder, ignore_errors=True)


def _environment():
    """Without the settings of the user; a busy machine may take its time to answer."""
    unhurried = os.path.join(_folder, 'unhurried')
    with open(unhurried, 'w') as config:
        config.write('node-timeout = 3s\n')
    kept = {name: value for name, value in os.environ.items()
            if not re.match('REDLOCK|NOTIFY_SOCKET|LISTEN_|WATCHDOG_|NO_COLOR', name)}
    return {**kept, 'REDLOCK_CONFIG': unhurried,
            'PATH': os.path.dirname(REDLOCKD) + os.pathsep + os.environ['PATH']}


ENVIRONMENT = _environment()


def until(condition, what='it'):
    """Waits for what must happen; what the condition is then."""
    end = time.monotonic() + PATIENCE_S
    while not (found := condition()):
        if time.monotonic() > end:
            raise AssertionError(f'{what} did not happen within {PATIENCE_S} s')
        time.sleep(0.01)
    return found


def run(*words, **environment):
    """A program to its end, `redlock` and `redlockd` among others: returncode, stdout, stderr."""
    return subprocess.run(words, env={**ENVIRONMENT, **environment}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=2 * PATIENCE_S)


def read(path):
    """What is in a file by now; nothing, if it is not there."""
    try:
        with open(path, errors='surrogateescape') as file:
            return file.read()
    except FileNotFoundError:
        return ''


def free_port():
    with socket.create_server(('127.0.0.1', 0)) as listener:
        return listener.getsockname()[1]


@functools.cache
def certificates():
    """The folder of what lab/servers/certs.h lists."""
    folder = os.path.join(_folder, 'certs')
    os.mkdir(folder)
    subprocess.run([os.path.join(HERE, '../../lab/servers/certs.sh'), folder], check=True)
    return folder


def with_tls(certificate='good', listen='tls:127.0.0.1:0'):
    """The options of a daemon that listens with TLS, too."""
    path = os.path.join(certificates(), certificate)
    return ['--listen', listen, '--tls-cert', path + '.crt', '--tls-key', path + '.key']


class Nodes:
    """The servers of a `redlock dev` with these options, until stop()."""

    def __init__(self, options='-c 3'):
        self.process = subprocess.Popen(['redlock', 'dev', *options.split(), '--json'], text=True,
                                        env=ENVIRONMENT, stdout=subprocess.PIPE)
        announced = json.loads(self.process.stdout.readline())
        self.names = announced['redlock_nodes']
        self.environment = {'REDLOCK_NODES': self.names, 'REDLOCK_DEV': announced['dir']}
        self.ports = [int(port) for port in re.findall(r':(\d+)', self.names)]

    def redlock(self, *words, **environment):
        """The command on these nodes, to its end."""
        return run('redlock', *words, **{**self.environment, **environment})

    def dev(self, verb, *names):
        """kill, start, hang or resume servers, by number; failover by name."""
        for name in names or [None]:
            done = self.redlock('dev', verb, *([str(name)] if name else []))
            assert done.returncode == 0, done.stderr

    @contextlib.contextmanager
    def hung(self, *numbers):
        """These servers answer nothing meanwhile, and all of it afterwards."""
        self.dev('hang', *numbers)
        try:
            yield
        finally:
            self.dev('resume', *numbers)

    def ask(self, number, *words):
        """A command to one server, from 1, without any client: its reply as text."""
        with socket.create_connection(('127.0.0.1', self.ports[number - 1]), PATIENCE_S) as server:
            server.sendall(b'*%d\r\n' % len(words) + b''.join(
                b'$%d\r\n%s\r\n' % (len(word), word) for word in (str(w).encode() for w in words)))
            return server.recv(65536).decode().strip()

    def ask_all(self, *words):
        return [self.ask(k, *words) for k in range(1, len(self.ports) + 1)]

    def on(self, name):
        """On how many servers a lock has its key."""
        return self.ask_all('EXISTS', 'redlock:' + name).count(':1')

    def until_on(self, count, name):
        until(lambda: self.on(name) == count, f'{name} on {count} servers')

    def left_ms(self, number, name):
        """Of the key of a lock on one server."""
        return int(self.ask(number, 'PTTL', 'redlock:' + name)[1:])

    def keep(self, name, *numbers):
        """From now on only a release ends a lock while a test waits; on these servers, or on all."""
        for number in numbers or range(1, len(self.ports) + 1):
            self.ask(number, 'PEXPIRE', 'redlock:' + name, 2000 * PATIENCE_S)

    def delete(self, name, *numbers):
        """A lock's key, as an operator might."""
        for number in numbers or range(1, len(self.ports) + 1):
            self.ask(number, 'DEL', 'redlock:' + name)

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE_S)
        self.process.stdout.close()


@functools.cache
def shared_nodes(options):
    """One set for all classes of a file that do not harm it."""
    nodes = Nodes(options)
    atexit.register(nodes.stop)
    return nodes


class Manager:
    """Plays systemd: reads the states that a daemon with NOTIFY_SOCKET=manager.path reports."""

    def __init__(self, path):
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.socket.settimeout(PATIENCE_S)

    def until_sent(self, pattern):
        """The first message from now on that is as the pattern says."""
        while not re.fullmatch(pattern, message := self.socket.recv(4096).decode()):
            pass
        return message


# Passes the socket that is standard input of this shell on, as systemd does.
HANDING_ON = ('sh', '-c', 'export LISTEN_PID=$$ LISTEN_FDS=1 WATCHDOG_PID=$$;'
                    'exec "$@" 3<&0 </dev/null', 'sh')


class Daemon:
    """redlockd on a unix socket and a free port of loopback, listening.

    NODES: None: its files name them. INHERITED: a socket of the test that it serves instead. THROUGH:
    words of a program that becomes it.
    """

    _count = 0

    def __init__(self, folder, *options, nodes=NO_NODES, audit=False, inherited=None, through=(),
                 **environment):
        Daemon._count += 1
        base = os.path.join(folder, str(Daemon._count))
        self.socket, self.log_path, self.audit_path = base + '.socket', base + '.log', base + '.audit'
        if audit:
            options += ('--audit', self.audit_path)
        if inherited:
            through = HANDING_ON
        else:
            options += ('--listen', 'unix:' + self.socket, '--listen', '127.0.0.1:0')
        # A lease that a test leaves behind keeps no process: a test of the drain says how long.
        with open(self.log_path, 'w') as log:
            environment = {**ENVIRONMENT, 'REDLOCK_NODES': nodes, **environment}
            self.process = subprocess.Popen(
                [*through, REDLOCKD, '--drain', '0', *options], stdin=inherited, stderr=log,
                env={name: value for name, value in environment.items() if value is not None})
        self.pid = self.process.pid
        last = '' if inherited else '127.0.0.1:'
        until(lambda: 'listening on ' + last in self.log() or self.has_ended(), 'to listen')
        if self.has_ended():
            raise AssertionError('redlockd ended: ' + self.log())
        ports = self.listeners('127.0.0.1')
        self.port = ports[-1] if ports else None  # it is opened last
        self.tls_ports = self.listeners('tls:127.0.0.1')

    def has_ended(self):
        return self.process.poll() is not None

    def listeners(self, address):
        found = re.findall(r'listening on %s:(\d+)\n' % re.escape(address), self.log())
        return [int(port) for port in found]

    def log(self):
        return read(self.log_path)

    def until_logged(self, pattern):
        return until(lambda: re.search(pattern, self.log()), 'a line with ' + pattern)

    def client(self, token=None, **named):
        """By the token, on TCP; without one on the unix socket, as this user."""
        if token:
            return Client(self.port, token='secret-of-' + token, **named)
        return Client(self.socket, **named)

    def is_ready(self):
        return self.client().get('/readyz').status == 200

    def status(self, query=''):
        return self.client().get('/v1/status' + query).json

    def metrics(self):
        return Metrics(self.client().get('/metrics').text)

    def metric(self, name, **labels):
        return self.metrics().value(name, **labels)

    def until_metric(self, wanted, name, **labels):
        until(lambda: self.metric(name, **labels) == wanted, f'{name} {labels} {wanted}')

    def audited(self, path=None, **fields):
        """The lines of the audit log with these fields, once its thread has written all."""
        self.until_metric(0, 'audit_queued')
        records = map(json.loads, read(path or self.audit_path).splitlines())
        return [record for record in records if fields.items() <= record.items()]

    def until_audited(self, **fields):
        return until(lambda: self.audited(**fields), f'a line with {fields}')[0]

    def begin_wait(self, name, lease=None, **terms):
        """A PUT that waits."""
        before = self.metric('waiters')
        waiting = self.client().begin_acquire(name, lease, **{'wait_ms': 50000, **terms})
        self.until_metric(before + 1, 'waiters')
        return waiting

    def signal(self, number):
        self.process.send_signal(number)

    @contextlib.contextmanager
    def standing_still(self):
        """What clients send meanwhile has arrived together when it goes on."""
        self.signal(signal.SIGSTOP)
        until(lambda: ') T ' in read(f'/proc/{self.pid}/stat'), 'a daemon that stands still')
        try:
            yield
        finally:
            self.signal(signal.SIGCONT)

    def reload(self, expected='reloaded'):
        """HUP, and what the log says then from a line with EXPECTED on."""
        before = len(self.log())
        self.signal(signal.SIGHUP)
        until(lambda: re.search(expected, self.log()[before:]), expected)
        return self.log()[before:]

    def wait(self):
        return self.process.wait(PATIENCE_S)

    def stop(self):
        """TERM; what it ends with."""
        if self.process.poll() is None:
            self.process.terminate()
        return self.wait()

    def kill(self):
        self.process.kill()
        self.process.wait()


class Case(unittest.TestCase):
    """Tests that share a daemon and its nodes; names of locks are their own, by fresh().

    When they have ended, each daemon that was started ends with 0 at TERM, and neither its log nor
    its audit log has a secret in it (client.secrets) or the complaint of a sanitizer.
    """

    servers = '-c 3'      # options of `redlock dev`; None: nodes that are not there
    own_servers = False   # for tests that kill or hang them
    options = ()          # of the daemon; None: the tests start theirs
    tokens = ()           # names; each has a secret, `secret-of-NAME`
    audit = False

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(dir=_folder)
        cls.nodes = None
        if cls.servers:
            cls.nodes = (Nodes if cls.own_servers else shared_nodes)(cls.servers)
        if cls.own_servers:
            cls.addClassCleanup(cls.nodes.stop)
        if cls.tokens:
            cls.write('tokens', ''.join(f'{name} {digest("secret-of-" + name)}\n'
                                        for name in cls.tokens))
        if cls.options is not None:
            cls.daemon = (cls.start_ready if cls.nodes else cls.start)(*cls.options)

    @classmethod
    def start(cls, *options, **named):
        """A daemon on the nodes of the class, with its tokens."""
        if cls.tokens and '--tokens' not in options:
            options = ('--tokens', cls.path('tokens'), *options)
        named = {'nodes': cls.nodes.names if cls.nodes else NO_NODES, 'audit': cls.audit, **named}
        daemon = Daemon(cls.folder, *options, **named)
        cls.addClassCleanup(cls._finish, daemon)
        return daemon

    @classmethod
    def start_ready(cls, *options, **named):
        """The same, once a majority votes."""
        daemon = cls.start(*options, **named)
        until(daemon.is_ready, 'readiness')
        return daemon

    @classmethod
    def _finish(cls, daemon):
        assert daemon.stop() in (0, -signal.SIGKILL), daemon.log()
        written = daemon.log() + read(daemon.audit_path)
        assert not secrets(written), (secrets(written), written)
        assert not re.search('Sanitizer|runtime error', written), written

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)

    @classmethod
    def write(cls, name, text):
        """A file in the folder of the class; its path."""
        with open(cls.path(name), 'w') as file:
            file.write(text)
        return cls.path(name)

    def refuses(self, pattern, *options, status=78, **environment):
        """`redlockd --check` with these options fails, and says why."""
        done = run(REDLOCKD, '--check', '--listen', 'unix:' + self.path('unused'), *options,
                   **{'REDLOCK_NODES': NO_NODES, **environment})
        self.assertEqual(done.returncode, status, done)
        self.assertRegex(done.stderr, pattern)
        return done


class Pair(Case):
    """The same with two replicas that share nothing but the nodes: a client of each."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.other = cls.start_ready(*cls.options)

    def setUp(self):
        self.first, self.second, self.name = self.daemon.client(), self.other.client(), fresh()

    def until_on(self, count):
        self.nodes.until_on(count, self.name)


def digest(secret):
    """As a file of tokens has it."""
    return hashlib.sha256(secret.encode()).hexdigest()
