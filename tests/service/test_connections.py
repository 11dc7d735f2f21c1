# SPDX-License-Identifier: BSD-2-Clause
"""Connections by their bytes, on a unix socket, on TCP and with TLS: what is answered, in which order,
and how the daemon notices that a client is gone while its request waits."""
import contextlib
import re
import socket
import ssl
import struct

from client import Client, fresh, new_lease, tls
from daemon import ME, Case, certificates, with_tls

JSON = 'Content-Type: application/json\r\n'


def get(path, more=''):
    return f'GET {path} HTTP/1.1\r\nHost: localhost\r\n{more}\r\n'


class Connections(Case):
    tokens = ('far',)

    @classmethod
    def setUpClass(cls):
        cls.options = (*with_tls(), '--allow', 'token:far * acquire', '--allow', f'{ME} * acquire,read,admin')
        super().setUpClass()
        secret = Client(cls.daemon.tls_ports[0], tls=tls(certificates() + '/ca.crt'))
        cls.clients = [Client(cls.daemon.socket), Client(cls.daemon.port), secret]

    def setUp(self):
        self.client, self.name = self.daemon.client(), fresh()

    def put(self, terms='{"wait_ms":50000}', more='Authorization: Bearer secret-of-far\r\n'):
        """A PUT of the lock of the test."""
        return (f'PUT /v1/locks/{self.name} HTTP/1.1\r\nHost: localhost\r\nLease-Id: {new_lease()}\r\n{more}{JSON}'
                f'Content-Length: {len(terms)}\r\n\r\n{terms}')

    def wait(self, client, text=''):
        """A connection that sends this and a PUT in one piece; then the PUT waits."""
        raw = client.open()
        self.addCleanup(raw.close)
        raw.sendall((text + self.put()).encode())
        self.daemon.until_metric(1, 'waiters')
        return raw

    def read(self, raw, pattern):
        """What comes, until it has this."""
        text = ''
        while not re.search(pattern, text, re.DOTALL):
            part = raw.recv(65536).decode()
            self.assertTrue(part, text)
            text += part
        return text

    def test_gone(self):
        """On each listener a client that closes, half-closes or resets while it waits is gone."""
        def reset(raw):
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
            raw.close()

        def close_behind_bytes(raw):
            raw.sendall(b'x' * 60000)
            raw.close()

        def say_goodbye(raw):  # and keep the socket
            raw.setblocking(False)
            with contextlib.suppress(ssl.SSLError):  # the daemon's goodbye has not come, or comes at once
                raw.unwrap()
        held, ways = self.client.acquire(self.name), [socket.socket.close, close_behind_bytes]
        local, plain, secret = self.clients
        for client, leaves in ((local, ways + [lambda raw: raw.shutdown(socket.SHUT_WR)]),
                               (plain, ways + [reset]), (secret, ways + [say_goodbye])):
            for leave in leaves:
                gone = self.daemon.metric('disconnected_waiters_total')
                leave(self.wait(client))
                self.daemon.until_metric(0, 'waiters')
                self.assertEqual(self.daemon.metric('disconnected_waiters_total'), gone + 1)
        self.assertEqual(self.client.release(held).status, 204)

    def test_gone_behind(self):
        """A TLS goodbye that arrives together with the request is seen as well."""
        self.client.acquire(self.name)
        with self.clients[2].open() as raw:
            with self.daemon.standing_still():
                raw.sendall(self.put().encode())
                raw.setblocking(False)
                with contextlib.suppress(ssl.SSLWantReadError):
                    raw.unwrap()
            self.daemon.until_metric(0, 'connections', listener=f'tls:127.0.0.1:{self.daemon.tls_ports[0]}')

    def test_gone_unanswered(self):
        """A TLS client that resets with answers unsent before a request that waits is gone."""
        more = f'Authorization: Bearer secret-of-far\r\nLease-Id: {new_lease()}\r\n'
        raw = self.clients[2].open()
        with self.daemon.standing_still():
            raw.sendall((get('/livez') + get(f'/v1/leaders/{self.name}?term=0', more)).encode())
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
            raw.close()
        self.daemon.until_metric(0, 'connections', listener=f'tls:127.0.0.1:{self.daemon.tls_ports[0]}')

    def test_in_order(self):
        """Pipelined requests are answered in order, also behind one that waits."""
        for client in self.clients:
            self.name = fresh()
            held = self.client.acquire(self.name)
            raw = self.wait(client, get('/livez'))
            raw.sendall((get('/version') + get('/nothing')).encode())
            self.assertNotIn('"name"', self.read(raw, 'alive'))
            self.assertEqual(self.client.release(held).status, 204)
            self.assertEqual(re.findall('HTTP/1.1 (...)', self.read(raw, '404')), ['201', '200', '404'])

    def test_records(self):
        """Requests in several TLS records that arrive together are all answered."""
        with self.clients[2].open() as raw:
            with self.daemon.standing_still():
                for path in 4 * ['/livez'] + ['/nothing']:
                    raw.sendall(get(path).encode())
            self.assertEqual(self.read(raw, '404').count('200 OK'), 4)

    def test_slow_reader(self):
        """A large answer arrives whole though its client reads slowly."""
        whole = self.client.get('/openapi.json').text
        for client in self.clients:
            with client.open() as raw:
                raw.sendall((7 * get('/openapi.json') + get('/openapi.json', 'Connection: close\r\n')).encode())
                got = b''.join(iter(lambda: raw.recv(1000), b'')).decode()
            self.assertEqual(got.count(whole), 8)

    def test_heads(self):
        """HEAD has the head of GET, and 204 has neither a length nor a type."""
        with self.clients[0].open() as raw:
            raw.sendall(b'HEAD /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
            head = b''.join(iter(lambda: raw.recv(4096), b'')).decode()
        self.assertIn('Content-Length: 19\r\n', head)
        self.assertTrue(head.endswith('\r\n\r\n'))
        released = self.client.release(self.client.acquire(self.name))
        self.assertEqual((released.status, released.headers['Content-Length'], released.headers['Content-Type']),
                         (204, None, None))

    def test_continue(self):
        """A client that expects 100-continue is sent 100."""
        head, body = self.put('{"a":1}', 'Expect: 100-continue\r\n').split('{')
        with self.clients[0].open() as raw:
            raw.sendall(head.encode())
            self.assertEqual(raw.recv(4096), b'HTTP/1.1 100 Continue\r\n\r\n')
            raw.sendall(b'{"a"')
            raw.sendall(b':1}')
            self.assertIn('422', self.read(raw, '\r\n\r\n{'))

    def test_last(self):
        """Connection: close and HTTP/1.0 end the connection after the answer."""
        for request in get('/livez', 'Connection: close\r\n'), 'GET /livez HTTP/1.0\r\n\r\n':
            with self.clients[0].open() as raw:
                raw.sendall(request.encode())
                answer = b''.join(iter(lambda: raw.recv(4096), b'')).decode()
            self.assertIn('Connection: close\r\n', answer)
            self.assertIn('alive', answer)
