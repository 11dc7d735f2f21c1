# SPDX-License-Identifier: BSD-2-Clause
"""Jobs that run once, however many processes want to: client.once().

That a job was started is recorded as `redlock run --every` does it: under the lock NAME, right before
the start, as a lock NAME.every that expires a second after the period; a function that has not
started within that second does not start under this record. The period may be longer than the nodes'
max_ttl, so the record is acquired with the TTL of the lock and then extended, by a client of its own
that does not trust in quarantine. The record of a function that does not start is released before the
lock is: the next holder of the lock must not meet it.

A loss while the function runs is raised, like that of a `with`. With min_hold the lock is extended
once when the function has returned, which distinguishes a loss during the function from one after it: the
latter is dropped, because the work was protected to its end.
"""
import asyncio
import contextlib
import enum
import functools
import time
from typing import TYPE_CHECKING, Any, Awaitable, Callable, Optional, TypeVar, Union

from ._core import logger
from ._errors import Error, InvalidRequest, LockBusy, LockLost, LockTimeout, NoQuorum

if TYPE_CHECKING:
    from ._core import ClientBase, LockBase
    from ._terms import Name

T = TypeVar("T")

RECORD_SUFFIX = ".every"
EVERY_MIN = 1.0
EVERY_MAX = 86400.0
START_S = 1.0  # from the record to the start
SURE_S = 0.3  # for a replica to have the record
START_TRIES = 5  # records whose second was over before the function could start


def _now() -> float:
    """Goes on while the machine is suspended, as the nodes do."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Skipped(enum.Enum):
    """The type of SKIPPED, which is false."""

    SKIPPED = "skipped"

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "redlock_native.SKIPPED"


#: What a function decorated with once() returns where another process has run it.
SKIPPED = Skipped.SKIPPED


class _Once:
    """What the decorators of both clients do, as a coroutine."""

    def __init__(self, client: "ClientBase[Any, Any]", name: "Name", every: Optional[float],
                 min_hold: float, ttl: float, wait: Optional[float], label: Optional[str]) -> None:
        if every is not None and not EVERY_MIN <= every <= EVERY_MAX:
            raise InvalidRequest("every is one second to one day")
        if min_hold < 0:
            raise InvalidRequest("min_hold is a number of seconds")
        raw = name.encode("utf-8", "surrogateescape") if isinstance(name, str) else name
        self.client = client
        self.name = name
        self.record_name = raw + RECORD_SUFFIX.encode()
        self.every = every
        self.record_ttl = min((every or 0.0) + START_S, EVERY_MAX)
        self.min_hold = min_hold
        self.ttl = ttl
        self.wait = wait
        self.label = label

    async def outcome(self, called: Any) -> Any:
        """Of a call of the client, of a lock of its, or of the function."""
        return await called

    async def enter(self, stack: contextlib.AsyncExitStack, manager: Any) -> Any:
        return await stack.enter_async_context(manager)

    async def hold(self, lock: Any, timeout: float) -> None:
        """Until the time is over, or the lock is lost."""
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(lock.lost.wait(), timeout)

    async def run(self, function: Callable[[], Any]) -> Any:
        """Runs it, or returns SKIPPED."""
        if self.every is None:
            return await self._run_locked(function, None)
        async with contextlib.AsyncExitStack() as stack:
            records = await self.enter(stack, type(self.client)(**self._record_options()))
            try:
                if (await self.outcome(records.query(self.record_name))).held:
                    return SKIPPED
            except Error:
                pass  # nodes that cannot be reached are reported by the lock, which is tried next
            return await self._run_locked(function, records)

    def _record_options(self) -> Any:
        """The client of the record: the same nodes, longer times, no quarantine."""
        options = dict(self.client._options)
        options["guard"] = False
        options["warn"] = False  # the client of the lock reports them
        options["max_ttl"] = max(options.get("max_ttl") or 0, self.record_ttl, 60.0)
        return options

    async def _run_locked(self, function: Callable[[], Any], records: Any) -> Any:
        lock = self.client.lock(self.name, ttl=self.ttl, wait=self.wait, label=self.label)
        was_protected = False
        try:
            async with contextlib.AsyncExitStack() as stack:
                try:
                    await self.enter(stack, lock)
                except (LockBusy, LockTimeout):
                    return SKIPPED
                end = time.monotonic() + self.min_hold
                if records is not None and not await self._record(records, lock):
                    return SKIPPED
                result = await self.outcome(function())
                if time.monotonic() < end:
                    await self._prove(lock)
                    was_protected = True
                    lock._on_lost = "event"  # the work is over: a loss has nothing to stop
                    await self.hold(lock, end - time.monotonic())
        except LockLost:
            if not was_protected:
                raise
        return result

    async def _record(self, records: Any, lock: "LockBase") -> bool:
        """Writes the record. False: there is one, of a function that another has run."""
        for _ in range(START_TRIES):
            record = records.lock(self.record_name, ttl=min(self.ttl, self.record_ttl), wait=0,
                                  renew=False, label=self.label)
            try:
                await self.outcome(record.acquire())
            except LockBusy:
                if not (await self.outcome(records.query(self.record_name))).held:
                    raise NoQuorum("what is left of an earlier record is on some of the nodes, and "
                                   "on no majority") from None
                return False
            try:
                recorded = _now()
                await self.outcome(record.extend(self.record_ttl))
                await self._make_sure(records)
                lock.check()
                if _now() < recorded + START_S:  # this process may have stood still since then
                    record.leave()
                    return True
            finally:
                if record._slot[0]:
                    with contextlib.suppress(Error):
                        await self.outcome(record.release())
        raise LockLost("the function could not be started within a second of its record, which "
                       "was taken back; it was not started")

    async def _make_sure(self, records: Any) -> None:
        """Has a replica confirm the record: a failover of a Sentinel group forgets what none has."""
        home = records.quorum_of(self.record_name)
        if not any(node.deployment in ("sentinel", "cluster") and node.quorum_index == home
                   for node in records.nodes()):
            return
        end = _now() + min(self.ttl / 10, SURE_S)
        while True:
            try:
                await self.outcome(records.replicate(quorum=home))
                return
            except Error:
                if _now() >= end:
                    break
        logger.warning("no replica has the record of %r yet: a failover may forget it, and let the "
                       "function run again within the period", self.name)

    async def _prove(self, lock: Any) -> None:
        try:
            await self.outcome(lock.extend())
        except LockLost:
            raise
        except Error:
            pass  # no majority could be reached, which is no proof of a loss


class AsyncOnce(_Once):
    """The decorator that AsyncClient.once() gives."""

    def __call__(self, function: Callable[..., Awaitable[T]]
                 ) -> Callable[..., Awaitable[Union[T, Skipped]]]:
        @functools.wraps(function)
        async def run(*arguments: Any, **words: Any) -> Any:
            return await self.run(lambda: function(*arguments, **words))

        return run


class SyncOnce(_Once):
    """The decorator that Client.once() gives.

    A call of a Client has waited when it returns: the coroutine is never suspended.
    """

    def __call__(self, function: Callable[..., T]) -> Callable[..., Union[T, Skipped]]:
        @functools.wraps(function)
        def run(*arguments: Any, **words: Any) -> Any:
            try:
                self.run(lambda: function(*arguments, **words)).send(None)
            except StopIteration as ended:
                return ended.value

        return run

    async def outcome(self, called: Any) -> Any:
        return called

    async def enter(self, stack: contextlib.AsyncExitStack, manager: Any) -> Any:
        return stack.enter_context(manager)

    async def hold(self, lock: Any, timeout: float) -> None:
        lock.lost.wait(timeout)
