# SPDX-License-Identifier: BSD-2-Clause
"""Two replicas that share nothing but the servers: answers that are lost, and renewals through the
other one."""
import socket
import time

from daemon import ME, Pair, until


class Replicas(Pair):
    tokens = ('tester',)
    options = ('--allow', 'token:tester * acquire,read,admin', '--allow', f'{ME} * acquire,read,admin')

    def test_renewed(self):
        """A lease that was renewed through the other replica outlives its first deadline on both."""
        held = self.first.acquire(self.name, ttl_ms=10000)
        self.until_on(3)  # a renewal puts the key on no node
        renewed, began = self.second.renew(held, ttl_ms=60000), time.monotonic()
        self.assertEqual((renewed.status, renewed['fence'], renewed['grant']), (200, held['fence'], held['grant']))
        until(lambda: time.monotonic() - began > 10.5, 'its first deadline')
        self.assertEqual(self.nodes.on(self.name), 3, 'where it was granted nothing is deleted')
        self.assertEqual(self.first.acquire(self.name).status, 423)
        again = self.first.renew(held)
        self.assertEqual((again.status, again['fence']), (200, held['fence']))

    def test_lost_answer(self):
        """After a lost answer an id is "YOURS" on each replica until one DELETE, then spent."""
        pending = self.first.begin_acquire(self.name, ttl_ms=60000)
        # A byte of the answer is on its way: from here on only the client can end the lease.
        self.assertTrue(pending.connection.sock.recv(1, socket.MSG_PEEK))
        pending.close()
        self.assertEqual(self.second.acquire(self.name, pending.lease, ttl_ms=60000).verdict, (409, 'YOURS'))
        self.assertEqual(self.second.release(pending).status, 204)
        self.assertEqual(self.second.acquire(self.name, ttl_ms=60000).status, 201, 'a new id')
        self.assertEqual(self.first.acquire(self.name, pending.lease).status, 409, 'where it was granted')
