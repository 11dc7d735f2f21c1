# SPDX-License-Identifier: BSD-2-Clause
"""client.lead(): elected, deposed, elected again."""
import asyncio
import threading

import redlock_native as redlock
from support import PATIENCE_S, AsyncCase, Case, delete_everywhere, fresh


class Async(AsyncCase):
    async def test_a_leader_that_is_deposed_stands_again(self):
        name, terms = fresh(), []

        async def work(lock):
            terms.append(lock.fence)
            if len(terms) == 1:
                delete_everywhere(name)
                await asyncio.sleep(PATIENCE_S)
            return "resigned"

        with self.assertLogs("redlock_native"):
            self.assertEqual(await self.client.lead(name, work, ttl=6), "resigned")
        self.assertEqual(len(terms), 2)
        self.assertLess(terms[0], terms[1])
        self.assertFalse((await self.client.query(name)).held)

    async def test_one_leads_at_a_time(self):
        name, acting, terms = fresh(), [], []

        async def work(lock):
            self.assertEqual(acting, [])
            acting.append(lock)
            terms.append(lock.fence)
            await asyncio.sleep(0.02)
            acting.remove(lock)

        await asyncio.gather(*(self.client.lead(name, work) for _ in range(8)))
        self.assertEqual((len(terms), terms), (8, sorted(set(terms))))

    async def test_what_the_body_raises_and_a_cancel_end_it(self):
        name = fresh()

        async def fail(_):
            raise ZeroDivisionError

        with self.assertRaises(ZeroDivisionError):
            await self.client.lead(name, fail)
        led = asyncio.Event()

        async def stay(_):
            led.set()
            await asyncio.sleep(PATIENCE_S)

        leading = asyncio.create_task(self.client.lead(name, stay))
        await led.wait()
        leading.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await leading
        await self.client.lead(name, lambda lock: asyncio.sleep(0))
        with self.assertRaises(redlock.LockTimeout):
            async with self.client.lock(name):
                await self.client.lead(name, stay, wait=0.1)  # short: its failure is wanted


class Sync(Case):
    def test_a_leader_that_is_deposed_stands_again(self):
        name, terms = fresh(), []

        def work(lock):
            terms.append(lock.fence)
            if len(terms) == 1:
                delete_everywhere(name)
                self.assertTrue(lock.lost.wait(PATIENCE_S))
            return "resigned"

        with redlock.Client() as client, self.assertLogs("redlock_native"):
            self.assertEqual(client.lead(name, work, ttl=6), "resigned")
            self.assertFalse(client.query(name).held)
        self.assertEqual(len(terms), 2)
        self.assertLess(terms[0], terms[1])

    def test_a_closed_client_ends_it(self):
        name, led = fresh(), threading.Event()

        def work(lock):
            led.set()
            lock.lost.wait(PATIENCE_S)

        client, ended = redlock.Client(), []

        def lead():
            with self.assertRaises(redlock.LockLost):
                client.lead(name, work)
            ended.append(True)

        with self.assertLogs("redlock_native"):
            thread = threading.Thread(target=lead)
            thread.start()
            self.assertTrue(led.wait(PATIENCE_S))
            client.close()
            thread.join(PATIENCE_S)
        self.assertEqual(ended, [True])
