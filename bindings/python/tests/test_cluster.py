# SPDX-License-Identifier: BSD-2-Clause
"""Locks on one cluster: redlock dev --cluster -- run.py test_cluster"""
import asyncio
import os
import unittest

import redlock_native as redlock
from support import dev, fresh, until

CLUSTER = os.environ["REDLOCK_NODES"]


class Cluster(unittest.TestCase):
    def test_a_lock_by_the_url_of_the_cluster(self):
        name = fresh()
        with redlock.Client([CLUSTER], node_timeout=3) as client, client.lock(name, ttl=15) as lock:
            self.assertGreater(lock.remaining, 0)
            with self.assertRaises(redlock.LockBusy):
                client.acquire(name, wait=0)
            nodes = client.nodes()
        self.assertEqual([node.deployment for node in nodes], ["cluster"] * 3)
        self.assertEqual(len({node.server for node in nodes}), 3)

    def test_asyncio_with_the_configuration_of_the_machine(self):
        async def main():
            async with redlock.AsyncClient() as client:
                async with client.lock(fresh()):
                    return [node.deployment for node in client.nodes()]

        self.assertEqual(asyncio.run(main()), ["cluster"] * 3)

    def test_a_url_that_names_two_nodes_only(self):
        with self.assertRaisesRegex(redlock.InvalidRequest, "three of its nodes, or more"):
            redlock.Client(["cluster://127.0.0.1:1+127.0.0.1:2"])

    def test_z_held_through_a_failover(self):
        with redlock.Client([CLUSTER], node_timeout=3) as client, client.lock(fresh(), ttl=30) as lock:
            before = client.nodes()[0].server
            dev("failover", "v1")
            until(lambda: client.nodes()[0].server != before, "the vote has another master")
            lock.extend()
            self.assertGreater(lock.remaining, 25)
            with client.lock(fresh(), wait=20):  # the two others are enough
                pass
