# SPDX-License-Identifier: BSD-2-Clause
"""Locks on one Sentinel group: redlock dev --sentinel -- run.py test_sentinel"""
import asyncio
import os
import unittest

import redlock_native as redlock
from support import dev, fresh, until

GROUP = os.environ["REDLOCK_NODES"]


class Group(unittest.TestCase):
    def test_a_lock_by_the_url_of_the_group(self):
        name = fresh()
        with redlock.Client([GROUP], node_timeout=2) as client, client.lock(name, ttl=15) as lock:
            self.assertGreater(lock.remaining, 0)
            with self.assertRaises(redlock.LockBusy):
                client.acquire(name, wait=0)
            (node,) = client.nodes()
        self.assertEqual((node.deployment, node.state), ("sentinel", "up"))
        self.assertRegex(node.server, r"^127\.0\.0\.1:\d+$")
        self.assertGreaterEqual(node.term, 0)

    def test_asyncio_with_the_configuration_of_the_machine(self):
        async def main():
            async with redlock.AsyncClient() as client:
                async with client.lock(fresh()):
                    return [node.deployment for node in client.nodes()]

        self.assertEqual(asyncio.run(main()), ["sentinel"])

    def test_a_url_that_names_one_sentinel_only(self):
        with self.assertRaisesRegex(redlock.InvalidRequest, "all its sentinels, three or more"):
            redlock.Client(["sentinel://127.0.0.1/group"])

    def test_a_record_of_once_is_on_a_replica(self):
        # Replicas that hang are waited for, and the function starts within a second of that.
        with redlock.Client([GROUP], node_timeout=0.4) as client:
            job = client.once(fresh(), every=60)(lambda: "ran")
            with self.assertNoLogs("redlock_native", "WARNING"):
                self.assertEqual(job(), "ran")
            for k in "23":
                dev("hang", k)
            try:
                job = client.once(fresh(), every=60)(lambda: "ran")
                with self.assertLogs("redlock_native", "WARNING") as logs:
                    self.assertEqual(job(), "ran")
            finally:
                for k in "23":
                    dev("resume", k)
        self.assertIn("no replica has the record", logs.output[-1])

    def test_z_held_through_a_failover(self):
        with redlock.Client([GROUP], node_timeout=2) as client, client.lock(fresh(), ttl=30) as lock:
            before = client.nodes()[0]
            dev("failover")
            until(lambda: client.nodes()[0].quarantined, "no vote for new locks")
            self.assertNotEqual(client.nodes()[0].server, before.server)
            lock.extend()  # the key that is found at the new master
            self.assertGreater(lock.remaining, 25)
