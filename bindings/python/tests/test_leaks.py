# SPDX-License-Identifier: BSD-2-Clause
"""Many cycles leave no handle, no descriptor, no memory behind. REDLOCK_CYCLES says how many."""
import asyncio
import gc
import logging
import os
import sys
import threading

import redlock_native as redlock
from support import Case, fresh, operations

CYCLES = int(os.environ.get("REDLOCK_CYCLES", "2000"))
TASKS = 32
GROWTH_BYTES = 2 << 20  # of the process, beyond what it had after a part of the cycles
GROWTH_BLOCKS = 500  # of Python's allocator; the caches of the interpreter breathe


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


class Footprint:
    """What the process has; taken after some cycles, and compared with what it has in the end."""

    def __init__(self):
        gc.collect()
        self.operations = operations()
        self.descriptors = descriptors()
        self.blocks = sys.getallocatedblocks()
        self.bytes = resident_bytes()

    def check(self, test):
        now = Footprint()
        test.assertEqual(now.operations, self.operations)
        test.assertEqual(now.descriptors, self.descriptors)
        test.assertLess(now.blocks - self.blocks, GROWTH_BLOCKS)
        # Freed memory stays in the quarantine of AddressSanitizer, which has its own judgement.
        if "libasan" not in os.environ.get("LD_PRELOAD", ""):
            test.assertLess(now.bytes - self.bytes, GROWTH_BYTES)


async def async_cycle(client, name, number):
    """One in four is refused, canceled, dropped or given back as usual."""
    if number % 4 == 0:
        task = asyncio.create_task(client.lock(name, ttl=20).acquire())
        for _ in range(number % 16):
            await asyncio.sleep(0)
        task.cancel()
        try:
            lock = await task
        except asyncio.CancelledError:
            return
        await lock.release()
        return
    try:
        async with client.lock(name, ttl=20, wait=10, label="leaks", fenced=number % 2 == 0):
            if number % 4 == 1:
                try:
                    await client.acquire(name)
                except redlock.LockBusy as busy:
                    str(busy.report)
            elif number % 4 == 2:
                await client.query(name)
    except redlock.NoQuorum:
        pass  # a busy machine


class Leaks(Case):
    def test_asyncio(self):
        async def cycles(client, count):
            async def caller(index):
                name = fresh(f"leaks-{index}")
                for number in range(count // TASKS):
                    await async_cycle(client, name, number)

            await asyncio.gather(*(caller(i) for i in range(TASKS)))

        async def main():
            async with redlock.AsyncClient() as client:
                await cycles(client, CYCLES // 4 + TASKS * 16)
                before = Footprint()
                await cycles(client, CYCLES)
                await client.ping()  # what was canceled has been answered
                before.check(self)
                stats = client.stats()
                self.assertEqual((stats["held"], stats["waiting"]), (0, 0))

        asyncio.run(main())

    def test_threads(self):
        def cycles(client, count):
            def caller():
                name = fresh("leaks")
                for _ in range(count // 4):
                    with client.lock(name, ttl=20):
                        try:
                            client.acquire(name)
                        except redlock.LockBusy:
                            pass

            threads = [threading.Thread(target=caller) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        with redlock.Client() as client:
            cycles(client, CYCLES // 8 + 40)
            before = Footprint()
            cycles(client, CYCLES // 4)
            before.check(self)

    def test_clients(self):
        async def one():
            async with redlock.AsyncClient() as client:
                kept = await client.lock(fresh()).acquire()
            self.assertFalse(kept.held)  # close() has given it back

        def cycles(count):
            for _ in range(count):
                with self.assertNoLogs("redlock_native", "ERROR"):
                    asyncio.run(one())
                with redlock.Client() as client, client.lock(fresh()):
                    pass

        logging.getLogger("redlock_native").addHandler(logging.NullHandler())
        cycles(5)
        before = Footprint()
        cycles(max(10, CYCLES // 500))
        before.check(self)
