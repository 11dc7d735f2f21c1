# SPDX-License-Identifier: BSD-2-Clause
"""client.once(): of all processes that call a function, one runs it."""
import asyncio
import subprocess
import threading
import time
from unittest import mock

import redlock_native as redlock
from redlock_native._once import SyncOnce
from support import (PATIENCE_S, REDLOCK, AsyncCase, Case, ask, async_until, delete_everywhere,
                     fresh, nodes_with, start, until)


class Async(AsyncCase):
    async def test_one_of_many_runs_it(self):
        name, ran = fresh(), []

        @self.client.once(name)
        async def job(word, *, more):
            """A job."""
            ran.append(word + more)
            await asyncio.sleep(0.2)
            return word

        self.assertEqual((job.__name__, job.__doc__), ("job", "A job."))
        ends = await asyncio.gather(*(job("a", more="b") for _ in range(5)))
        self.assertEqual(ran, ["ab"])
        self.assertEqual(sorted(map(str, ends)), sorted(["a"] + [str(redlock.SKIPPED)] * 4))
        self.assertFalse(redlock.SKIPPED)
        self.assertEqual(await job("again", more=""), "again")

    async def test_every_outlives_the_run(self):
        name = fresh()

        @self.client.once(name, every=120)  # longer than max_ttl
        async def job():
            return 1

        self.assertEqual(await job(), 1)
        self.assertIs(await job(), redlock.SKIPPED)
        self.assertGreater((await self.client.query(name + ".every")).holder.remaining, 100)
        self.assertEqual(nodes_with(name), 0)
        # The command keeps the same record.
        done = subprocess.run([REDLOCK, "run", "-n", "--every", "2m", name, "--", "true"],
                              capture_output=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 75)
        with self.assertRaises(redlock.InvalidRequest):
            self.client.once(name, every=0)

    async def test_min_hold_keeps_it(self):
        name = fresh()

        @self.client.once(name, min_hold=0.5)
        async def job():
            return 1

        began = time.monotonic()
        first = asyncio.create_task(job())
        await asyncio.sleep(0.2)
        self.assertIs(await job(), redlock.SKIPPED)
        self.assertEqual(await first, 1)
        self.assertGreaterEqual(time.monotonic() - began, 0.5)

    async def test_exceptions_of_the_job_come_through(self):
        name = fresh()

        @self.client.once(name)
        async def fail():
            raise ZeroDivisionError

        with self.assertRaises(ZeroDivisionError):
            await fail()

    async def test_a_loss_while_it_runs_is_raised(self):
        name = fresh()

        @self.client.once(name, ttl=6)
        async def lose():
            delete_everywhere(name)
            await asyncio.sleep(PATIENCE_S)

        with self.assertLogs("redlock_native"), self.assertRaises(redlock.LockLost):
            await lose()
        for min_hold, every in (0, None), (PATIENCE_S, None), (0, 60), (PATIENCE_S, 60):
            with self.subTest(min_hold=min_hold, every=every):
                name = fresh()

                @self.client.once(name, ttl=20, min_hold=min_hold, every=every)
                async def notice_nothing():
                    delete_everywhere(name)

                with self.assertRaises(redlock.LockLost):
                    await notice_nothing()

    async def test_a_loss_after_it_ran_is_not(self):
        name = fresh()

        @self.client.once(name, ttl=6, min_hold=PATIENCE_S)
        async def job():
            return "done"

        running = asyncio.create_task(job())
        await async_until(lambda: self.client.stats()["renewed"] > 0, "the proof")
        with self.assertLogs("redlock_native"):
            delete_everywhere(name)
            self.assertEqual(await running, "done")

    async def test_nothing_starts_under_a_lock_that_is_lost(self):
        name, ran, extend = fresh(), [], redlock.AsyncLock.extend

        @self.client.once(name, every=60, ttl=2)
        async def job():
            ran.append(1)

        async def extend_and_stand_still(record, ttl):
            await extend(record, ttl)
            time.sleep(2.5)

        with mock.patch.object(redlock.AsyncLock, "extend", extend_and_stand_still):
            with self.assertRaises(redlock.LockLost):
                await job()
        self.assertEqual(ran, [])
        self.assertFalse((await self.client.query(name + ".every")).held)

    async def test_nothing_starts_later_than_a_second_after_its_record(self):
        name, records, extend = fresh(), [], redlock.AsyncLock.extend

        @self.client.once(name, every=1, ttl=20)
        async def job():
            return len(records)

        async def extend_and_stand_still(record, ttl):
            records.append(ttl)
            await extend(record, ttl)
            if len(records) == 1:
                time.sleep(1.2)

        with mock.patch.object(redlock.AsyncLock, "extend", extend_and_stand_still):
            self.assertGreaterEqual(await job(), 2)
        self.assertEqual(set(records), {2})

    async def test_what_is_left_of_a_record_is_no_run(self):
        name = fresh()
        for node in (0, 1):
            ask(node, "SET", f"redlock:{name}.every", f"left-{node}", "PX", "60000")

        @self.client.once(name, every=60)
        async def job():
            return 1

        with self.assertRaises(redlock.NoQuorum):
            await job()

    async def test_min_hold_counts_from_the_grant(self):
        name = fresh()
        other = await self.client.lock(name).acquire()

        @self.client.once(name, min_hold=1, wait=PATIENCE_S)
        async def job():
            return 1

        running = asyncio.create_task(job())
        await asyncio.sleep(1.2)
        released = time.monotonic()
        await other.release()
        self.assertEqual(await running, 1)
        self.assertGreaterEqual(time.monotonic() - released, 1)


class Sync(Case):
    def test_one_of_many_processes_runs_it(self):
        name = fresh()
        code = f"""
            import redlock_native as redlock
            with redlock.Client() as client:
                @client.once({name!r}, every=60)
                def job():
                    return "ran"
                print(job())
            """
        programs = [start(code) for _ in range(3)]
        said = sorted(program.communicate(timeout=PATIENCE_S)[0] for program in programs)
        self.assertEqual(said, ["Skipped.SKIPPED\n", "Skipped.SKIPPED\n", "ran\n"])

    def test_a_loss_while_it_runs_is_raised_and_one_after_it_is_not(self):
        with redlock.Client() as client:
            for min_hold, every in (0, None), (PATIENCE_S, None), (0, 60), (PATIENCE_S, 60):
                with self.subTest(min_hold=min_hold, every=every):
                    name = fresh()

                    @client.once(name, ttl=20, min_hold=min_hold, every=every)
                    def notice_nothing():
                        delete_everywhere(name)

                    with self.assertRaises(redlock.LockLost):
                        notice_nothing()
            name, hold = fresh(), SyncOnce.hold

            @client.once(name, ttl=6, min_hold=PATIENCE_S)
            def job():
                return "done"

            async def lose_and_hold(*arguments):
                delete_everywhere(name)
                await hold(*arguments)

            with mock.patch.object(SyncOnce, "hold", lose_and_hold):
                with self.assertLogs("redlock_native"):
                    self.assertEqual(job(), "done")

    def test_nothing_starts_under_a_lock_that_is_lost(self):
        name, ran, extend = fresh(), [], redlock.Lock.extend
        with redlock.Client() as client:
            @client.once(name, every=60, ttl=2)
            def job():
                ran.append(1)

            def extend_and_lose(record, ttl):
                extend(record, ttl)
                delete_everywhere(name)
                until(lambda: client.stats()["held"] == 0, "the loss")

            with mock.patch.object(redlock.Lock, "extend", extend_and_lose):
                with self.assertLogs("redlock_native"), self.assertRaises(redlock.LockLost):
                    job()
            self.assertEqual(ran, [])
            self.assertFalse(client.query(name + ".every").held)

    def test_min_hold_counts_from_the_grant(self):
        name = fresh()
        with redlock.Client() as client:
            @client.once(name, min_hold=1, wait=PATIENCE_S)
            def job():
                return 1

            def release():
                released.append(time.monotonic())
                other.release()

            other, released = client.lock(name).acquire(), []
            threading.Timer(1.2, release).start()
            self.assertEqual(job(), 1)
            self.assertGreaterEqual(time.monotonic() - released[0], 1)

    def test_min_hold_and_exceptions(self):
        name = fresh()
        with redlock.Client() as client:
            @client.once(name, min_hold=0.3)
            def job():
                return 1

            began = time.monotonic()
            self.assertEqual(job(), 1)
            self.assertGreaterEqual(time.monotonic() - began, 0.3)

            @client.once(name)
            def fail():
                raise ZeroDivisionError

            with self.assertRaises(ZeroDivisionError):
                fail()
            with client.lock(name):
                self.assertIs(job(), redlock.SKIPPED)
