# SPDX-License-Identifier: BSD-2-Clause
"""Client certificates as principals: by their names, until they end, while their authority is
trusted."""
import os
import shutil
import ssl
import subprocess
import time

from client import Client, fresh, tls
from daemon import ME, Case, certificates, read, until, with_tls


def authority(*words):
    """`openssl ca` of the authority of the certificates."""
    subprocess.run(['openssl', 'ca', '-batch', '-config', 'ca.cnf', '-cert', 'ca.crt', '-keyfile', 'ca.key',
                    *words], cwd=certificates(), check=True, stderr=subprocess.DEVNULL)


def certify(name, alternative, until_s=None):
    """A certificate for client.example with these names, for so many seconds; its path."""
    path = f'{certificates()}/{name}'
    names = ['-addext', 'subjectAltName=' + alternative] if alternative else []
    subprocess.run(['openssl', 'req', '-new', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes',
                    '-keyout', path + '.key', '-subj', '/CN=client.example', *names, '-out', path + '.csr'],
                   check=True, stderr=subprocess.DEVNULL)
    end = time.strftime('%Y%m%d%H%M%SZ', time.gmtime(time.time() + until_s)) if until_s else '20991231000000Z'
    authority('-in', path + '.csr', '-out', path + '.crt', '-notext', '-startdate', '20200101000000Z',
              '-enddate', end)
    return path + '.crt'


class Certificates(Case):
    options = None
    tokens = ('ci',)
    audit = True
    rules = ('cert:client.example web/ acquire', 'cert:spiffe://example/web uri/ acquire',
             'cert:robot@example.org mail/ acquire', 'token:ci ci/ acquire', f'{ME} * read,admin')
    listeners = ()

    @classmethod
    def setUpClass(cls):
        cls.ca = certificates() + '/ca.crt'
        super().setUpClass()

    def setUp(self):
        trusted = shutil.copy(self.ca, self.path('trusted'))
        self.daemon = self.start_ready(*with_tls(), *self.listeners, '--tls-client-ca', trusted,
                                 *(word for rule in self.rules for word in ('--allow', rule)))

    def connect(self, name=None, port=None, token=None):
        """A client with this certificate, on a connection of its own."""
        path = name and f'{certificates()}/{name}.crt'
        return Client(port or self.daemon.tls_ports[0], token=token and 'secret-of-' + token,
                      tls=tls(self.ca, path), keep=True)

    def put(self, name, lock, **named):
        """The status of a PUT; None: there is no connection for it."""
        try:
            return self.connect(name, **named).acquire(lock + fresh()).status
        except (ssl.SSLError, ConnectionError):
            return None


class Names(Certificates):
    def test_names(self):
        """A certificate is known by its one URI, else its one DNS name, or its email address."""
        certify('shouting', 'DNS:CLIENT.Example')
        certify('nameless', '')
        certify('uri', 'DNS:client.example,URI:spiffe://example/web')
        certify('email', 'email:robot@example.org')
        certify('disguised', 'DNS:robot@example.org')
        certify('odd', 'DNS:client.example x acquire')
        for what, name, lock, status in (
                ('a certificate with a rule acquires', 'client', 'web/', 201),
                ('not outside of its prefix', 'client', 'other', 403),
                ('its DNS name is compared in small letters', 'shouting', 'web/', 201),
                ('the subject counts for nothing', 'nameless', 'web/', 401),
                ('a URI goes before a DNS name', 'uri', 'uri/', 201),
                ('which counts no more then', 'uri', 'web/', 403),
                ('an email address', 'email', 'mail/', 201),
                ('is none if it says to be a DNS name', 'disguised', 'mail/', 401),
                ('a name with blanks is none', 'odd', 'web/', 401),
                ('a certificate that has ended', 'expired', 'web/', None),
                ('a certificate of another authority', 'other', 'web/', None)):
            self.assertEqual(self.put(name, lock), status, what)
        for token, lock, status in ('ci', 'ci/', 201), ('ci', 'web/', 403), ('wrong', 'web/', 401):
            self.assertEqual(self.put('client', lock, token=token), status, 'a token goes before')
        self.assertEqual({record['principal'] for record in self.daemon.audited(event='granted')},
                         {'cert:client.example', 'cert:robot@example.org', 'cert:spiffe://example/web',
                          'token:ci'})
        self.assertNotRegex(self.daemon.log() + read(self.daemon.audit_path), 'PRIVATE')

    def test_ends(self):
        """A connection outlives its certificate without rights."""
        for seconds in 3, 6, 12, 24:  # a slow machine needs a longer one
            certify('short', 'DNS:client.example', seconds)
            client = self.connect('short')
            try:
                if client.acquire('web/' + fresh()).status != 201:
                    continue
            except (ssl.SSLError, ConnectionError):
                continue
            until(lambda: client.acquire('web/' + fresh()).status == 401, 'the end of its certificate')
            return
        self.fail('no certificate was ever valid for long enough')

    def test_authority(self):
        """An authority that HUP takes away ends rights and waits, also of open connections."""
        kept, waiter = self.connect('client'), self.connect('client')
        held = kept.acquire('web/' + fresh())
        self.assertEqual(held.status, 201)
        waiting = waiter.begin_acquire(held.name, wait_ms=50000)
        self.daemon.until_metric(1, 'waiters')
        self.daemon.reload('reloaded: 5 rules')
        self.assertEqual(kept.acquire('web/' + fresh()).status, 201, 'an authority that stays')
        self.assertFalse(waiting.is_answered())
        shutil.copy(certificates() + '/other.crt', self.path('trusted'))
        self.daemon.reload('reloaded: 5 rules')
        self.assertEqual(waiting.answer().status, 403)
        self.assertEqual(kept.acquire('web/' + fresh()).status, 401)
        self.assertIsNone(self.put('client', 'web/'), 'a new connection')


class Revoked(Certificates):
    rules = Certificates.rules[:1]

    def revocations(self):
        """The list of the authority, as it is now, in place of the last."""
        authority('-gencrl', '-crldays', '30', '-out', self.path('new'))
        os.replace(self.path('new'), self.path('crl'))

    def setUp(self):
        self.revocations()
        self.listeners = ('--tls-client-crl', self.path('crl'))
        super().setUp()

    def test_revoked(self):
        """A certificate that is revoked has no rights after HUP, on open and new connections."""
        certify('revoked', 'DNS:client.example')
        client = self.connect('revoked')
        self.assertEqual(client.acquire('web/' + fresh()).status, 201)
        authority('-revoke', certificates() + '/revoked.crt')
        self.revocations()
        self.daemon.reload('reloaded: 1 rules')
        self.assertEqual(client.acquire('web/' + fresh()).status, 401)
        self.assertIsNone(self.put('revoked', 'web/'))
        self.assertEqual(self.put('client', 'web/'), 201, 'another of the same name')


class Optional(Certificates):
    rules = Certificates.rules[:1] + Certificates.rules[3:]
    listeners = ('--listen', 'tls:127.0.0.1:0 cert=optional')

    def test_optional(self):
        """Where a certificate is optional a token will do; elsewhere it makes up for none."""
        strict, optional = self.daemon.tls_ports
        for port, name, token, lock, status in (
                (optional, None, 'ci', 'ci/', 201), (optional, None, None, 'ci/', 401),
                (optional, 'client', None, 'web/', 201), (optional, 'other', None, 'web/', None),
                (strict, None, 'ci', 'ci/', None), (strict, 'client', None, 'web/', 201)):
            self.assertEqual(self.put(name, lock, port=port, token=token), status, (port == optional, name, token))
