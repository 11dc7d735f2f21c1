# SPDX-License-Identifier: BSD-2-Clause
"""Clients that were not written for redlockd, on a unix socket, on TCP and with TLS: curl, node,
and http.client, which the rig is made of."""
import json
import shutil
import unittest

from client import Client, tls
from daemon import HERE, Case, certificates, run, with_tls

ALIVE = '{"status":"alive"}\n'


def python_with_requests():
    """The interpreter that stands first may be without the package that the system's has."""
    for python in 'python3', '/usr/bin/python3':
        if shutil.which(python) and run(python, '-c', 'import requests').returncode == 0:
            return python
    return None


def has_fetch():
    return shutil.which('node') and run('node', '-p', 'typeof fetch').stdout == 'function\n'


class Clients(Case):
    servers = None

    @classmethod
    def setUpClass(cls):
        cls.options = with_tls()
        super().setUpClass()
        cls.plain = f'http://127.0.0.1:{cls.daemon.port}/'
        cls.secret = f'https://127.0.0.1:{cls.daemon.tls_ports[0]}/'
        cls.ca = certificates() + '/ca.crt'

    def curl(self, *words):
        """The status, then the body; what curl ends with, if that is not 0."""
        done = run('curl', '-sS', '-m', '60', '-w', ' %{http_code}', *words)
        body, _, status = done.stdout.rpartition(' ')
        return (int(status), body) if done.returncode == 0 else done.returncode

    def test_curl(self):
        """Curl reads an answer on the unix socket, on TCP and with TLS from 1.2 on."""
        for words in (['--unix-socket', self.daemon.socket, 'http://localhost/livez'],
                      [self.plain + 'livez'], ['--cacert', self.ca, self.secret + 'livez'],
                      ['--cacert', self.ca, '--tls-max', '1.2', self.secret + 'livez']):
            self.assertEqual(self.curl(*words), (200, ALIVE), words)
        old = self.curl('--cacert', self.ca, '--tls-max', '1.1', self.secret + 'livez')
        self.assertIsInstance(old, int, 'TLS 1.1 is refused')
        self.assertEqual(self.curl(self.secret.replace('https', 'http') + 'livez'), 52,
                         'plain HTTP on the port of TLS ends at once')
        self.assertEqual(json.loads(self.curl(self.plain + 'version')[1])['name'], 'redlockd')
        self.assertEqual(self.curl(self.plain + 'nothing')[0], 404)

    def test_curl_refused(self):
        """Curl learns why a body is refused: a form, chunks, and one that is too large."""
        status, body = self.curl('-X', 'PUT', '-d', 'a=b', self.plain + 'livez')
        self.assertEqual((status, json.loads(body)['code']), (415, 'JSON_EXPECTED'))
        chunks = ['-X', 'PUT', '-H', 'Transfer-Encoding: chunked', '-H', 'Content-Type: application/json']
        self.assertEqual(self.curl(*chunks, '-d', '{}', self.plain + 'livez')[0], 501)
        large = self.write('large', '\0' * 100000)
        for expect in 'Expect:', 'Expect: 100-continue':  # after it was sent, and before
            self.assertEqual(self.curl('-T', large, '-H', expect, self.plain + 'livez')[0], 413, expect)

    def test_curl_keeps(self):
        """Curl keeps its connection for three requests."""
        words = ['-o', '/dev/null'] * 3 + [self.plain + path for path in ('livez', 'version', 'livez')]
        self.assertEqual(run('curl', '-sS', '-m', '60', '-w', '%{num_connects}', *words).stdout, '100')

    def test_http_client(self):
        """Python's http.client keeps its connection on all three, with bodies and without."""
        context = tls(self.ca)
        for client in (self.daemon.client(keep=True), Client(self.daemon.port, keep=True),
                       Client(self.daemon.tls_ports[0], tls=context, keep=True)):
            client.get('/livez')
            first = client.kept.sock
            for _ in range(50):
                self.assertEqual(client.get('/livez').text, ALIVE)
            # Head and body come in two writes.
            answer = client.request('PUT', '/livez', {'ttl_ms': 5000})
            self.assertEqual(answer.verdict, (405, 'METHOD_NOT_ALLOWED'))
            self.assertEqual(answer.headers['Allow'], 'GET, HEAD')
            self.assertIs(client.kept.sock, first, 'a new connection')

    @unittest.skipUnless(has_fetch(), 'node with fetch is not installed')
    def test_node(self):
        """The fetch of node is answered, alone and fifty at a time."""
        done = run('node', HERE + '/fetch.mjs', str(self.daemon.port))
        self.assertEqual(done.returncode, 0, done)

    @unittest.skipUnless(python_with_requests(), 'the package requests is not installed')
    def test_requests(self):
        """The package requests is answered by one connection, with a body and without."""
        done = run(python_with_requests(), '-B', HERE + '/fetch.py', str(self.daemon.port))
        self.assertEqual(done.returncode, 0, done)

    def test_certificates_of_clients(self):
        """With tls-client-ca only a client whose certificate is valid is served."""
        strict = self.start(*with_tls(), '--tls-client-ca', self.ca)
        url = f'https://127.0.0.1:{strict.tls_ports[0]}/livez'

        def served(name):
            path = f'{certificates()}/{name}'
            return self.curl('--cacert', self.ca, '--cert', path + '.crt', '--key', path + '.key', url)
        self.assertEqual(served('client'), (200, ALIVE))
        self.assertIsInstance(served('expired'), int, 'an expired one is refused')
        self.assertIsInstance(self.curl('--cacert', self.ca, url), int, 'none is refused')
