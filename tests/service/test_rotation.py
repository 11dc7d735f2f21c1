# SPDX-License-Identifier: BSD-2-Clause
"""The password of the nodes changes while the daemon holds leases: it logs in again on HUP, and after
every connection has been ended; no lease is lost."""
import os
import re

from daemon import ME, Case, until


class Rotation(Case):
    own_servers = True
    options = None

    def set_password(self, word):
        path = self.write('password', word + '\n')
        os.chmod(path, 0o600)
        return path

    def all_say_ok(self, *words):
        return set(self.nodes.ask_all(*words)) == {'+OK'}

    def logins(self):
        calls = re.search('cmdstat_auth:calls=([0-9]+)', self.nodes.ask(1, 'INFO', 'commandstats'))
        return int(calls[1]) if calls else 0

    def test_rotation(self):
        """A new password is used on HUP and after CLIENT KILL, and no lease is lost by it."""
        if not self.all_say_ok('ACL', 'SETUSER', 'friend', 'reset', 'on', '>old', '~redlock*', '&redlock*', '+@all'):
            self.skipTest('a server has no rights for channels (before 6.2)')
        self.write('nodes', f'nodes = {self.nodes.names}\nuser = friend\nnode-timeout = 3s\n'
                            f'password-file = {self.set_password("old")}\n')
        conf = self.write('conf', f'quorum-config = {self.path("nodes")}\nallow = {ME} * acquire,read,admin\n')
        daemon = self.start_ready('--config', conf, nodes=None)
        held = daemon.client().acquire('x', ttl_ms=60000)
        self.assertEqual(held.status, 201)

        self.assertTrue(self.all_say_ok('ACL', 'SETUSER', 'friend', '>new'))
        self.set_password('new')
        before = self.logins()
        daemon.reload()
        until(lambda: self.logins() > before, 'a login on the connections that are up')

        self.assertTrue(self.all_say_ok('ACL', 'SETUSER', 'friend', '<old'))
        self.nodes.ask_all('CLIENT', 'KILL', 'USER', 'friend')
        until(daemon.is_ready, 'readiness')
        self.assertEqual(daemon.client().acquire('y', ttl_ms=60000, wait_ms=30000).status, 201)
        self.assertEqual(daemon.client().release(held).status, 204)
        self.assertNotRegex(daemon.log(), r'\b(old|new)\b')
