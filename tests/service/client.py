# SPDX-License-Identifier: BSD-2-Clause
"""Clients of redlockd, over a unix socket, TCP or TLS: requests, leases, and streams of events."""
import base64
import hashlib
import http.client
import itertools
import json
import os
import re
import select
import socket
import ssl

PATIENCE_S = 60  # for what must happen, on any machine

_numbers = itertools.count(1)
_grants = set()  # those that clients were given
_values = set()  # what the values of their leases begin with


def new_lease():
    """An id that no other lease has."""
    lease = f'lease-of-the-test-{os.getpid()}-{next(_numbers):06d}'
    digest = hashlib.sha256(lease.encode()).digest()
    _values.add(base64.urlsafe_b64encode(digest)[:22].decode())
    return lease


def secrets(text):
    """What is in a text of the tokens, lease ids, grants and values of these clients."""
    long = re.findall('[A-Za-z0-9_-]{22,}', text)
    return (re.findall('secret-of[a-z-]*|lease-of[a-z0-9-]*', text) +
            [word for word in long if word in _grants or word[:22] in _values])


def fresh(word='x'):
    """A name of a lock that no other test uses."""
    return f'{word}-{next(_numbers)}'


def tls(authority, certificate=None):
    """A context that trusts AUTHORITY and shows CERTIFICATE, which has its key beside it."""
    context = ssl.create_default_context(cafile=authority)
    if certificate:
        context.load_cert_chain(certificate, certificate.removesuffix('.crt') + '.key')
    return context


class Answer:
    """What came back: answer['fence'] is a field of its body, verdict its status and code."""

    def __init__(self, response, text, name=None, lease=None):
        self.status, self.headers, self.text = response.status, response.headers, text
        self.name, self.lease = name, lease  # of the lock, if it was about one
        _grants.update(re.findall('"grant":"([^"]+)"', text))

    @property
    def json(self):
        return json.loads(self.text)

    def __getitem__(self, field):
        return self.json[field]

    @property
    def code(self):
        """What a program would look at: "BUSY" and the like; None: the body has none."""
        is_json = 'json' in (self.headers['Content-Type'] or '')
        return self.json.get('code') if is_json and self.text else None

    @property
    def verdict(self):
        return self.status, self.code

    def __repr__(self):
        return f'{self.status} {self.text[:300]}'


class _Connection(http.client.HTTPConnection):
    def __init__(self, client):
        super().__init__('localhost', timeout=PATIENCE_S)
        self.client = client

    def connect(self):
        self.sock = self.client.open()


class Pending:
    """A request that was sent: its answer can be waited for, or its client goes away."""

    def __init__(self, client, connection, method, path, name, lease):
        self.client, self.connection, self.method, self.path = client, connection, method, path
        self.name, self.lease = name, lease

    def is_answered(self):
        return bool(select.select([self.connection.sock], [], [], 0)[0])

    def answer(self):
        response = self.connection.getresponse()
        answer = Answer(response, response.read().decode(), self.name, self.lease)
        if self.connection is not self.client.kept:
            self.close()
        return answer

    def close(self):
        self.connection.close()


class Stream:
    """An answer that is a stream of events, each read as (word, data)."""

    def __init__(self, pending):
        self.lease, self.name, self.connection = pending.lease, pending.name, pending.connection
        self.response = self.connection.getresponse()
        self.events = []  # those that were read
        self.text = ''
        if (self.response.headers['Content-Type'] or '') != 'text/event-stream':
            raise AssertionError(f'no stream: {self.response.status} {self.response.read()!r}')

    def next(self):
        """The next event; (None, None): the stream has ended."""
        word = None
        while line := self.response.readline().decode():
            self.text += line
            if line.startswith('event: '):
                word = line[7:].rstrip('\n')
            elif line.startswith('data: '):
                _grants.update(re.findall('"grant":"([^"]+)"', line))
                self.events.append((word, json.loads(line[6:])))
                return self.events[-1]
        return None, None

    def find(self, word, **fields):
        """The data of the first such event, among those that were read and those to come."""
        for found, data in self.all():
            if found == word and fields.items() <= data.items():
                return data
        raise AssertionError(f'the stream ended without {word} {fields}: {self.events}')

    def all(self):
        """Every event from the first to the end of the stream."""
        yield from list(self.events)
        while (event := self.next())[0]:
            yield event

    def words(self):
        return [word for word, _ in self.events]

    def close(self):
        """As the client ends, killed or not: the kernel closes its connection."""
        self.response.close()
        self.connection.close()


class Client:
    """To a listener: the path of a unix socket, or a port. One connection per request, unless KEEP."""

    pending, stream = Pending, Stream  # what its requests become

    def __init__(self, where, token=None, tls=None, keep=False):
        self.where, self.token, self.tls = where, token, tls
        self.kept = _Connection(self) if keep else None

    def __del__(self):
        if self.kept:
            self.kept.close()

    def open(self):
        """A connection by itself, for bytes that no HTTP client would send."""
        if isinstance(self.where, int):
            plain = socket.create_connection(('127.0.0.1', self.where), timeout=PATIENCE_S)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # head and body are two
        else:
            plain = socket.socket(socket.AF_UNIX)
            plain.settimeout(PATIENCE_S)
            try:
                plain.connect(self.where)
            except OSError:
                plain.close()
                raise
        return self.tls.wrap_socket(plain, server_hostname='127.0.0.1') if self.tls else plain

    def begin(self, method, path, body=None, headers=None, name=None):
        """Sends a request. BODY: what becomes JSON, or text as it is; a header that is None goes."""
        sent = {'Authorization': self.token and 'Bearer ' + self.token,
                'Content-Type': 'application/json' if body is not None else None, **(headers or {})}
        if not isinstance(body, (str, bytes, type(None))):
            body = json.dumps(body)
        connection = self.kept or _Connection(self)
        connection.request(method, path, body, {k: v for k, v in sent.items() if v is not None})
        return self.pending(self, connection, method, path, name, sent.get('Lease-Id'))

    def request(self, *arguments, **named):
        return self.begin(*arguments, **named).answer()

    def get(self, path, **headers):
        return self.request('GET', path, headers=headers)

    # Of one lock. Terms are the fields of the body: ttl_ms, wait_ms, label, kind and so on.

    def _lock(self, method, name, lease, grant=None, terms=None, **headers):
        return self.begin(method, '/v1/locks/' + name, terms,
                          {'Lease-Id': lease, 'Grant': grant, **headers}, name)

    def begin_acquire(self, name, lease=None, **terms):
        return self._lock('PUT', name, lease or new_lease(), terms=terms)

    def acquire(self, name, lease=None, **terms):
        return self.begin_acquire(name, lease, **terms).answer()

    def renew(self, held, **terms):
        return self._lock('POST', held.name, held.lease, held['grant'], terms).answer()

    def release(self, held):
        return self._lock('DELETE', held.name, held.lease).answer()

    def look(self, name):
        return self._lock('GET', name, None).answer()

    def evict(self, name, fingerprint=None):
        """Breaks the hold with this fingerprint; None: that of the first holder."""
        fingerprint = fingerprint or self.look(name)['holders'][0]['fingerprint']
        return self.request('POST', '/v1/breaks/' + name, {'fingerprint': fingerprint}, name=name)

    def begin_hold(self, name, lease=None, grant=None, terms=None, **headers):
        return self._lock('PUT', name, lease or new_lease(), grant, terms or {},
                          Accept='text/event-stream', **headers)

    def hold(self, name, lease=None, grant=None, **terms):
        """A lock as a stream: held as long as its connection."""
        return self.stream(self.begin_hold(name, lease, grant, terms))

    def feed(self, query=''):
        return self.stream(self.begin('GET', '/v1/events' + query))
