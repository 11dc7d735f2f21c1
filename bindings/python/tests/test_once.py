# SPDX-License-Identifier: BSD-2-Clause
"""client.once(): of all processes that call a function, one runs it."""
import asyncio
import subprocess
import time

import redlock
from support import PATIENCE_S, REDLOCK, AsyncCase, Case, delete_everywhere, fresh, nodes_with, start


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
        self.assertGreater((await self.client.query(name + ".every")).ttl, 100)
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

    async def test_exceptions_of_the_job_and_losses_come_through(self):
        name = fresh()

        @self.client.once(name)
        async def fail():
            raise ZeroDivisionError

        with self.assertRaises(ZeroDivisionError):
            await fail()

        @self.client.once(name, ttl=2)
        async def lose():
            delete_everywhere(name)
            await asyncio.sleep(PATIENCE_S)

        with self.assertLogs("redlock"), self.assertRaises(redlock.LockLost):
            await lose()

        @self.client.once(name, ttl=2, min_hold=PATIENCE_S)
        async def done_before():
            delete_everywhere(name)
            return "done"

        with self.assertLogs("redlock"):
            self.assertEqual(await done_before(), "done")


class Sync(Case):
    def test_one_of_many_processes_runs_it(self):
        name = fresh()
        code = f"""
            import redlock
            with redlock.Client() as client:
                @client.once({name!r}, every=60)
                def job():
                    return "ran"
                print(job())
            """
        programs = [start(code) for _ in range(3)]
        said = sorted(program.communicate(timeout=PATIENCE_S)[0] for program in programs)
        self.assertEqual(said, ["Skipped.SKIPPED\n", "Skipped.SKIPPED\n", "ran\n"])

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
