# SPDX-License-Identifier: BSD-2-Clause
"""A lock of a program with threads."""
import threading
from concurrent.futures import Future
from types import TracebackType
from typing import TYPE_CHECKING, Any, Optional, Type

from ._core import LockBase, logger
from ._errors import Canceled, Error, InvalidRequest, LockLost, thread_error
from ._model import State
from ._native import lib
from ._terms import Terms, milliseconds

if TYPE_CHECKING:
    from ._sync import Client


class _OneThread:
    """A second thread is refused: it does not wait."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            raise InvalidRequest("another thread is using this lock; client.lock() makes another")

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class Lock(LockBase):
    """A lock for threads; client.lock() makes it. `with` takes it and gives it back.

    The same object can be used again after it was released. It belongs to one thread at a time.
    """

    _client: "Client"

    def __init__(self, client: "Client", terms: Terms, *given: Any) -> None:
        super().__init__(client, terms, *given)
        self._operation = _OneThread()
        self._is_acquiring = False
        #: Is set when the lock ends before it was released.
        self.lost = threading.Event()

    def acquire(self) -> "Lock":
        """Takes the lock, or raises one of the errors of this package. Ctrl-C ends the wait."""
        self._client._core.check()
        with self._operation:
            self._check_unused()
            self.lost.clear()
            self._is_acquiring = True
            try:
                self._acquire()
                if self._loss is not None:
                    raise self._loss
                if self._client._is_closing:
                    raise Canceled("the client was closed")
            except BaseException:
                self._free(lib.rlpy_undo)
                raise
            finally:
                self._is_acquiring = False
            self._last_state = State.RELEASED
        return self

    def release(self) -> None:
        """Gives the lock back, and waits until a majority has confirmed it.

        LockExpired or LockLost: it had ended before. NoQuorum: too few nodes confirmed; what
        remains expires.
        """
        with self._operation:
            self._check_taken()
            self._is_ending = True
            state = State.RELEASED
            try:
                # A client that was closed has given it up already.
                if self._loss is None or not self._client.closed:
                    self._operate(0)
                if self._loss is not None:
                    raise self._loss
            except LockLost:
                state = State.LOST
                raise
            finally:
                self._is_ending = False
                self._free(state=state)

    def extend(self, ttl: Optional[float] = None) -> None:
        """Renews the lock for `ttl` seconds from now; for its own ttl by default."""
        ttl_ms = self._terms.ttl_ms if ttl is None else milliseconds(ttl, "ttl")
        with self._operation:
            self._check_taken()
            self._operate(ttl_ms or -1)  # 0 would be refused, too

    def leave(self) -> None:
        with self._operation:
            super().leave()

    def cancel(self) -> None:
        """From any thread: ends an acquire() under way, which raises Canceled."""
        core, ident = self._client._core, self._id
        ended = self._client._pending.pop(ident, None) if self._is_acquiring else None
        if ended is not None:
            self._client._settle(ended, Canceled("the wait was canceled"))
            self._look(lib.redlock_cancel)
            lib.rlpy_ring(core.threads, ident)

    def _acquire(self) -> None:
        """Whatever is first to take the outcome from `_pending` decides how it ended."""
        core, terms = self._client._core, self._terms
        ended: "Future[Optional[Error]]" = Future()
        self._register(ended)
        result = lib.rlpy_acquire(core.pointer, terms.name, terms.ttl_ms, terms.request, self._slot,
                                  core.threads)
        if result < 0:
            raise thread_error(result)
        while result == 2:  # signal handlers run here
            result = lib.rlpy_await(core.threads, self._slot[0], self._id)
        if result or self._client._pending.pop(self._id, None) is None:
            self._check_outcome(ended.result())  # Ctrl-C ends the wait

    def _operate(self, ttl_ms: int) -> None:
        """Extends or releases it, which takes at most node_timeout. What is refused is lost."""
        core = self._client._core
        core.check()
        number = lib.rlpy_operate(core.threads, self._slot[0], ttl_ms)
        if number:
            error = thread_error(number)
            error.report = self.report()
            raise self._loss or error if isinstance(error, InvalidRequest) else error

    def __enter__(self) -> "Lock":
        return self.acquire()

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if not self._slot[0]:
            return
        try:
            self.release()
        except LockLost:
            if kind is None:
                raise
            logger.warning("lock %r was lost as well", self.name)
        except Error as failure:
            logger.warning("lock %r: its release was not confirmed: %s", self.name, failure)

    async def __aenter__(self) -> None:
        raise TypeError("this lock is of a Client for threads: use `with`, or "
                        "redlock_native.AsyncClient")

    async def __aexit__(self, *_: object) -> None:
        raise TypeError("use `with`")

    def _be_lost(self, loss: Error) -> None:
        self._loss = loss
        self.lost.set()
        if self._on_lost is not None and callable(self._on_lost):
            self._client._call(self._on_lost, self)
        logger.warning("lock %r is lost: %s", self.name, loss)
