# SPDX-License-Identifier: BSD-2-Clause
"""The asyncio client: one lock through its life, kinds, questions."""
import asyncio
import os
import pathlib
import re
import subprocess
import time
from unittest import mock

import redlock_native as redlock
from redlock_native import Kind, Reason, State, Vote
from redlock_native._label import default_label
from redlock_native._model import text
from redlock_native._native import lib
from support import PATIENCE_S, REDLOCK, AsyncCase, async_until, fresh, nodes_with


class Life(AsyncCase):
    async def test_held_in_the_body_and_free_after_it(self):
        name = fresh()
        async with self.client.lock(name, ttl=30, fenced=True, label="a test") as lock:
            self.assertEqual(lock.name, name)
            self.assertTrue(lock.held)
            self.assertIs(lock.state, State.HELD)
            self.assertTrue(0 < lock.remaining <= 30)
            self.assertGreater(lock.deadline, time.clock_gettime(time.CLOCK_BOOTTIME))
            self.assertGreater(lock.fence, 0)
            self.assertGreaterEqual(lock.margin, 0)
            self.assertIn("a test", lock.value)
            self.assertEqual(len(lock.report().nodes), 3)
            lock.check()
            token = lock.fence
        self.assertIs(lock.state, State.RELEASED)
        self.assertEqual((lock.remaining, lock.fence, lock.value), (0, token, ""))
        self.assertEqual(nodes_with(name), 0)
        async with self.client.lock(name, fenced=True) as later:
            self.assertGreater(later.fence, token)

    async def test_numbers_of_the_library_print_as_words(self):
        async with self.client.lock(fresh()) as lock:
            self.assertEqual(f"{lock.state} {lock.state:>5}", "held  held")
            self.assertEqual(str(lock.state), "held")
            self.assertEqual(repr(lock.state), "<State.HELD: 3>")
        self.assertEqual((str(Kind.MUTEX), str(Vote.TAKEN)), ("mutex", "taken"))

    async def test_one_object_can_be_used_again(self):
        lock = self.client.lock(fresh(), ttl=10)
        for _ in range(3):
            async with lock:
                self.assertTrue(lock.held)
                with self.assertRaises(redlock.InvalidRequest):
                    await lock.acquire()
        with self.assertRaises(redlock.InvalidRequest):
            await lock.release()
        with self.assertRaises(redlock.InvalidRequest):
            await lock.extend()
        with self.assertRaises(redlock.InvalidRequest):
            lock.check()

    async def test_busy_and_timeout_name_the_holder(self):
        name = fresh()
        async with self.client.lock(name, label="the first"):
            with self.assertRaises(redlock.LockBusy) as busy:
                await self.client.acquire(name)
            began = time.monotonic()
            with self.assertRaises(TimeoutError) as late:
                await self.client.lock(name, wait=2).acquire()
            self.assertGreaterEqual(time.monotonic() - began, 2)
        self.assertEqual((busy.exception.code, busy.exception.number), ("BUSY", -1))
        self.assertIn("the first", str(busy.exception))
        self.assertEqual(busy.exception.report.holder.label, "the first")
        self.assertGreaterEqual([n.vote for n in busy.exception.report.nodes].count(Vote.TAKEN), 2)
        self.assertIsInstance(late.exception, redlock.LockTimeout)

    async def test_a_waiter_gets_it_when_it_is_released(self):
        name = fresh()
        places = []
        async with self.client.lock(name) as first:
            waiter = self.client.lock(name, on_queued=lambda lock, place: places.append(place))
            task = asyncio.create_task(waiter.acquire())
            while not places:
                await asyncio.sleep(0.01)
            self.assertFalse(task.done())
            self.assertTrue(first.held)
        await asyncio.wait_for(task, PATIENCE_S)
        await waiter.release()
        self.assertEqual(places[0], 1)

    async def test_extend_renew_and_caps(self):
        name = fresh()
        async with self.client.lock(name, ttl=5, renew=False) as lock:
            await lock.extend(20)
            self.assertGreater(lock.remaining, 15)
            await lock.extend()
            self.assertGreater(lock.remaining, 4)
        async with self.client.lock(name, ttl=20, renew=False, max_extensions=1) as lock:
            await lock.extend()
            with self.assertRaises(redlock.InvalidRequest):
                await lock.extend()
        before = self.client.stats()["renewed"]
        async with self.client.lock(name, ttl=2) as lock:
            await async_until(lambda: self.client.stats()["renewed"] > before, "a renewal")
            lock.check()

    async def test_leave_and_adopt(self):
        name = fresh()
        lock = await self.client.lock(name, ttl=30, renew=False).acquire()
        value = lock.value
        lock.leave()
        self.assertGreaterEqual(nodes_with(name), 2)
        other = self.client.adopt(name, value)
        self.assertEqual(other.remaining, 0)
        await other.extend(20)
        self.assertTrue(other.held)
        await other.release()
        self.assertEqual(nodes_with(name), 0)

    async def test_many_tasks_never_two_at_once(self):
        name, inside, count = fresh(), 0, 0

        async def worker():
            nonlocal inside, count
            for _ in range(10):
                async with self.client.lock(name, fair=True):
                    inside += 1
                    self.assertEqual(inside, 1)
                    await asyncio.sleep(0)
                    inside -= 1
                    count += 1

        await asyncio.gather(*(worker() for _ in range(8)))
        self.assertEqual(count, 80)


class Kinds(AsyncCase):
    def test_the_kinds_are_those_of_the_library(self):
        for kind in Kind:
            self.assertEqual(text(lib.redlock_kind_text(kind)), kind.name.lower())
        self.assertEqual(lib.redlock_kind_traits(len(Kind)), 0)

    async def test_shared_excludes_only_the_mutex(self):
        name = fresh()
        async with self.client.shared(name), self.client.shared(name):
            with self.assertRaises(redlock.LockBusy):
                await self.client.acquire(name)
            self.assertIs((await self.client.query(name)).kind, Kind.SHARED)

    async def test_semaphore_has_so_many_slots(self):
        name = fresh()
        async with self.client.semaphore(name, 2) as a, self.client.semaphore(name, 2) as b:
            self.assertEqual({a.slot, b.slot}, {1, 2})
            with self.assertRaises(redlock.LockBusy):
                await self.client.semaphore(name, 2, wait=0).acquire()

    async def test_reentrant_lets_its_owner_in(self):
        name = fresh()
        async with self.client.reentrant(name, "me", fenced=True) as outer:
            async with self.client.reentrant(name, "me", wait=0, fenced=True) as inner:
                self.assertEqual(inner.fence, outer.fence)
            with self.assertRaises(redlock.LockBusy):
                await self.client.reentrant(name, "you", wait=0).acquire()

    async def test_several_names_all_or_none(self):
        a, b = fresh("a"), fresh("b")
        async with self.client.lock(b):
            with self.assertRaises(redlock.LockBusy):
                await self.client.acquire(a, b)
            await self.free(a)
        async with self.client.lock(a, b):
            for name in (a, b):
                with self.assertRaises(redlock.LockBusy):
                    await self.client.acquire(name)


class Questions(AsyncCase):
    async def test_query_list_and_break(self):
        name = fresh()
        lock = await self.client.lock(name, label="stuck", renew=False).acquire()
        info = await self.client.query(name)
        self.assertTrue(info.held)
        self.assertEqual((info.holder.label, info.holder_count), ("stuck", 1))
        self.assertIn(name, await self.client.list())
        report = await self.client.break_lock(name, info.holders[0].fingerprint)
        self.assertEqual(report.holder.label, "stuck")
        with self.assertRaises(redlock.LockExpired):
            await self.client.break_lock(name, info.holders[0].fingerprint)
        self.assertFalse((await self.client.query(name)).held)
        with self.assertRaises(redlock.LockLost):
            await lock.release()

    async def test_a_holder_without_a_label_has_a_name(self):
        name = fresh()
        async with self.client.lock(name):
            label = (await self.client.query(name)).holder.label
            listed = await asyncio.to_thread(
                subprocess.run, [REDLOCK, "list"], capture_output=True, text=True, check=True)
        self.assertRegex(label, rf"^[^@]+@[^:]+:{os.getpid()} \(run\.py\)$")
        self.assertIn(label, listed.stdout)
        async with self.client.lock(name, label=""):
            self.assertEqual((await self.client.query(name)).holder.label, "")

    def test_the_default_label_fits(self):
        for user, program in (("u" * 99, "p"), ("\u00fc" * 50, "\u5317" * 50), ("a\nb", "\u202e.py")):
            with mock.patch.dict(os.environ, LOGNAME=user), mock.patch("sys.argv", ["/bin/" + program]):
                label = default_label()
            self.assertLessEqual(len(label.encode()), 64)
            self.assertIn(f":{os.getpid()} (", label)
            self.assertTrue(label.isprintable())

    async def test_idempotency_keys(self):
        name, key = fresh(), "abcdefghijklmnopqrstuv"
        lock = await self.client.acquire(name, idempotency_key=key, keep=True)
        with self.assertRaises(redlock.AlreadyYours):
            await self.client.acquire(name, idempotency_key=key)
        await self.client.release_by_key(name, key)
        self.assertEqual(nodes_with(name), 0)
        lock.leave()

    async def test_nodes_ping_stats_audit(self):
        report = await self.client.ping()
        self.assertGreaterEqual([n.vote for n in report.nodes].count(Vote.GRANTED), 2)
        self.assertGreaterEqual([n.state for n in self.client.nodes()].count("up"), 2)
        await self.free(fresh())
        stats = self.client.stats()
        self.assertEqual((stats["acquired"], stats["released"], stats["held"]), (1, 1, 0))
        self.assertEqual(stats.wait.count, 1)
        names = {check.name for check in await self.client.audit()}
        self.assertIn("reachable", names)
        self.assertEqual(self.client.quorum_of("anything"), 0)

    async def test_wrong_arguments_say_so(self):
        lock = self.client.lock
        for wrong in (lambda: lock(), lambda: lock(""), lambda: lock("a\0b"),
                      lambda: lock("x", ttl="soon"), lambda: lock("x", wait=-1),
                      lambda: lock("x", on_lost="panic"), lambda: lock("x", ttl=float("nan")),
                      lambda: redlock.AsyncClient([]), lambda: redlock.AsyncClient("a=x;b"),
                      lambda: redlock.AsyncClient(["redis://[bad"])):
            with self.assertRaises(ValueError) as raised:
                wrong()
            self.assertIsInstance(raised.exception, redlock.InvalidRequest)
        for wrong in (lock("x", ttl=0.001), lock("x", ttl=1e6),  # short: refused
                      lock("x" * 600),
                      lock("x", kind=Kind.SEMAPHORE), lock("x", kind=Kind.SHARED, fenced=True),
                      lock("x", label="a\nb"), lock("x", idempotency_key="short"), lock("x", kind=99)):
            with self.assertRaises(redlock.InvalidRequest) as raised:
                await wrong.acquire()
            self.assertTrue(raised.exception.detail)
        with self.assertRaises(TypeError):
            with lock("x"):
                pass

    async def test_reasons_are_those_of_the_library(self):
        header = pathlib.Path(__file__).resolve().parents[3] / "include" / "redlock.h"
        listed = header.read_text(encoding="utf-8").split("#define REDLOCK_REASONS(X)")[1]
        listed = listed.split("enum redlock_reason")[0]
        self.assertEqual(re.findall(r"\bX\(([A-Z_]+),", listed), [r.name for r in Reason])

    async def test_errors_tell_what_each_node_said(self):
        async with redlock.AsyncClient(["127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"]) as nowhere:
            with self.assertRaises(redlock.NoQuorum) as raised:
                await nowhere.acquire("x")
            votes = [n.vote for n in raised.exception.report.nodes]
            self.assertGreaterEqual(votes.count(Vote.REFUSED), 2)
            reasons = [n.reason for n in raised.exception.report.nodes]
            self.assertGreaterEqual(reasons.count(Reason.REFUSED), 2)
            self.assertEqual(Reason.REFUSED.text, "connection refused")
            with self.assertRaises(redlock.NoQuorum):
                await nowhere.query("x")
