# SPDX-License-Identifier: BSD-2-Clause
"""Jobs that run once, however many processes want to: client.once().

That a job was started is recorded as `redlock run --every` does it: under the lock NAME, right before
the start, as a lock NAME.every that expires a second after the period; a function that has not
started within that second does not start under this record. The period may be longer than the nodes'
max_ttl, so the record is acquired with the TTL of the lock and then extended, by a client of its own
that does not trust in quarantine. The record of a function that does not start is released before the
lock is: the next holder of the lock must not meet it.

A loss while the function runs is raised, like that of a `with`. With min_hold the lock is extended
once when the function has returned, which tells a loss during the function from one after it: the
latter is dropped, because the work was protected to its end.
"""
import asyncio
import contextlib
import enum
import functools
import time
from typing import TYPE_CHECKING, Any, Awaitable, Callable, Optional, TypeVar, Union

from ._errors import Error, InvalidRequest, LockBusy, LockLost, LockTimeout, NoQuorum

if TYPE_CHECKING:
    from ._aio import AsyncClient
    from ._aio_lock import AsyncLock
    from ._core import ClientBase, LockBase
    from ._sync import Client
    from ._sync_lock import Lock
    from ._terms import Name

T = TypeVar("T")

RECORD_SUFFIX = ".every"
EVERY_MIN = 1.0
EVERY_MAX = 86400.0
START_S = 1.0  # from the record to the start
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
    """What both decorators share."""

    def __init__(self, name: "Name", every: Optional[float], min_hold: float, ttl: float,
                 wait: Optional[float], label: Optional[str]) -> None:
        if every is not None and not EVERY_MIN <= every <= EVERY_MAX:
            raise InvalidRequest("every is one second to one day")
        if min_hold < 0:
            raise InvalidRequest("min_hold is a number of seconds")
        raw = name.encode("utf-8", "surrogateescape") if isinstance(name, str) else name
        self.name = name
        self.record_name = raw + RECORD_SUFFIX.encode()
        self.every = every
        self.record_ttl = min((every or 0.0) + START_S, EVERY_MAX)
        self.min_hold = min_hold
        self.ttl = ttl
        self.wait = wait
        self.label = label

    def record_options(self, client: "ClientBase[Any, Any]") -> Any:
        """The client of the record: the same nodes, longer times, no quarantine."""
        options = dict(client._options)
        options["guard"] = False
        options["warn"] = False  # the client of the lock tells them
        options["max_ttl"] = max(options.get("max_ttl") or 0, self.record_ttl, 60.0)
        return options

    def record_of(self, records: Any) -> Any:
        """The record, not written yet."""
        return records.lock(self.record_name, ttl=min(self.ttl, self.record_ttl), wait=0,
                            renew=False, label=self.label)

    @staticmethod
    def may_start(lock: "LockBase", recorded: float) -> bool:
        """The last look before the function: this process may have stood still since the record."""
        lock.check()
        return _now() < recorded + START_S

    @staticmethod
    def leftover() -> Error:
        return NoQuorum("what is left of an earlier record is on some of the nodes, and on no "
                        "majority")

    @staticmethod
    def too_late() -> Error:
        return LockLost("the function could not be started within a second of its record, which "
                        "was taken back; it was not started")

    def left_to_hold(self, taken: float) -> float:
        return taken + self.min_hold - time.monotonic()


class AsyncOnce(_Once):
    """The decorator that AsyncClient.once() gives."""

    def __init__(self, client: "AsyncClient", *settings: Any) -> None:
        super().__init__(*settings)
        self.client = client

    def __call__(self, function: Callable[..., Awaitable[T]]
                 ) -> Callable[..., Awaitable[Union[T, Skipped]]]:
        @functools.wraps(function)
        async def run(*arguments: Any, **words: Any) -> Union[T, Skipped]:
            return await self.run(lambda: function(*arguments, **words))

        return run

    async def run(self, function: Callable[[], Awaitable[T]]) -> Union[T, Skipped]:
        """Runs it, or returns SKIPPED."""
        if self.every is None:
            return await self._run_locked(function, None)
        async with type(self.client)(**self.record_options(self.client)) as records:
            try:
                if (await records.query(self.record_name)).held:
                    return SKIPPED
            except Error:
                pass  # nodes that cannot be asked are told of by the lock, which is tried next
            return await self._run_locked(function, records)

    async def _run_locked(self, function: Callable[[], Awaitable[T]],
                          records: "Optional[AsyncClient]") -> Union[T, Skipped]:
        lock = self.client.lock(self.name, ttl=self.ttl, wait=self.wait, label=self.label)
        was_protected = False
        try:
            async with contextlib.AsyncExitStack() as stack:
                try:
                    await stack.enter_async_context(lock)
                except (LockBusy, LockTimeout):
                    return SKIPPED
                taken = time.monotonic()
                if records is not None and not await self._record(records, lock):
                    return SKIPPED
                result = await function()
                if self.left_to_hold(taken) > 0:
                    await self._prove(lock)
                    was_protected = True
                    lock._on_lost = "event"  # the work is over: a loss has nothing to stop
                    await self._hold(lock, taken)
        except LockLost:
            if not was_protected:
                raise
        return result

    async def _record(self, records: "AsyncClient", lock: "AsyncLock") -> bool:
        """Writes the record. False: there is one, of a function that another has run."""
        for _ in range(START_TRIES):
            record = self.record_of(records)
            try:
                await record.acquire()
            except LockBusy:
                if not (await records.query(self.record_name)).held:
                    raise self.leftover() from None
                return False
            try:
                recorded = _now()
                await record.extend(self.record_ttl)
                if self.may_start(lock, recorded):
                    record.leave()
                    return True
            finally:
                if record._slot[0]:
                    with contextlib.suppress(Error):
                        await record.release()
        raise self.too_late()

    async def _prove(self, lock: "AsyncLock") -> None:
        try:
            await lock.extend()
        except LockLost:
            raise
        except Error:
            pass  # no majority could be asked, which is no proof of a loss

    async def _hold(self, lock: "AsyncLock", taken: float) -> None:
        try:
            await asyncio.wait_for(lock.lost.wait(), self.left_to_hold(taken))
        except asyncio.TimeoutError:
            pass


class SyncOnce(_Once):
    """The decorator that Client.once() gives."""

    def __init__(self, client: "Client", *settings: Any) -> None:
        super().__init__(*settings)
        self.client = client

    def __call__(self, function: Callable[..., T]) -> Callable[..., Union[T, Skipped]]:
        @functools.wraps(function)
        def run(*arguments: Any, **words: Any) -> Union[T, Skipped]:
            return self.run(lambda: function(*arguments, **words))

        return run

    def run(self, function: Callable[[], T]) -> Union[T, Skipped]:
        """Runs it, or returns SKIPPED."""
        if self.every is None:
            return self._run_locked(function, None)
        with type(self.client)(**self.record_options(self.client)) as records:
            try:
                if records.query(self.record_name).held:
                    return SKIPPED
            except Error:
                pass
            return self._run_locked(function, records)

    def _run_locked(self, function: Callable[[], T],
                    records: "Optional[Client]") -> Union[T, Skipped]:
        lock = self.client.lock(self.name, ttl=self.ttl, wait=self.wait, label=self.label)
        was_protected = False
        try:
            with contextlib.ExitStack() as stack:
                try:
                    stack.enter_context(lock)
                except (LockBusy, LockTimeout):
                    return SKIPPED
                taken = time.monotonic()
                if records is not None and not self._record(records, lock):
                    return SKIPPED
                result = function()
                if self.left_to_hold(taken) > 0:
                    self._prove(lock)
                    was_protected = True
                    self._hold(lock, taken)
        except LockLost:
            if not was_protected:
                raise
        return result

    def _record(self, records: "Client", lock: "Lock") -> bool:
        for _ in range(START_TRIES):
            record = self.record_of(records)
            try:
                record.acquire()
            except LockBusy:
                if not records.query(self.record_name).held:
                    raise self.leftover() from None
                return False
            try:
                recorded = _now()
                record.extend(self.record_ttl)
                if self.may_start(lock, recorded):
                    record.leave()
                    return True
            finally:
                if record._slot[0]:
                    with contextlib.suppress(Error):
                        record.release()
        raise self.too_late()

    def _prove(self, lock: "Lock") -> None:
        try:
            lock.extend()
        except LockLost:
            raise
        except Error:
            pass

    def _hold(self, lock: "Lock", taken: float) -> None:
        lock.lost.wait(self.left_to_hold(taken))
