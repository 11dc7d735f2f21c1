# SPDX-License-Identifier: BSD-2-Clause
"""What a client may do: rules, tokens, and what a principal without a right gets."""
import os
import re
import stat
import unittest

from client import Client, fresh, new_lease
from daemon import ME, REDLOCKD, Case, read, run, until


def mode(path):
    return oct(stat.S_IMODE(os.stat(path).st_mode))


def allow(*rules):
    return [word for rule in rules for word in ('--allow', rule)]


class Settings(Case):
    servers = None
    options = None
    tokens = ('ci',)

    def test_rules(self):
        """A rule that is wrong is refused, with what there is."""
        for rule, complaint in (('uid:1 acquire', 'expected PRINCIPAL NAME RIGHTS'),
                                ('uid:1 a acquire read', 'caps are leases=N'),
                                ('uid:1 a acquire,reed', 'rights are acquire'),
                                ('root a acquire', 'uid:NUMBER, gid:NUMBER, cert:NAME or token:NAME'),
                                ('uid:1 a/ admin', 'admin is for all names')):
            self.refuses(complaint, '--allow', rule)

    def test_tokens(self):
        """A file of tokens is refused if it is not there, or has a token in the clear."""
        self.refuses('cannot be read', '--tokens', self.path('missing'))
        clear = self.write('clear', 'ci secret-in-the-clear\n')
        done = self.refuses('clear:1: expected NAME and the SHA-256', '--tokens', clear)
        self.assertNotIn('secret-in-the-clear', done.stderr)
        good = run(REDLOCKD, '--check', '--listen', 'unix:/unused', '--tokens', self.path('tokens'),
                   *allow('token:ci * acquire'), REDLOCK_NODES='127.0.0.1:1')
        self.assertEqual(good.returncode, 0, good)

    def test_listeners(self):
        """Words behind a listener are refused where they make no sense."""
        socket = 'unix:' + self.path('socket')
        for listener, complaint in ((socket + ' mode=0888', 'mode=0660, group=NAME and peer=proxy'),
                                    ('127.0.0.1:0 cert=optional', 'tls:ADDRESS:PORT cert=optional'),
                                    ('127.0.0.1:0 peer=proxy', 'behind other addresses nothing')):
            self.refuses(complaint, '--listen', listener)
        done = run(REDLOCKD, '--listen', socket + ' group=no-such-group', REDLOCK_NODES='127.0.0.1:1')
        self.assertEqual(done.returncode, 69)
        self.assertIn('group=no-such-group: there is no such group', done.stderr)


class Rights(Case):
    tokens = ('ci', 'viewer', 'blind', 'stranger')
    audit = True
    options = allow(f'{ME} own/ acquire,read,break', f'{ME} * read', 'token:ci ci/secret read',
                    'token:ci ci/ acquire', 'token:ci one acquire', 'token:viewer * read,admin',
                    'token:blind * acquire')

    def setUp(self):
        self.me = self.daemon.client()
        self.ci, self.viewer, self.blind, self.stranger = map(self.daemon.client, self.tokens)

    def test_prefixes(self):
        """A rule is for a prefix or one name, and the first that fits decides."""
        for client, name, status in (
                (self.me, 'own/' + fresh(), 201), (self.me, 'other', 403), (self.me, 'own', 403),
                (self.ci, 'ci/' + fresh(), 201), (self.ci, 'one', 201), (self.ci, 'one/more', 403),
                (self.ci, 'ci/secret', 403), (self.viewer, 'own/b', 403)):
            self.assertEqual(client.acquire(name).status, status, name)

    def test_reading(self):
        """A principal reads, lists, breaks and administers by rights of their own."""
        mine, theirs = 'own/' + fresh(), 'ci/' + fresh()
        self.me.acquire(mine)
        self.ci.acquire(theirs, label='robot 7')
        self.assertEqual(self.me.look('other').status, 200)
        self.assertEqual(self.me.get('/metrics').status, 403)
        self.assertEqual(self.ci.look(theirs).status, 403)
        self.assertEqual(self.ci.evict(theirs, '0' * 40).status, 403)
        refused = self.ci.acquire(theirs)
        self.assertEqual(refused.status, 423)
        self.assertNotIn('robot', refused.text)
        self.assertEqual(self.ci.get('/v1/locks')['names'], [])
        self.assertLessEqual({mine, theirs}, set(self.viewer.get('/v1/locks')['names']))
        self.assertEqual(self.viewer.get('/metrics').status, 200)
        status = self.viewer.get('/v1/status')
        self.assertEqual((status['admin'], status['principal']), (True, 'token:viewer'))
        self.assertTrue(status['nodes'])
        status = self.ci.get('/v1/status')
        self.assertEqual((status['admin'], status['nodes']), (False, None))

    def test_no_right(self):
        """A token that reads nothing is refused, in the audit log too, and is soon slowed."""
        for path in '/v1/status', '/v1/locks', '/v1/events':
            for client in self.blind, self.stranger:
                self.assertEqual(client.get(path).status, 403, path)
            denied = f'"denied".*"token:stranger".*"FORBIDDEN".*"{path}"'
            until(lambda: re.search(denied, read(self.daemon.audit_path)), denied)
        until(lambda: self.stranger.request('DELETE', '/v1/locks/x', None, {'Lease-Id': new_lease()}).status == 429,
              'too many denials')
        self.assertEqual(self.viewer.get('/v1/locks').status, 200, 'others may')
        self.assertIn('quorums', self.ci.get('/readyz?verbose').json)
        self.assertEqual(self.blind.get('/readyz?verbose').json, {'status': 'ready'})

    def test_unknown(self):
        """A token that is wrong, doubled or missing gives no right; health needs none."""
        for headers, status in (({'Authorization': 'Bearer secret-of-nobody'}, 401),
                                ({'Authorization': 'Bearer secret-of-c'}, 401), ({}, 401),
                                ({'Authorization': 'bearer secret-of-viewer'}, 200)):
            answer = Client(self.daemon.port).get('/v1/locks', **headers)
            self.assertEqual(answer.status, status, headers)
        unknown = Client(self.daemon.port, token='secret-of-nobody').acquire('ci/x')
        self.assertEqual(unknown['detail'], 'this token is not known here, or its day is over')
        self.assertEqual(Client(self.daemon.port).get('/v1/locks')['detail'],
                         'send a bearer token, or use the unix socket')
        self.assertEqual(Client(self.daemon.socket, token='x').get('/v1/locks').status, 401,
                         'the uid does not make up for it')
        with Client(self.daemon.port).open() as raw:
            raw.sendall(b'GET /v1/locks HTTP/1.1\r\nHost: localhost\r\n' +
                        b'Authorization: Bearer secret-of-ci\r\n' * 2 + b'\r\n')
            self.assertIn(b' 401 ', raw.recv(4096).split(b'\r\n')[0], 'two are none')
        self.assertEqual(Client(self.daemon.port).get('/livez').status, 200)

    def test_holder(self):
        """A reader who is refused gets label and fingerprint of the holder, and may break by it."""
        name = 'own/' + fresh()
        self.me.acquire(name, label='mine')
        holder = self.me.acquire(name)['holder']
        self.assertEqual(holder['label'], 'mine')
        self.assertEqual(self.me.look(name)['holders'][0]['fingerprint'], holder['fingerprint'])
        unnamed = 'own/' + fresh()
        self.me.acquire(unnamed)
        self.assertEqual(self.me.acquire(unnamed)['holder']['label'], ME, 'the principal proves more')
        for held, other in ((dict(kind='shared', label='reader'), {}),
                            (dict(kind='semaphore', slots=1, label='slot'), dict(kind='semaphore', slots=1)),
                            (dict(kind='reentrant', owner='me'), dict(kind='reentrant', owner='you'))):
            name = 'own/' + fresh()
            self.assertEqual(self.me.acquire(name, **held).status, 201, held)
            refused = self.me.acquire(name, **other)
            self.assertEqual(refused.status, 423, held)
            self.assertEqual(self.me.evict(name, refused['holder']['fingerprint']).status, 200, held)


class Nodes(Case):
    own_servers = True
    tokens = ('viewer', 'blind')
    options = allow(f'{ME} own/ acquire,read', 'token:viewer * read,admin', 'token:blind * acquire')

    def test_nodes(self):
        """Where too few nodes answer, readers get the answers of each, others the code alone."""
        streams = [client.hold(name, ttl_ms=9000) for client, name in
                   ((self.daemon.client(), 'own/stream'), (self.daemon.client('blind'), 'stream'))]
        for stream in streams:
            self.addCleanup(stream.close)
            stream.find('granted')
        self.nodes.dev('hang', 1, 2)
        few = self.daemon.client().acquire('own/few')
        self.assertEqual(few.status, 503)
        self.assertIn('address', few['nodes'][0])
        few = self.daemon.client('blind').acquire('few')
        self.assertEqual(few.verdict, (503, 'NOQUORUM'))
        self.assertNotRegex(few.text, 'nodes"|127.0.0.1|redis')
        seen, unseen = [stream.find('jeopardy')['detail'] for stream in streams]
        self.assertIn('127.0.0.1', seen)
        self.assertNotIn('127.0.0.1', unseen)
        self.assertEqual(self.daemon.client('viewer').look('few').status, 503)


class Sockets(Case):
    options = None
    tokens = ('ci',)

    def ready(self, *options):
        daemon = self.start_ready(*options)
        return daemon

    def test_default(self):
        """Without rules this user may do everything on its socket, and TCP has no rights."""
        daemon = self.ready('--tokens', '/dev/null')
        self.assertEqual(daemon.client().acquire(fresh()).status, 201)
        self.assertEqual(daemon.client('ci').acquire(fresh()).status, 401)
        self.assertEqual(Client(daemon.port).get('/v1/locks').status, 401)

    def test_group(self):
        """A group with a rule acquires, and has no other rule."""
        client = self.ready(*allow(f'gid:{os.getgid()} group/ acquire', 'gid:4294967294 * acquire,read')).client()
        self.assertEqual(client.acquire('group/' + fresh()).status, 201)
        self.assertEqual(client.acquire('other').status, 403)

    @unittest.skipUnless(os.getuid() == 0, 'other users are for root')
    def test_members(self):
        """A supplementary group counts, before a later rule of the user, and opens its socket."""
        os.chmod(self.folder, 0o711)
        os.chmod(os.path.dirname(self.folder), 0o711)
        shared, everyone = self.path('shared'), self.path('everyone')
        self.ready(*allow('gid:54321 group/ acquire', 'uid:65534 * read'), '--listen',
                   f'unix:{shared} group=54321', '--listen', f'unix:{everyone} mode=0666')
        self.assertEqual((mode(shared), os.stat(shared).st_gid), ('0o660', 54321))
        name = 'group/' + fresh()

        def status(groups, socket, *words):
            done = run('setpriv', '--reuid', '65534', '--regid', '65534', groups, 'curl', '-s', '-m', '60',
                       '-o', '/dev/null', '-w', '%{http_code}', '--unix-socket', socket,
                       '-H', 'Lease-Id: ' + new_lease(), *words, 'http://h/v1/locks/' + name)
            return int(done.stdout)
        members = '--groups=54321'
        self.assertEqual(status(members, shared, '-X', 'PUT', '--json', '{}'), 201)
        self.assertEqual(status(members, everyone), 403)
        self.assertEqual(status('--clear-groups', everyone), 200, 'its own rule')
        self.assertEqual(status('--clear-groups', shared), 0, 'it cannot connect')

    def test_hosts(self):
        """Requests for this machine and for names that are allowed are served, others are not."""
        daemon = self.ready(*allow('token:ci * acquire,read'), '--host', 'locks.example')
        for host, status in ((f'127.0.0.1:{daemon.port}', 200), ('localhost', 200), ('[::1]:80', 200),
                             ('LOCKS.example:8080', 200), ('rebound.example', 400),
                             ('localhost.rebound.example', 400), ('192.0.2.1', 400),
                             ('[::1].rebound.example', 400), ('[::1].80', 400), ('localhost:80.rebound.example', 400)):
            answer = daemon.client('ci').get('/v1/locks', Host=host)
            self.assertEqual((answer.status, answer.code), (status, 'HOST' if status == 400 else None), host)
        self.assertEqual(daemon.client().get('/livez', Host='rebound.example').status, 200, 'it has no host')

    def test_proxy(self):
        """On a socket for a proxy the uid proves nothing, and a token does."""
        proxied = self.path('proxy')
        daemon = self.ready(*allow(f'{ME} * acquire,read', 'token:ci * acquire,read'),
                            '--listen', f'unix:{proxied} mode=0660 peer=proxy')
        self.assertEqual((mode(proxied), mode(daemon.socket)), ('0o660', '0o600'))
        self.assertEqual(Client(proxied).get('/v1/locks').status, 401)
        self.assertEqual(Client(proxied, token='secret-of-ci').get('/v1/locks').status, 200)

    def test_names(self):
        """Names are ASCII, unless they are set to utf8: well-formed, and compared by bytes."""
        self.assertEqual(self.ready().client().acquire('caf%C3%A9').status, 400)
        client = self.ready('--names', 'utf8').client()
        self.assertEqual(client.acquire('caf%C3%A9').status, 201)
        self.assertEqual(client.look('caf%C3%A9')['name'], 'café')
        self.assertEqual(client.acquire('caf%C3').status, 400)
        self.assertEqual(client.acquire('cafe%CC%81').status, 201)
