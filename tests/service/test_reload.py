# SPDX-License-Identifier: BSD-2-Clause
"""HUP: rules and tokens are read again, all or nothing; what was begun by rights that are gone ends;
what must not change while the daemon runs does not."""
import os

from client import fresh
from daemon import ME, Case, digest, until

OWNER, CI, OLD = f'{ME} * acquire,read,admin', 'token:ci ci/ acquire', 'token:old ci/ acquire'
FAILED = 'not reloaded, nothing has changed: '


def token(name, secret=None, day=''):
    return f'{name} {digest("secret-of-" + (secret or name))} {day}'.rstrip()


class Configured(Case):
    options = None

    @classmethod
    def configure(cls, *rules, tokens=(token('ci'), token('old')), nodes=(), more=()):
        cls.write('nodes', '\n'.join([f'nodes = {cls.nodes.names}', 'node-timeout = 3s', *nodes]) + '\n')
        cls.write('tokens', ''.join(line + '\n' for line in tokens))
        cls.write('conf', '\n'.join([f'quorum-config = {cls.path("nodes")}', f'tokens = {cls.path("tokens")}',
                                     *('allow = ' + rule for rule in rules), *more]) + '\n')

    def setUp(self):
        self.configure(OWNER, CI, OLD)
        self.daemon = self.start_ready('--config', self.path('conf'), nodes=None)
        self.name = 'ci/' + fresh()

    def put(self, secret=None, name=None, **terms):
        """The status of a PUT by this token, or by our own user."""
        return self.daemon.client(secret).acquire(name or 'ci/' + fresh(), **terms).status


class Reload(Configured):
    def begin_wait(self, secret, name):
        waiters = self.daemon.metric('waiters')
        begun = self.daemon.client(secret).begin_acquire(name, wait_ms=50000)
        self.daemon.until_metric(waiters + 1, 'waiters')
        return begun

    def test_broken(self):
        """A broken file changes nothing, the log has its line, and no secret out of it."""
        def fails(complaint):
            said = self.daemon.reload(FAILED + complaint)
            self.assertEqual((self.put('ci'), self.put(name=fresh('own'))), (201, 201), 'as it was')
            return said
        conf, tokens = self.path('conf'), self.path('tokens')
        self.configure(OWNER, 'token:ci ci/ aquire')
        fails(f'{conf}:4: allow: rights are acquire')
        self.configure(OWNER, CI, more=['conections = 7'])
        fails(f"{conf}:5: unknown key 'conections'")
        self.configure(f'{ME} * read,admin', tokens=[token('ci'), token('old'), 'ci secret-by-mistake'])
        self.assertNotIn('mistake', fails(f'{conf}:2: {tokens}:3: expected NAME and the SHA-256'))
        self.configure(OWNER, CI, tokens=[])
        fails(f'{conf}:2: tokens: {tokens}: there is no token in it: to have none')
        self.configure(OWNER, CI)
        os.chmod(conf, 0o666)
        fails(f'{conf}: others can write to it')
        os.remove(conf)
        fails(f'{conf}: cannot be read')

    def test_waits(self):
        """Waits end with their rule or their token; others go on."""
        other = 'ci/' + fresh()
        for name, secret in (self.name, 'ci'), (other, 'old'):
            self.assertEqual(self.put(secret, name, ttl_ms=60000), 201)
        kept, ruled, revoked = (self.begin_wait(None, self.name), self.begin_wait('ci', self.name),
                                self.begin_wait('old', other))
        # One loses its rule, one its token; the digest of a name that stays counts.
        self.configure(OWNER, 'token:ci other/ acquire', OLD, tokens=[token('ci'), token('old', 'old-anew')])
        self.daemon.reload('reloaded: 3 rules, 2 tokens')
        self.assertEqual(ruled.answer().verdict, (403, 'FORBIDDEN'))
        self.assertEqual(revoked.answer().status, 403)
        self.daemon.until_metric(1, 'waiters')
        for secret, name, status in (('old', None, 401), ('old-anew', None, 201),
                                     ('ci', 'other/' + fresh(), 201), ('ci', None, 403)):
            self.assertEqual(self.put(secret, name), status, (secret, name))
        kept.close()
        self.daemon.until_metric(0, 'waiters')

    def test_caps(self):
        """What is held and what waits count for the rules that are new."""
        def renewed():
            self.configure(f'{ME} * acquire,read,break,admin', 'token:ci ci/ acquire leases=1 waiters=1')
            self.daemon.reload('reloaded: 2 rules')
        renewed()
        self.assertEqual(self.put(name=self.name, ttl_ms=60000), 201)
        waiting = self.begin_wait('ci', self.name)
        held = self.daemon.client('ci').acquire('ci/' + fresh(), ttl_ms=60000)
        renewed()
        self.assertEqual(self.put('ci'), 429, 'a lease is held')
        self.assertEqual(self.daemon.client('ci').release(held).status, 204)
        self.assertEqual(self.put('ci', self.name, wait_ms=1000), 429, 'a request waits')
        waiting.close()
        self.daemon.until_metric(0, 'waiters')
        self.assertEqual(self.put('ci', self.name, wait_ms=1000), 423, 'none waits')
        held = self.daemon.client('ci').acquire('ci/' + fresh(), ttl_ms=60000)
        self.assertEqual(held.status, 201, 'none is held')
        self.assertEqual(self.daemon.client().evict(held.name).status, 200)
        renewed()
        self.assertEqual(self.put('ci'), 201, 'none is held any more')

    def test_feed(self):
        """A feed ends with its token, although the rule of its name stays."""
        for secret in 'ci', 'ci-anew':
            self.configure(OWNER, 'token:ci ci/ read', tokens=[token('ci', secret)])
            self.daemon.reload('reloaded: 2 rules, 1 token')
            if secret == 'ci':
                feed = self.daemon.client('ci').feed()
        while feed.next()[0]:
            pass
        feed.close()

    def test_days(self):
        """A token that has ended is wrong, and another of its name is right."""
        self.configure(OWNER, CI, tokens=[token('ci', day='2021-01-01'), token('ci', 'ci-next', '2099-12-31')])
        self.daemon.reload('reloaded: 2 rules, 2 tokens')
        self.assertEqual((self.put('ci'), self.put('ci-next')), (401, 201))

    def test_fixed(self):
        """Nodes, prefix, the longest TTL and names do not change, and the log says so."""
        self.assertEqual(self.put(name=self.name), 201)
        self.configure(OWNER, CI, nodes=['prefix = moved:', 'max-ttl = 5m'], more=['names = utf8'])
        with open(self.path('nodes')) as file:
            others = file.read().replace(self.nodes.names, '127.0.0.1:1,127.0.0.1:2,127.0.0.1:3')
        self.write('nodes', others)
        self.daemon.reload('reloaded: 2 rules')
        for key in 'nodes', 'prefix', 'max-ttl', 'names':
            self.daemon.until_logged(f'(?m)^redlockd: {key} has changed: it is read at the start only')
        self.assertEqual(self.put(name=self.name), 423, 'locks live where they did')

    def test_other_nodes(self):
        """A replica with other nodes than their markers name is not ready, and grants nothing."""
        self.write('nodes', 'nodes = ' + self.nodes.names.split(',')[0] + '\n')
        daemon = self.start('--config', self.path('conf'), nodes=None)
        until(lambda: daemon.client().get('/readyz').code == 'GUARDED', 'GUARDED')
        self.assertEqual(daemon.client().acquire('free').verdict, (503, 'GUARDED'))


class LongestTtl(Configured):
    own_servers = True

    def test_longest(self):
        """A TTL that is left open is the longest of the nodes, and a longer one is refused."""
        done = self.nodes.redlock('init', '--yes', '-q', '--force', '--max-ttl', '20s')
        self.assertEqual(done.returncode, 0, done)
        daemon = self.start_ready('--config', self.path('conf'), nodes=None, REDLOCK_MAX_TTL='20s')
        held = daemon.client().acquire(self.name)
        self.assertEqual((held.status, held['ttl_ms']), (201, 20000))
        self.assertEqual(daemon.client().acquire(fresh(), ttl_ms=20001).status, 422)
