# SPDX-License-Identifier: BSD-2-Clause
"""Every way in which a task, a lock or a client can end too early."""
import asyncio
import gc
import logging
import os
import queue
import time
import warnings

import redlock_native as redlock
from redlock_native import State
from support import (PATIENCE_S, AsyncCase, async_until, delete_everywhere, dev, fresh,
                     nodes_with, until)

STEPS_MAX = 2000  # turns of the loop in which one cycle must have ended


class Cancellation(AsyncCase):
    async def test_at_every_turn_of_the_loop(self):
        """A cancel in any turn from the first to the last leaves nothing held."""
        for keep in (False, True):
            with self.subTest(keep=keep):
                await self.cancel_in_every_turn(keep)

    async def cancel_in_every_turn(self, keep):
        name, held, finished = fresh(), [], False

        async def cycle():
            async with self.client.lock(name, ttl=20, keep=keep):
                held.append(1)
                await asyncio.sleep(0)

        await self.free(name)
        turns = 0
        while not finished and turns < STEPS_MAX:
            task = asyncio.create_task(cycle())
            for _ in range(turns):
                await asyncio.sleep(0)
            finished = task.done()
            task.cancel()
            await asyncio.wait([task])
            self.assertTrue(finished or task.cancelled())
            self.assertEqual(self.client.stats()["held"], 0)
            self.assertEqual(self.client.stats()["left"], 0)
            turns += 1 + turns // 16
        self.assertTrue(finished)
        self.assertTrue(held)
        await self.free(name)

    async def test_in_the_moment_of_the_grant(self):
        """The library has handed out the grant, and the task has not run since."""
        name = fresh()
        for kind, keep in (("acquire", False), ("enter", False), ("acquire", True)):
            lock = self.client.lock(name, ttl=20, keep=keep)
            task = asyncio.create_task(lock.acquire() if kind == "acquire" else lock.__aenter__())
            await self.granted_but_not_resumed(lock)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            self.assertEqual(self.client.stats()["held"], 0)
            self.assertEqual(self.client.stats()["left"], 0)
            await self.free(name)

    async def granted_but_not_resumed(self, lock):
        """Turns the client by hand until the future of the acquire is done."""
        await asyncio.sleep(0)
        ended = self.client._pending[lock._id]
        until(lambda: (self.client._turn(), ended.done())[1], "the grant")

    async def test_of_a_wait(self):
        name = fresh()
        async with self.client.lock(name):
            for timeout in (0, 0.05):
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(self.client.lock(name).acquire(), timeout)
            await async_until(lambda: self.client.stats()["waiting"] == 0, "the end of the wait")
        await self.free(name)

    async def test_while_it_is_released(self):
        name = fresh()
        lock = await self.client.lock(name, ttl=20).acquire()
        task = asyncio.create_task(lock.release())
        await asyncio.sleep(0)
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        await self.free(name)
        self.assertEqual(self.client.stats()["held"], 0)

    async def test_of_an_extension_and_then_a_release(self):
        name = fresh()
        lock = await self.client.lock(name, ttl=20).acquire()
        task = asyncio.create_task(lock.extend(20))
        await asyncio.sleep(0)
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        await lock.release()
        self.assertEqual(nodes_with(name), 0)

    async def test_two_operations_at_once_take_turns(self):
        name = fresh()
        lock = await self.client.lock(name, ttl=20).acquire()
        await asyncio.gather(lock.extend(20), lock.extend(20), lock.extend(20))
        ends = await asyncio.gather(lock.extend(20), lock.release(), lock.release(),
                                    return_exceptions=True)
        self.assertEqual(nodes_with(name), 0)
        self.assertEqual([type(e) for e in ends[:2]], [type(None)] * 2)
        self.assertIsInstance(ends[2], redlock.InvalidRequest)

    async def test_of_a_question(self):
        for make in (lambda: self.client.list(), lambda: self.client.query("x"),
                     lambda: self.client.audit()):
            task = asyncio.create_task(make())
            await asyncio.sleep(0)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task


class Loss(AsyncCase):
    def losing(self, name, **options):
        """A lock that is renewed soon, so that its loss is seen soon."""
        return self.client.lock(name, ttl=2, **options)

    async def test_cancels_the_body_and_raises_the_reason(self):
        name, seen = fresh(), []
        with self.assertLogs("redlock_native", "WARNING"), self.assertRaises(redlock.LockLost) as raised:
            async with self.losing(name) as lock:
                delete_everywhere(name)
                try:
                    await asyncio.sleep(PATIENCE_S)
                except asyncio.CancelledError:
                    seen.append("canceled")
                    raise
        self.assertEqual(seen, ["canceled"])
        self.assertIs(lock.state, State.LOST)
        self.assertTrue(raised.exception.detail)
        self.assertEqual(len(raised.exception.report.nodes), 3)
        self.assertIsInstance(raised.exception.__cause__, asyncio.CancelledError)
        self.not_canceled()
        await asyncio.sleep(0)

    def not_canceled(self):
        cancelling = getattr(asyncio.current_task(), "cancelling", lambda: 0)
        self.assertEqual(cancelling(), 0)

    async def test_a_body_that_swallows_the_cancellation_is_told_at_its_end(self):
        name = fresh()
        with self.assertLogs("redlock_native", "WARNING"), self.assertRaises(redlock.LockLost):
            async with self.losing(name):
                delete_everywhere(name)
                try:
                    await asyncio.sleep(PATIENCE_S)
                except asyncio.CancelledError:
                    pass
                await asyncio.sleep(0)
        self.not_canceled()

    async def test_only_sets_the_event_if_that_was_chosen(self):
        name = fresh()
        with self.assertLogs("redlock_native", "WARNING"), self.assertRaises(redlock.LockLost):
            async with self.losing(name, on_lost="event") as lock:
                self.assertFalse(lock.lost.is_set())
                delete_everywhere(name)
                await asyncio.wait_for(lock.lost.wait(), PATIENCE_S)
                with self.assertRaises(redlock.LockLost):
                    lock.check()
                with self.assertRaises(redlock.LockLost):
                    await lock.extend()

    async def test_calls_a_function_whose_exception_reaches_the_loop(self):
        name, told = fresh(), asyncio.Event()

        def on_lost(lock):
            told.set()
            raise ZeroDivisionError("in a callback")

        with self.assertLogs("redlock_native", "WARNING"), self.assertRaises(redlock.LockLost):
            async with self.losing(name, on_lost=on_lost):
                delete_everywhere(name)
                await asyncio.wait_for(told.wait(), PATIENCE_S)
        self.assertEqual([type(c["exception"]) for c in self.complaints], [ZeroDivisionError])
        self.complaints.clear()

    async def test_the_bodys_own_exception_comes_first(self):
        name = fresh()
        with self.assertRaises(ZeroDivisionError):
            async with self.client.lock(name):
                1 / 0
        self.assertEqual(nodes_with(name), 0)
        with self.assertLogs("redlock_native", "WARNING"), self.assertRaises(ZeroDivisionError):
            async with self.losing(name):
                delete_everywhere(name)
                try:
                    await asyncio.sleep(PATIENCE_S)
                except asyncio.CancelledError:
                    1 / 0
        self.not_canceled()

    async def test_beside_a_cancellation_by_another_task(self):
        """The other's cancellation stays in force."""
        name, inside = fresh(), asyncio.Event()

        async def body():
            async with self.losing(name) as lock:
                inside.set()
                try:
                    await asyncio.sleep(PATIENCE_S)
                finally:
                    lock._note_lost(redlock.LockLost("lost"))

        with self.assertLogs("redlock_native", "WARNING"):
            task = asyncio.create_task(body())
            await inside.wait()
            task.cancel()
            await asyncio.wait([task])
        if hasattr(task, "cancelling"):
            self.assertTrue(task.cancelled())

    async def test_while_it_is_released(self):
        """The release finds that the lock was gone: the body was not protected to its end."""
        name = fresh()
        with self.assertRaises(redlock.LockLost):
            async with self.client.lock(name, ttl=30):
                delete_everywhere(name)
        await self.free(name)

    async def test_of_two_locks_at_once(self):
        a, b = fresh("a"), fresh("b")
        with self.assertLogs("redlock_native", "WARNING"), self.assertRaises(redlock.LockLost):
            async with self.losing(a), self.losing(b):
                delete_everywhere(a)
                delete_everywhere(b)
                while True:
                    await asyncio.sleep(PATIENCE_S)
        self.not_canceled()

    async def test_by_a_majority_that_hangs_comes_before_the_lock_ends(self):
        name = fresh()
        jeopardy = []
        for node in (1, 2):
            self.addCleanup(dev, "resume", node)
        with self.assertLogs("redlock_native", "WARNING"), self.assertRaises(redlock.LockLost):
            async with self.losing(name, on_jeopardy=lambda *news: jeopardy.append(news)) as lock:
                end = lock.deadline
                for node in (1, 2):
                    dev("hang", node)
                await asyncio.sleep(PATIENCE_S)
        self.assertTrue(jeopardy)
        self.assertIsInstance(jeopardy[0][1], redlock.NoQuorum)
        self.assertGreaterEqual(time.clock_gettime(time.CLOCK_BOOTTIME) + 1, end)


class BlockedLoop(AsyncCase):
    """What is reported while a body blocks the loop: nothing is awaited there."""

    async def test_the_clock_tells_the_body(self):
        """Without a thread a lock is not renewed then, and every look at it says so."""
        with self.assertLogs("redlock_native", "WARNING"), self.assertRaises(redlock.LockLost):
            async with self.client.lock(fresh(), ttl=2) as lock:
                until(lambda: not lock.held, "the end of the lock")
                self.assertEqual((lock.remaining, lock.state), (0, State.LOST))
                with self.assertRaises(redlock.LockLost):
                    lock.check()
                await asyncio.sleep(PATIENCE_S)  # canceled

    async def test_notify_tells_a_thread(self):
        name, told = fresh(), queue.SimpleQueue()
        async with redlock.AsyncClient(notify=told.put) as client:
            with self.assertLogs("redlock_native", "WARNING"):
                with self.assertRaises(redlock.LockLost):
                    async with client.lock(name, ttl=2) as lock:
                        delete_everywhere(name)
                        self.assertIs(told.get(timeout=PATIENCE_S), lock)
                        self.assertIs(lock.state, State.LOST)
                        self.assertIsNone(lock._loss)  # the loop has not turned since
                        await asyncio.sleep(PATIENCE_S)  # canceled

    async def test_with_notify_locks_are_renewed(self):
        async with redlock.AsyncClient(notify=print) as client:
            async with client.lock(fresh(), ttl=2) as lock:
                until(lambda: client.stats()["renewed"] >= 2, "two renewals")
                lock.check()

    async def test_with_notify_everything_else_is_as_without(self):
        name, places = fresh(), []
        async with redlock.AsyncClient(notify=print) as client:
            async with client.lock(name) as lock:
                self.assertTrue((await client.query(name)).held)
                with self.assertRaises(redlock.LockBusy) as busy:
                    await client.acquire(name)
                self.assertEqual(len(busy.exception.report.nodes), 3)
                waiter = asyncio.create_task(
                    client.lock(name, on_queued=lambda _, place: places.append(place)).acquire())
                await async_until(lambda: places, "the place")
                await lock.extend()
            await (await asyncio.wait_for(waiter, PATIENCE_S)).release()
            with self.assertRaises(asyncio.CancelledError):
                waiting = asyncio.create_task(client.acquire(name))
                await asyncio.sleep(0)
                waiting.cancel()
                await waiting
        self.assertEqual(nodes_with(name), 0)


class Clients(AsyncCase):
    async def test_a_body_is_told_while_close_runs(self):
        """The servers hang, so that close() takes its time with the release."""
        name, order, inside = fresh(), [], asyncio.Event()
        other = redlock.AsyncClient(node_timeout=20)

        async def hold():
            async with other.lock(name, ttl=60):
                inside.set()
                try:
                    await asyncio.sleep(PATIENCE_S)
                finally:
                    order.append("told")
                    for node in (1, 2, 3):
                        await asyncio.to_thread(dev, "resume", node)

        async def close():
            await other.close()
            order.append("closed")

        holder = asyncio.create_task(hold())
        await inside.wait()
        for node in (1, 2, 3):
            self.addCleanup(dev, "resume", node)
            dev("hang", node)
        with self.assertLogs("redlock_native", "WARNING"):
            ends = await asyncio.gather(holder, close(), return_exceptions=True)
        self.assertIsInstance(ends[0], redlock.LockLost)
        self.assertEqual(order, ["told", "closed"])

    async def test_close_with_locks_held_and_waited_for(self):
        name = fresh()
        other = redlock.AsyncClient()

        async def hold():
            async with lock:
                inside.set()
                await asyncio.sleep(PATIENCE_S)

        inside, lock = asyncio.Event(), other.lock(name)
        holder = asyncio.create_task(hold())
        await inside.wait()
        waiter = asyncio.create_task(other.lock(name).acquire())
        await asyncio.sleep(0.05)
        with self.assertLogs("redlock_native", "WARNING"):
            await other.close()
        ends = await asyncio.gather(holder, waiter, return_exceptions=True)
        self.assertIsInstance(ends[0], redlock.LockLost)
        self.assertIn("closed", str(ends[0]))
        self.assertIs(lock.state, State.LOST)
        self.assertIsInstance(ends[1], redlock.Canceled)
        self.assertEqual(nodes_with(name), 0)
        await other.close()
        for call in (other.lock(name).acquire(), other.list(), other.ping()):
            with self.assertRaises(redlock.InvalidRequest):
                await call

    async def test_close_leaves_a_lock_that_is_kept(self):
        name, other = fresh(), redlock.AsyncClient()
        lock = await other.lock(name, ttl=20, keep=True).acquire()
        value = lock.value
        await other.close()
        with self.assertWarns(ResourceWarning):
            del lock
            gc.collect()
        adopted = self.client.adopt(name, value)
        await adopted.extend()
        await adopted.release()

    async def test_a_dropped_lock_is_released_with_a_warning(self):
        name = fresh()
        with self.assertWarns(ResourceWarning):
            await self.client.lock(name).acquire()
            gc.collect()
        await async_until(lambda: nodes_with(name) == 0, "the release")

    async def test_a_dropped_client_leaves_the_loop_with_a_warning(self):
        name = fresh()
        descriptors = len(os.listdir("/proc/self/fd"))
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            client = redlock.AsyncClient()
            await client.lock(name).acquire()
            del client
            gc.collect()
        self.assertEqual([w.category for w in warned], [ResourceWarning] * 2)
        self.assertEqual(nodes_with(name), 0)
        self.assertEqual(len(os.listdir("/proc/self/fd")), descriptors)
        await asyncio.sleep(0)

    async def test_an_exception_of_a_log_handler_does_not_stop_the_news(self):
        class Failing(logging.Handler):
            def emit(self, record):
                raise ZeroDivisionError("in a log handler")

        handler, name = Failing(), fresh()
        logging.getLogger("redlock_native").addHandler(handler)
        self.addCleanup(logging.getLogger("redlock_native").removeHandler, handler)
        lock = await self.client.lock(name, ttl=2).acquire()
        event = lock.lost
        delete_everywhere(name)
        await asyncio.wait_for(event.wait(), PATIENCE_S)
        with self.assertRaises(redlock.LockLost):
            await lock.release()
        self.complaints.clear()
