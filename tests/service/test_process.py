# SPDX-License-Identifier: BSD-2-Clause
"""The process: its command line and file, its sockets, what it sends to systemd, signals, and its end."""
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import termios
import time

from client import PATIENCE_S, Client, tls
from daemon import ENVIRONMENT, NO_NODES, REDLOCKD, Case, Manager, certificates, read, run, until

ALIVE = '{"status":"alive"}\n'
HALF_A_REQUEST = b'GET /livez HTTP/1.1\r\nHost: localhost\r\n'


class Settings(Case):
    servers = None
    options = None

    def ends(self, status, pattern, *words, nodes=NO_NODES):
        """The daemon with these words ends, with this on standard error."""
        environment = {**ENVIRONMENT, **({'REDLOCK_NODES': nodes} if nodes else {})}
        done = subprocess.run([REDLOCKD, *words], env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, status, done)
        self.assertRegex(done.stderr, pattern)
        return done.stdout

    def test_words(self):
        """--help, --version, and options that do not exist or lack their value."""
        text = self.ends(0, '.*', '--help')
        self.assertIn('--listen ADDRESS', text)
        self.assertLessEqual(max(map(len, text.splitlines())), 80)
        self.assertRegex(self.ends(0, '.*', '--version'), r'^redlockd [0-9]+\.[0-9]+\.[0-9]+\n$')
        self.ends(64, '--nonsense: there is no such option; try --help', '--nonsense')
        self.ends(64, r'--lisen: there is no such option; did you mean --listen\?', '--lisen', 'unix:/a')
        self.ends(64, '--listen: a value is missing', '--listen')

    def test_listeners(self):
        """A listener that is missing, wrong or open to strangers is refused."""
        self.ends(78, 'nothing to listen on: give --listen')
        self.ends(78, 'plain TCP is for loopback', '--listen', '0.0.0.0:0')
        self.ends(0, '.*', '--check', '--listen', '0.0.0.0:0', '--insecure', 'yes')
        for complaint, *words in (('neither unix:/path nor ADDRESS:PORT', 'localhost:1'), ('absolute path', 'unix:relative'),
                                  ('needs tls-cert', 'tls:127.0.0.1:0'),
                                  ('cannot read the TLS certificate file /nonexistent', 'tls:127.0.0.1:0',
                                   '--tls-cert', '/nonexistent')):
            self.ends(78, complaint, '--check', '--listen', *words)

    def test_nodes(self):
        """Nodes must be named, by the environment or a file."""
        at = ['--listen', 'unix:' + self.path('socket')]
        nodes = self.write('nodes', 'nodes = 127.0.0.1:1\n')
        self.ends(78, 'node', '--check', *at, nodes=None)
        self.ends(78, 'node', *at, nodes=None)
        self.ends(0, '.*', '--check', *at, '--quorum-config', nodes, nodes=None)
        self.ends(78, 'missing', '--check', *at, '--quorum-config', self.path('missing'), nodes=None)
        self.ends(78, 'drift-ppm: is a number from 0 to 500000', '--check', *at, '--drift-ppm', '600000')

    def test_file(self):
        """A misspelt key of a file is named with its line."""
        good = f'# comment\nlisten = unix:{self.path("socket")}   # another\nconnections = 100\n'
        self.ends(0, '.*', '--config', self.write('good', good), '--check')
        bad = self.write('bad', good + 'conections = 5\n')
        self.ends(78, r"bad:4: unknown key .conections.; did you mean .connections.\?", '--config', bad, '--check')
        self.ends(78, 'missing: cannot be read', '--config', self.path('missing'), '--check')


class Process(Case):
    servers = None
    options = None

    def spawn(self, *words, **named):
        """A daemon without the log of the rig."""
        process = subprocess.Popen([*words, '--drain', '0'], env={**ENVIRONMENT, 'REDLOCK_NODES': NO_NODES}, **named)

        def end():
            process.kill()
            process.wait()
        self.addCleanup(end)
        return process

    def test_socket(self):
        """The unix socket is for this user, and is replaced only if it was left behind."""
        path = self.path('socket')
        daemon = self.start('--listen', 'unix:' + path)
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        done = run(REDLOCKD, '--listen', 'unix:' + path, REDLOCK_NODES=NO_NODES)
        self.assertEqual(done.returncode, 69, done)
        self.assertIn('another process listens on', done.stderr)
        daemon.kill()
        self.start('--listen', 'unix:' + path)
        self.assertEqual(Client(path).get('/livez').text, ALIVE)

    def test_headers(self):
        """Each answer is for no cache, once, and is what its type says."""
        client = self.start().client()
        for path in ('/', '/openapi.json', '/livez', '/readyz', '/version', '/v1/status', '/v1/nodes', '/v1/nothing',
                     '/metrics'):
            headers = client.get(path).headers
            self.assertEqual(len(headers.get_all('Cache-Control')), 1, path)
            self.assertEqual(headers['X-Content-Type-Options'], 'nosniff', path)

    def test_systemd(self):
        """A manager hands on a socket, and is sent READY, WATCHDOG, RELOADING and STOPPING."""
        manager = Manager(self.path('notify'))
        self.addCleanup(manager.socket.close)
        listener = socket.create_server(('127.0.0.1', 0))
        self.addCleanup(listener.close)
        port = listener.getsockname()[1]
        early = Client(port).begin('GET', '/livez')  # it must be served all the same
        daemon = self.start(inherited=listener, NOTIFY_SOCKET=manager.path, WATCHDOG_USEC='400000')
        manager.until_sent('READY=1')
        self.assertEqual(early.answer().status, 200)
        manager.until_sent('WATCHDOG=1')
        manager.until_sent('WATCHDOG=1')
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        daemon.signal(signal.SIGHUP)
        sent = manager.until_sent(r'RELOADING=1\nMONOTONIC_USEC=\d+')
        self.assertTrue(before <= int(sent.split('=')[2]) <= time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000)
        manager.until_sent('READY=1')
        daemon.signal(signal.SIGTERM)
        manager.until_sent('STOPPING=1')
        self.assertEqual(daemon.wait(), 0)
        Client(port).open().close()  # clients of a restart wait in the manager's queue

    def test_certificate(self):
        """HUP reads certificates again, unless the new file is broken."""
        def install(name):
            for end in 'crt', 'key':
                shutil.copy(f'{certificates()}/{name}.{end}', self.path('live.' + end))
        install('wrong')
        daemon = self.start('--listen', 'tls:127.0.0.1:0', '--tls-cert', self.path('live.crt'),
                            '--tls-key', self.path('live.key'))
        client = Client(daemon.tls_ports[0], tls=tls(certificates() + '/ca.crt'))
        with self.assertRaisesRegex(OSError, 'not valid for'):
            client.get('/livez')
        self.write('live.crt', 'nonsense\n')
        daemon.reload('not reloaded, nothing has changed: there is no usable PEM')
        with self.assertRaisesRegex(OSError, 'not valid for'):
            client.get('/livez')
        install('good')
        daemon.reload('reloaded: 0 rules, 0 tokens, and the TLS files')
        self.assertEqual(client.get('/livez').text, ALIVE)

    def is_alive(self, path):
        try:
            return Client(path).get('/livez').text == ALIVE
        except (FileNotFoundError, ConnectionRefusedError):  # the path is there before it listens
            return False

    def test_no_files(self):
        """Without standard files the daemon serves, and ends."""
        path = self.path('bare')
        process = self.spawn('sh', '-c', 'exec "$@" <&- >&- 2>&-', 'sh', REDLOCKD, '--audit', 'stderr',
                             '--listen', 'unix:' + path)
        until(lambda: self.is_alive(path), 'an answer')
        process.terminate()
        self.assertEqual(process.wait(PATIENCE_S), 0)

    def test_terminal(self):
        """A terminal that takes no line holds up no request, and needs no thread of its own."""
        reader, terminal = os.openpty()
        for each in reader, terminal:
            self.addCleanup(os.close, each)
        path = self.path('terminal')
        process = self.spawn(REDLOCKD, '--listen', 'unix:' + path, stderr=terminal)
        until(lambda: self.is_alive(path), 'an answer')
        termios.tcflow(terminal, termios.TCOOFF)  # as Ctrl-S does
        for _ in range(20):  # each HUP is a line
            process.send_signal(signal.SIGHUP)
            self.assertTrue(self.is_alive(path))
        self.assertEqual(len(os.listdir(f'/proc/{process.pid}/task')), 1)
        process.terminate()
        self.assertEqual(process.wait(PATIENCE_S), 0)

    def test_early_signal(self):
        """Signals wait while the daemon reads its settings, and TERM ends it in order afterwards."""
        fifo, log = self.path('slow.conf'), self.path('slow.log')
        os.mkfifo(fifo, 0o600)
        with open(log, 'w') as err:
            process = self.spawn(REDLOCKD, '--config', fifo, stderr=err)
        with open(fifo, 'w') as slow:  # waits until it is read
            blocked = int(re.search(r'SigBlk:\t([0-9a-f]+)', read(f'/proc/{process.pid}/status'))[1], 16)
            for number in signal.SIGHUP, signal.SIGINT, signal.SIGTERM:
                self.assertTrue(blocked & 1 << number - 1, number)
            process.terminate()
            slow.write(f'listen = unix:{self.path("slow")}\n')
        self.assertEqual(process.wait(PATIENCE_S), 0)
        self.assertIn('listening on', read(log))

    def test_no_core(self):
        """The daemon writes no core."""
        limits = read(f'/proc/{self.start().pid}/limits')
        self.assertEqual(re.search(r'Max core file size +(\S+)', limits)[1], '0')

    def test_drain(self):
        """After TERM a request under way is answered, new connections too, once each."""
        daemon = self.start('--drain', '30')
        with Client(daemon.port).open() as slow:
            slow.sendall(HALF_A_REQUEST)
            self.assertEqual(daemon.client().get('/livez').text, ALIVE, 'beside it others are served')
            daemon.signal(signal.SIGTERM)
            daemon.until_logged('ending: renewals and releases go on for at most 30 s')
            client = Client(daemon.port)
            self.assertEqual(client.get('/livez').headers['Connection'], 'close')
            self.assertEqual(client.get('/readyz').status, 503)
            slow.sendall(b'\r\n')
            self.assertIn(b'Connection: close', b''.join(iter(lambda: slow.recv(4096), b'')))
        began = time.monotonic()
        self.assertEqual(daemon.wait(), 0)
        self.assertLess(time.monotonic() - began, 30, 'long before the time is over')
