# SPDX-License-Identifier: BSD-2-Clause
"""nginx and HAProxy before two replicas, with the settings that docs/production.md shows, word for word
but for addresses, names and paths; and nginx as it is without them, which repeats requests by itself."""
import os
import re
import shutil
import subprocess
import unittest

from client import Client, fresh, tls
from daemon import ENVIRONMENT, ME, TOP, Case, certificates, free_port, read, run, until, with_tls

PATH = ENVIRONMENT['PATH'] + ':/usr/sbin'
NGINX, HAPROXY = [shutil.which(name, path=PATH) for name in ('nginx', 'haproxy')]

# The rest of a configuration that runs as any user, in the foreground, and writes into our folder only.
AROUND_NGINX = '''daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{ worker_connections 256; }}
http {{
    access_log {folder}/nginx.access;
    client_body_temp_path {folder}/nginx-body;
    proxy_temp_path {folder}/nginx-proxy;
    fastcgi_temp_path {folder}/nginx-fastcgi;
    uwsgi_temp_path {folder}/nginx-uwsgi;
    scgi_temp_path {folder}/nginx-scgi;
{block}
}}
'''


class Proxies(Case):
    options = None
    tokens = ('tester',)

    def setUp(self):
        options = [*with_tls(), '--allow', 'token:tester * acquire,read,admin', '--allow', f'{ME} * read,admin']
        self.replicas = [self.start(*options) for _ in range(2)]
        for replica in self.replicas:
            until(replica.is_ready, 'readiness')
        self.name = fresh('by')

    def block(self, word):
        """The configuration that stands in the documents, with our replicas, names and files."""
        text = re.search(f'(?ms)^```{word}\n(.*?)^```$', read(TOP + '/docs/production.md'))[1]
        good, front = certificates() + '/good', self.path('front.pem')
        self.write('front.pem', read(good + '.crt') + read(good + '.key'))
        for old, new in (('10.0.0.7:9443', f'127.0.0.1:{self.replicas[0].tls_ports[0]}'),
                         ('10.0.0.8:9443', f'127.0.0.1:{self.replicas[1].tls_ports[0]}'),
                         ('locks.example.org', 'localhost'), ('/etc/nginx/locks.pem', good + '.crt'),
                         ('/etc/nginx/locks.key', good + '.key'), ('/etc/haproxy/locks.pem', front)):
            text = text.replace(old, new)
        return re.sub('/etc/[a-z]*/redlockd-ca.pem', certificates() + '/ca.crt', text)

    def begin(self, *words):
        """A client of the proxy, once that serves."""
        with open(self.path('proxy.log'), 'a') as log:
            process = subprocess.Popen(words, env={**ENVIRONMENT, 'PATH': PATH}, stdout=log, stderr=log)

        def end():
            process.terminate()
            process.wait()
        self.addCleanup(end)
        client = Client(self.port, token='secret-of-tester', tls=tls(certificates() + '/ca.crt'))

        def serves():
            self.assertIsNone(process.poll(), read(self.path('proxy.log')))
            try:
                return client.get('/readyz').status == 200
            except OSError:
                return False
        until(serves, 'an answer through the proxy')
        return client

    def begin_nginx(self, block):
        self.port = free_port()
        block = block.replace('listen 443 ssl;', f'listen 127.0.0.1:{self.port} ssl;')
        path = self.write('nginx.conf', AROUND_NGINX.format(folder=self.folder, block=block))
        return self.begin(NGINX, '-e', self.path('nginx.log'), '-c', path)

    def begin_haproxy(self, block):
        self.port = free_port()
        block = block.replace('bind :443', f'bind 127.0.0.1:{self.port}')
        return self.begin(HAPROXY, '-db', '-f', self.write('haproxy.conf', block))

    def until_waiters(self, count):
        until(lambda: sum(each.metric('waiters') for each in self.replicas if not each.has_ended()) == count,
              f'{count} waiters')

    def carries(self, client):
        """What every proxy must carry."""
        held = client.acquire(self.name, ttl_ms=30000)
        self.assertEqual(held.status, 201)
        renewed = client.renew(held, ttl_ms=40000)
        self.assertEqual((renewed.status, renewed['ttl_ms']), (200, 40000))
        self.assertEqual(client.acquire(self.name).status, 423)
        # Nothing of the path is rewritten: no dots, no empty segment, and one encoded blank.
        encoded = client.acquire(self.name + '/%41%20b')
        self.assertEqual((encoded.status, encoded['name']), (201, self.name + '/A b'))
        waiter = client.begin_acquire(self.name, wait_ms=50000)
        self.until_waiters(1)
        waiter.close()
        self.until_waiters(0)
        stream = client.request('PUT', f'/v1/locks/{self.name}-stream', {},
                                {'Lease-Id': held.lease + '-stream', 'Accept': 'text/event-stream'})
        self.assertEqual(stream.verdict, (400, 'PROXIED'))
        self.assertEqual((client.release(held).status, client.release(held).status), (204, 410))
        self.refuses_runs()

    def refuses_runs(self):
        """The command holds by a stream: it says what to name instead, and runs nothing."""
        token = self.write(fresh('token'), 'secret-of-tester')
        os.chmod(token, 0o600)
        done = run('redlock', 'run', '--service', f'https://127.0.0.1:{self.port}', '--token-file', token,
                   '--tls-ca', certificates() + '/ca.crt', self.name, '--', 'echo', 'no')
        self.assertEqual((done.returncode, done.stdout), (64, ''), done)
        self.assertRegex(done.stderr, 'a proxy is between .*: name a redlockd itself')
        self.assertFalse(self.replicas[0].client().look(self.name)['held'])

    @unittest.skipUnless(NGINX, 'nginx is not installed')
    def test_nginx(self):
        """nginx with the settings of docs/production.md carries leases, waits and refusals."""
        self.carries(self.begin_nginx(self.block('nginx')))

    @unittest.skipUnless(HAPROXY, 'HAProxy is not installed')
    def test_haproxy(self):
        """HAProxy with the settings of docs/production.md carries leases, waits and refusals."""
        self.carries(self.begin_haproxy(self.block('haproxy')))

    @unittest.skipUnless(NGINX, 'nginx is not installed')
    def test_repeated(self):
        """A PUT that nginx repeats by itself, its replica being killed, is granted to its client."""
        lines = self.block('nginx').splitlines()
        client = self.begin_nginx('\n'.join(line for line in lines if 'proxy_next_upstream' not in line))
        held = client.acquire(self.name, ttl_ms=50000)
        waiting = client.begin_acquire(self.name, wait_ms=40000)
        self.until_waiters(1)
        first, = [each for each in self.replicas if each.metric('waiters')]
        first.kill()
        self.until_waiters(1)
        self.assertEqual(client.release(held).status, 204)
        repeated = waiting.answer()
        self.assertEqual(repeated.status, 201)
        self.assertEqual(client.release(repeated).status, 204)
