# SPDX-License-Identifier: BSD-2-Clause
"""Programs whose loop or interpreter ends too early, or that fork."""
import redlock_native as redlock
from support import Case, fresh, nodes_with, run


class Programs(Case):
    """Each a process of its own: nothing hangs, nothing crashes, keys go."""

    def program(self, code):
        status, out, err = run(code)
        self.assertEqual(status, 0, err)
        self.assertNotIn("Traceback", err)
        return out, err

    def test_loop_closed_with_locks_held(self):
        name = fresh()
        out, err = self.program(f"""
            import asyncio, gc, redlock_native as redlock
            loop = asyncio.new_event_loop()
            client = redlock.AsyncClient()
            async def hold(kept):
                async with client.lock({name!r}):
                    kept.set()
                    await asyncio.sleep(1000)
            async def begin():
                kept = asyncio.Event()
                global task
                task = asyncio.ensure_future(hold(kept))
                await kept.wait()
            loop.run_until_complete(begin())
            loop.close()
            task._log_destroy_pending = False
            del task
            gc.collect()
            print("closed")
            async def again():
                async with client.lock({name!r}, wait=30):  # by a new loop
                    print("again")
                await client.close()
            asyncio.run(again())
            """)
        self.assertEqual(out, "closed\nagain\n")
        self.assertEqual(nodes_with(name), 0)

    def test_end_of_the_interpreter_with_locks_held(self):
        name = fresh()
        self.program(f"""
            import asyncio, redlock_native as redlock
            client = redlock.AsyncClient()
            lock = client.lock({name!r})
            asyncio.run(lock.acquire())
            """)
        self.assertEqual(nodes_with(name), 0)

    def test_asyncio_run_ends_with_a_task_inside(self):
        name = fresh()
        self.program(f"""
            import asyncio, redlock_native as redlock
            async def hold(client):
                async with client.lock({name!r}):
                    inside.set()
                    await asyncio.sleep(1000)
            async def main():
                global inside
                inside = asyncio.Event()
                client = redlock.AsyncClient()
                asyncio.ensure_future(hold(client))
                await inside.wait()
            asyncio.run(main())
            """)
        self.assertEqual(nodes_with(name), 0)

    def test_interrupt_ends_a_wait_and_gives_back(self):
        name = fresh()
        with redlock.Client() as client, client.lock(name):
            out, _ = self.program(f"""
                import asyncio, os, redlock_native as redlock, signal
                async def main():
                    async with redlock.AsyncClient() as client:
                        try:
                            async with client.lock({name!r}, on_queued=lambda *_:
                                                   os.kill(os.getpid(), signal.SIGINT)):
                                pass
                        finally:
                            print("left", client.stats()["waiting"])
                try:
                    asyncio.run(main())
                except KeyboardInterrupt:
                    print("interrupted")
                """)
        self.assertEqual(out, "left 0\ninterrupted\n")

    def test_fork_inside_a_loop(self):
        name = fresh()
        out, _ = self.program(f"""
            import asyncio, os, redlock_native as redlock
            async def main():
                async with redlock.AsyncClient() as client:
                    async with client.lock({name!r}) as lock:
                        child = os.fork()
                        if child == 0:
                            try:
                                await lock.release()
                            except redlock.Forked:
                                os._exit(0)
                            os._exit(1)
                        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
                        await asyncio.sleep(0.1)
                        lock.check()
                        await client.ping()
            asyncio.run(main())
            """)
        self.assertEqual(out, "0\n")

    def test_two_loops_in_two_threads_are_told_apart(self):
        out, _ = self.program("""
            import asyncio, redlock_native as redlock, threading
            async def main():
                async with redlock.AsyncClient() as client:
                    await client.ping()
                    async def other():
                        try:
                            await client.ping()
                        except RuntimeError as error:
                            print("another" in str(error))
                    await asyncio.to_thread(asyncio.run, other())
            asyncio.run(main())
            """)
        self.assertEqual(out, "True\n")
