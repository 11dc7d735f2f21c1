# SPDX-License-Identifier: BSD-2-Clause
"""A lock of a program with threads."""
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any, Optional, Type

from ._core import LockBase, Notice, logger
from ._errors import Error, InvalidRequest, LockLost, thread_error
from ._model import State
from ._native import lib
from ._terms import Terms, milliseconds

if TYPE_CHECKING:
    from ._sync import Client

# Signals are handled by the main thread between two of its steps. One that comes after the last step
# and before the sleep in C is seen when this has passed.
MAIN_SLICE_MS = 500


def wait(op: Any) -> int:
    """Until the operation has ended: how. Signal handlers run meanwhile, and may raise."""
    is_main = threading.current_thread() is threading.main_thread()
    while lib.rlpy_wait(op, MAIN_SLICE_MS if is_main else -1):
        pass
    outcome: int = lib.rlpy_outcome(op)
    return outcome


class Lock(LockBase):
    """A lock for threads; client.lock() makes it. `with` takes it and gives it back.

    The same object can be used again after it was released. It belongs to one thread at a time.
    """

    _client: "Client"

    def __init__(self, client: "Client", terms: Terms, on_lost: Optional[Notice],
                 on_jeopardy: Optional[Notice], on_queued: Optional[Notice]) -> None:
        super().__init__(client, terms, on_jeopardy, on_queued)
        if on_lost is not None and not callable(on_lost):
            raise InvalidRequest("on_lost is a function, or None")
        self._on_lost = on_lost
        self._busy = threading.Lock()  # one operation at a time
        self._handle_stays = threading.Lock()  # while another thread looks at it
        #: Is set when the lock ends before it was released.
        self.lost = threading.Event()

    def _begin(self) -> None:
        if not self._busy.acquire(blocking=False):
            raise InvalidRequest("another thread is using this lock; client.lock() makes another")

    def acquire(self) -> "Lock":
        """Takes the lock, or raises what the errors of this package say. Ctrl-C ends the wait."""
        self._client._enter()
        self._begin()
        try:
            self._new_op()
            self._loss = None
            self.lost.clear()
            terms = self._terms
            try:
                error = lib.rlpy_start(self._op, terms.name, len(terms.name), terms.ttl_ms,
                                       terms.wait_ms, terms.flags, terms.request,
                                       self._on_queued is not None)
                if error:
                    raise thread_error(error)
                error = wait(self._op)
                if error:
                    raise self._failure(error)
            except BaseException:
                self._free()
                raise
            self._last_state = State.RELEASED
        finally:
            self._busy.release()
        return self

    def release(self) -> None:
        """Gives the lock back, and waits until a majority has confirmed it.

        LockExpired or LockLost: it had ended before. NoQuorum: too few nodes confirmed; what
        remains expires.
        """
        self._client._check()
        self._begin()
        try:
            if self._op is None:
                raise self._loss or InvalidRequest("the lock is not held")
            failure: Optional[Error] = None
            try:
                error = lib.rlpy_start_release(self._op)
                if error:
                    raise thread_error(error)
                error = wait(self._op)
                failure = self._failure(error) if error else None
            finally:
                self._free()
            self._last_state = State.LOST if isinstance(failure, LockLost) else State.RELEASED
        finally:
            self._busy.release()
        if failure is not None:
            raise failure

    def extend(self, ttl: Optional[float] = None) -> None:
        """Renews the lock for `ttl` seconds from now; as long as it was asked for by default."""
        self._client._check()
        ttl_ms = self._terms.ttl_ms if ttl is None else milliseconds(ttl, "ttl")
        self._begin()
        try:
            if self._op is None:
                raise self._loss or InvalidRequest("the lock is not held")
            error = lib.rlpy_start_extend(self._op, ttl_ms)
            if error:
                raise thread_error(error)
            try:
                error = wait(self._op)
            except BaseException:  # the library is not done: it is not known what is held
                self._free()
                raise
            if error:
                raise self._failure(error)
        finally:
            self._busy.release()

    def cancel(self) -> None:
        """From any thread: ends an acquire() under way, which raises Canceled."""
        with self._handle_stays:
            if self._op is not None:
                lib.rlpy_cancel(self._op)

    def _forget(self) -> Any:
        with self._handle_stays:
            return super()._forget()

    def __enter__(self) -> "Lock":
        return self.acquire()

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if self._op is None:
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
        raise TypeError("this lock is of a Client for threads: use `with`, or redlock.AsyncClient")

    async def __aexit__(self, *_: object) -> None:
        raise TypeError("use `with`")

    def __del__(self) -> None:
        if getattr(self, "_op", None):
            self._warn_unreleased()
            self._free()

    # ---- news: in the thread that delivers them ----

    def _note_lost(self, number: int) -> None:
        if self._op is None:
            return
        self._loss = self._lost_error(number)
        logger.warning("lock %r is lost: %s", self.name, self._loss)
        self.lost.set()
        if self._on_lost is not None:
            self._on_lost(self)
