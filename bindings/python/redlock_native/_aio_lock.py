# SPDX-License-Identifier: BSD-2-Clause
"""A lock of an asyncio program."""
import asyncio
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Optional, Type

from ._core import LockBase, logger
from ._errors import Error, InvalidRequest, LockLost
from ._model import State
from ._native import lib
from ._terms import Terms, milliseconds

if TYPE_CHECKING:
    from ._aio import AsyncClient


class AsyncLock(LockBase):
    """A lock for asyncio; client.lock() makes it. `async with` takes it and gives it back.

    The same object can be used again after it was released, by one task at a time.
    """

    _client: "AsyncClient"

    def __init__(self, client: "AsyncClient", terms: Terms, *given: Any) -> None:
        if terms.has(lib.REDLOCK_BOUND):
            raise InvalidRequest("bound is for the threads of a Client")
        super().__init__(client, terms, *given)
        self._lost_event: Optional[asyncio.Event] = None
        self._task: Optional["asyncio.Task[Any]"] = None  # whose body a loss cancels
        self._is_canceled = False  # a loss has canceled the body
        self._cancels_before = 0  # requests to cancel the task when it entered

    # ---- the loss ----

    @property
    def lost(self) -> asyncio.Event:
        """Is set when the lock ends before it was released."""
        if self._lost_event is None:
            self._lost_event = asyncio.Event()
            if self._loss is not None:
                self._lost_event.set()
        return self._lost_event

    def _be_lost(self, loss: Error) -> None:
        self._loss = loss
        if self._lost_event is not None:
            self._lost_event.set()
        if self._is_ending:
            return
        logger.warning("lock %r is lost: %s", self.name, loss)
        if callable(self._on_lost):
            self._client._call(self._on_lost, self)
        elif self._on_lost is None and self._task is not None and not self._task.done():
            self._is_canceled = True
            self._task.cancel(f"lock {self.name!r} is lost")

    # ---- taking and giving back ----

    async def acquire(self) -> "AsyncLock":
        """Takes the lock, or raises one of the errors of this package.

        If the task is canceled meanwhile, also in the moment of the grant, nothing stays held.
        """
        ended = self._client._enter().create_future()
        self._check_unused()
        self._lost_event = None
        try:
            self._begin(lib.redlock_start_acquire, self._terms.ttl_ms, ended)
            self._check_outcome(await ended)
            if self._loss is not None:
                raise self._loss
        except BaseException:
            self._abandon(lib.rlpy_undo)
            raise
        self._last_state = State.RELEASED
        return self

    async def release(self) -> None:
        """Gives the lock back, and waits until a majority has confirmed it.

        LockExpired or LockLost: it had ended before. NoQuorum: too few nodes confirmed; what
        remains expires.
        """
        self._check_taken()
        self._is_ending = True
        try:
            await self._operate(lib.redlock_start_release)
            self._free(state=State.RELEASED)
        except LockLost:
            self._free(state=State.LOST)
            raise
        except BaseException:
            self._abandon(state=State.RELEASED)
            raise
        finally:
            self._is_ending = False

    async def extend(self, ttl: Optional[float] = None) -> None:
        """Renews the lock for `ttl` seconds from now; for its own ttl by default."""
        self._check_taken()
        await self._operate(lib.redlock_start_extend,
                            self._terms.ttl_ms if ttl is None else milliseconds(ttl, "ttl"))

    async def _operate(self, start: Callable[..., int], *arguments: int) -> None:
        """One operation after the other."""
        pending, loop = self._client._pending, self._client._enter()
        while self._id in pending:
            earlier = pending[self._id]
            if earlier.cancelled():  # its task is gone, the library is not done with it
                earlier = pending[self._id] = loop.create_future()
            await asyncio.wait([earlier])
        if not self._slot[0]:
            raise InvalidRequest("the lock is not held any more")
        ended = loop.create_future()
        self._start(start, arguments, ended)
        self._check_outcome(await ended)

    def _abandon(self, end: Callable[[Any], None] = lib.rlpy_free,
                 state: Optional[State] = None) -> None:
        """Ends it from where nothing can be awaited: what has to be sent is sent at once."""
        if self._slot[0]:
            self._free(end, state)
            self._client._flush()

    async def __aenter__(self) -> "AsyncLock":
        await self.acquire()
        self._is_canceled = False
        self._task = asyncio.current_task()
        self._cancels_before = _cancels(self._task, "cancelling")
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        task, self._task = self._task, None
        canceled_by_us, self._is_canceled = self._is_canceled, False
        # Requests to cancel the task that are not ours stay in force.
        others = _cancels(task, "uncancel") > self._cancels_before if canceled_by_us else True
        loss = self._loss
        if loss is not None or kind is GeneratorExit or self._client._is_stranded():
            self._abandon()
        elif self._slot[0]:
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
        raise TypeError("this lock is of an AsyncClient: use `async with`, or "
                        "redlock_native.Client for threads")

    def __exit__(self, *_: object) -> None:
        raise TypeError("use `async with`")

    def __del__(self) -> None:
        super().__del__()
        if getattr(self, "_client", None) is not None and self._client._is_stranded():
            self._client._flush()


def _cancels(task: Optional["asyncio.Task[Any]"], method: str) -> int:
    """What "cancelling" or "uncancel" of a task counts; since Python 3.11."""
    function = getattr(task, method, None)
    return int(function()) if function is not None else 0
