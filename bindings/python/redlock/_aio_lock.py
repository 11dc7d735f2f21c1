# SPDX-License-Identifier: BSD-2-Clause
"""A lock of an asyncio program."""
import asyncio
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Optional, Type, Union

from ._core import LockBase, Notice, logger
from ._errors import Error, InvalidRequest, LockLost, thread_error
from ._model import State
from ._native import lib
from ._terms import Terms, milliseconds

if TYPE_CHECKING:
    from ._aio import AsyncClient

#: "cancel": a loss cancels the body of `async with`. "event": it only sets `lock.lost`. A
#: callable is called with the lock, and nothing is canceled.
OnLost = Union[str, Callable[["AsyncLock"], object]]

_ENDED_MEANWHILE = 1  # for a task that waits for an operation whose lock another task has ended


class AsyncLock(LockBase):
    """A lock for asyncio; client.lock() makes it. `async with` takes it and gives it back.

    The same object can be used again after it was released, by one task at a time.
    """

    _client: "AsyncClient"

    def __init__(self, client: "AsyncClient", terms: Terms, on_lost: OnLost,
                 on_jeopardy: Optional[Notice], on_queued: Optional[Notice]) -> None:
        super().__init__(client, terms, on_jeopardy, on_queued)
        if on_lost not in ("cancel", "event") and not callable(on_lost):
            raise InvalidRequest('on_lost is "cancel", "event" or a function')
        self._on_lost = on_lost
        self._lost_event: Optional[asyncio.Event] = None
        self._task: Optional["asyncio.Task[Any]"] = None  # whose body a loss cancels
        self._is_canceled = False  # a loss has canceled the body
        self._cancels_before = 0  # requests to cancel the task when it entered
        self._is_ending = False  # a release is under way: a loss is its outcome

    # ---- the loss ----

    @property
    def lost(self) -> asyncio.Event:
        """Is set when the lock ends before it was released."""
        if self._lost_event is None:
            self._lost_event = asyncio.Event()
            if self._loss is not None:
                self._lost_event.set()
        return self._lost_event

    def _note_lost(self, number: int) -> None:
        if self._op is None or self._loss is not None:
            return
        self._be_lost(self._lost_error(number))

    def _be_lost(self, loss: Error) -> None:
        self._loss = loss
        if self._lost_event is not None:
            self._lost_event.set()
        if self._is_ending:
            return
        logger.warning("lock %r is lost: %s", self.name, loss)
        if callable(self._on_lost):
            self._client._call(self._on_lost, self)
        elif self._on_lost == "cancel" and self._task is not None and not self._task.done():
            self._is_canceled = True
            self._task.cancel(f"lock {self.name!r} is lost")

    # ---- taking and giving back ----

    async def acquire(self) -> "AsyncLock":
        """Takes the lock, or raises what the errors of this package say.

        If the task is canceled meanwhile, also in the moment of the grant, nothing stays held.
        """
        client = self._client
        loop = client._enter()
        self._new_op()
        self._loss = None
        self._lost_event = None
        terms = self._terms
        try:
            error = lib.rlpy_start(self._op, terms.name, len(terms.name), terms.ttl_ms,
                                   terms.wait_ms, terms.flags, terms.request,
                                   self._on_queued is not None)
            if error:
                raise thread_error(error)
            ended = client._pending[self._id] = loop.create_future()
            error = await ended
            if error:
                raise self._failure(error)
            if self._loss is not None:
                raise self._loss
        except BaseException:
            self._abandon()
            raise
        self._last_state = State.RELEASED
        return self

    async def release(self) -> None:
        """Gives the lock back, and waits until a majority has confirmed it.

        LockExpired or LockLost: it had ended before. NoQuorum: too few nodes confirmed; what
        remains expires.
        """
        if self._op is None:
            raise self._loss or InvalidRequest("the lock is not held")
        self._is_ending = True
        try:
            error = await self._operate(lib.rlpy_start_release)
            failure = self._failure(error) if error else None
        except BaseException:
            self._abandon()
            raise
        finally:
            self._is_ending = False
        self._free()
        self._last_state = State.LOST if isinstance(failure, LockLost) else State.RELEASED
        if failure is not None:
            raise failure

    async def extend(self, ttl: Optional[float] = None) -> None:
        """Renews the lock for `ttl` seconds from now; as long as it was asked for by default."""
        if self._op is None:
            raise self._loss or InvalidRequest("the lock is not held")
        ttl_ms = self._terms.ttl_ms if ttl is None else milliseconds(ttl, "ttl")
        error = await self._operate(lib.rlpy_start_extend, ttl_ms)
        if error:
            raise self._failure(error)

    async def _operate(self, start: Callable[..., int], *arguments: int) -> int:
        """One operation after the other: how it ended."""
        client = self._client
        loop = client._enter()
        while self._id in client._pending:
            earlier = client._pending[self._id]
            if earlier.cancelled():  # its task is gone, the library is not done with it
                earlier = client._pending[self._id] = loop.create_future()
            await asyncio.wait([earlier])
        if self._op is None:
            raise InvalidRequest("the lock is not held any more")
        error = start(self._op, *arguments)
        if error:
            raise thread_error(error)
        ended = client._pending[self._id] = loop.create_future()
        error = await ended
        if self._op is None:
            raise InvalidRequest("the lock was given back meanwhile")
        return error

    def _forget(self) -> Any:
        if self._op is not None:
            ended = self._client._pending.pop(self._id, None)
            if ended is not None and not ended.done():
                ended.set_result(_ENDED_MEANWHILE)
        return super()._forget()

    def _abandon(self) -> None:
        """Ends it from where nothing can be awaited: what has to be sent is sent at once."""
        if self._op is not None:
            self._free()
            self._client._flush()

    async def __aenter__(self) -> "AsyncLock":
        await self.acquire()
        self._is_canceled = False
        self._task = asyncio.current_task()
        self._cancels_before = _cancelling(self._task)
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        task, self._task = self._task, None
        canceled_by_us, self._is_canceled = self._is_canceled, False
        # Requests to cancel the task that are not ours stay in force.
        others = _uncancel(task) > self._cancels_before if canceled_by_us else True
        if kind is GeneratorExit or self._client._is_stranded():
            self._abandon()
            return
        loss = self._loss
        if loss is not None:
            self._abandon()
        elif self._op is not None:
            loss = await self._release_quietly()
        if loss is None:
            return
        if kind is None or (canceled_by_us and not others
                            and issubclass(kind, asyncio.CancelledError)):
            raise loss from error

    async def _release_quietly(self) -> Optional[Error]:
        """Gives it back after the body: only a loss is an error there."""
        try:
            await self.release()
        except LockLost as loss:
            return loss
        except Error as error:
            logger.warning("lock %r: its release was not confirmed: %s", self.name, error)
        return None

    def __enter__(self) -> None:
        raise TypeError("this lock is of an AsyncClient: use `async with`, or redlock.Client for "
                        "threads")

    def __exit__(self, *_: object) -> None:
        raise TypeError("use `async with`")

    def __del__(self) -> None:
        if getattr(self, "_op", None):
            self._warn_unreleased()
            self._free()
            self._client._flush_if_stranded()


def _cancelling(task: Optional["asyncio.Task[Any]"]) -> int:
    count = getattr(task, "cancelling", None)  # since Python 3.11
    return int(count()) if count is not None else 0


def _uncancel(task: Optional["asyncio.Task[Any]"]) -> int:
    uncancel = getattr(task, "uncancel", None)
    return int(uncancel()) if uncancel is not None else 0
