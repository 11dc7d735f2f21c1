# SPDX-License-Identifier: BSD-2-Clause
"""Jobs that run once, however many processes want to: client.once().

That a job was started is recorded as `redlock run --every` does it: under the lock NAME, right before
the start, as a lock NAME.every that expires after the period. The period may be longer than the
nodes' max_ttl, so the record is acquired with the TTL of the lock and then extended, by a client of
its own that does not trust in quarantine.
"""
import asyncio
import contextlib
import enum
import functools
import time
from typing import TYPE_CHECKING, Any, Awaitable, Callable, Optional, TypeVar, Union

from ._errors import Error, InvalidRequest, LockBusy, LockLost, LockTimeout

if TYPE_CHECKING:
    from ._aio import AsyncClient
    from ._aio_lock import AsyncLock
    from ._core import ClientBase
    from ._sync import Client
    from ._terms import Name

T = TypeVar("T")

RECORD_SUFFIX = ".every"
EVERY_MIN = 1.0
EVERY_MAX = 86400.0


class Skipped(enum.Enum):
    """The type of SKIPPED, which is false."""

    SKIPPED = "skipped"

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "redlock.SKIPPED"


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
        self.min_hold = min_hold
        self.ttl = ttl
        self.wait = wait
        self.label = label

    def record_options(self, client: "ClientBase") -> Any:
        """The client of the record: the same nodes, longer times, no quarantine."""
        options = dict(client._options)
        options["guard"] = False
        options["warn"] = False  # the client of the lock tells them
        options["max_ttl"] = max(options.get("max_ttl") or 0, self.every or 0, 60.0)
        return options

    def left_to_hold(self, since: float) -> float:
        return since + self.min_hold - time.monotonic()


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
        began = time.monotonic()
        done = False
        try:
            async with contextlib.AsyncExitStack() as stack:
                try:
                    await stack.enter_async_context(lock)
                except (LockBusy, LockTimeout):
                    return SKIPPED
                if records is not None and not await self._record(records):
                    return SKIPPED
                result = await function()
                done = True
                lock._on_lost = "event"  # the work is over: a loss has nothing to stop
                await self._hold(lock, began)
        except LockLost:
            if not done:
                raise
        return result

    async def _record(self, records: "AsyncClient") -> bool:
        assert self.every is not None
        first = min(self.ttl, self.every)
        record = records.lock(self.record_name, ttl=first, wait=0, renew=False, label=self.label)
        try:
            await record.acquire()
        except LockBusy:
            return False
        try:
            if self.every > first:
                await record.extend(self.every)
        except BaseException:
            record._abandon()
            raise
        record.leave()
        return True

    async def _hold(self, lock: "AsyncLock", began: float) -> None:
        left = self.left_to_hold(began)
        if left > 0:
            try:
                await asyncio.wait_for(lock.lost.wait(), left)
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
        began = time.monotonic()
        done = False
        try:
            with contextlib.ExitStack() as stack:
                try:
                    stack.enter_context(lock)
                except (LockBusy, LockTimeout):
                    return SKIPPED
                if records is not None and not self._record(records):
                    return SKIPPED
                result = function()
                done = True
                left = self.left_to_hold(began)
                if left > 0:
                    lock.lost.wait(left)
        except LockLost:
            if not done:
                raise
        return result

    def _record(self, records: "Client") -> bool:
        assert self.every is not None
        first = min(self.ttl, self.every)
        record = records.lock(self.record_name, ttl=first, wait=0, renew=False, label=self.label)
        try:
            record.acquire()
        except LockBusy:
            return False
        try:
            if self.every > first:
                record.extend(self.every)
        except BaseException:
            record._free()
            raise
        record.leave()
        return True
