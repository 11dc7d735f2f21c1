# SPDX-License-Identifier: BSD-2-Clause
"""The client of an asyncio program.

It hangs on the event loop by one descriptor. With `notify` it has threads: the library's own, which
renews while the loop is blocked, and one that takes the events and passes them on to the loop.
"""
import asyncio
import contextlib
import warnings
import weakref
from typing import Any, Awaitable, Callable, List, Optional, TypeVar

from . import _jobs
from ._aio_lock import AsyncLock
from ._core import ClientBase, Core, Notice
from ._errors import Canceled, Error, LockLost, thread_error
from ._model import Check, LockInfo, Report, State
from ._native import ffi, lib
from ._once import AsyncOnce
from ._terms import DEFAULT_TTL, Name, Nodes
from ._threads import Reader

T = TypeVar("T")

SUCCEEDED_MAX = 256  # events taken from the library with one call


def _readable(reference: "weakref.ref[AsyncClient]") -> None:
    client = reference()
    if client is not None:
        client._turn()


class AsyncClient(ClientBase[AsyncLock, AsyncOnce]):
    """A client for asyncio: `async with redlock_native.AsyncClient() as client`.

    It belongs to the event loop that first uses it, and to any number of its tasks. The arguments
    are those of redlock_native.Client, and

    notify    a function that is called with every lock that is lost or in jeopardy, in a thread of
              the client, also while the loop is blocked. It has to return soon.
    """

    _lock_type = AsyncLock
    _once_type = AsyncOnce

    def __init__(self, nodes: Nodes = None, *, notify: Optional[Callable[[AsyncLock], object]] = None,
                 **options: Any) -> None:
        self._flags = lib.REDLOCK_THREAD if notify is not None else 0
        super().__init__(nodes, **options)
        self._notify = notify
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._fd = -1  # that the loop watches
        self._succeeded = ffi.new("int64_t[]", SUCCEEDED_MAX)  # and these three: for rlpy_next()
        self._number = ffi.new("int *")
        self._event = ffi.new("redlock_event **")
        end = (self._core.close if notify is None
               else Reader(self._core, weakref.ref(self), False).close)
        self._finalizer = weakref.finalize(self, end)

    # ---- the loop ----

    def _enter(self) -> asyncio.AbstractEventLoop:
        """Every call begins here: the running loop, on which the client hangs from now on."""
        self._core.check()
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._attach(loop)
        return loop

    def _attach(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._loop is not None and not self._loop.is_closed():
            raise RuntimeError("this client belongs to another event loop; open one for each loop")
        self._pending.clear()  # of a loop that is closed
        if self._notify is None:
            self._fd = lib.redlock_fd(self._core.pointer)
            if self._fd < 0:
                raise thread_error(self._fd)
            loop.add_reader(self._fd, _readable, weakref.ref(self))
        self._loop = loop

    def _detach(self) -> None:
        loop, self._loop = self._loop, None
        if (loop is not None and not loop.is_closed() and not self._core.is_forked
                and self._fd >= 0):
            loop.remove_reader(self._fd)

    def _is_stranded(self) -> bool:
        """Is there no loop that would go on with it?"""
        return (self._loop is None or self._loop.is_closed() or not self._core.is_open
                or self._core.is_forked)

    def _turn(self) -> None:
        """The library does what is due; then its events reach their futures and locks."""
        core, succeeded, number, event = self._core, self._succeeded, self._number, self._event
        more = 1
        while more > 0 and core.is_open:
            more = lib.rlpy_next(core.pointer, succeeded, SUCCEEDED_MAX, number, event)
            for ident in ffi.unpack(succeeded, number[0]):
                ended = self._pending.pop(ident, None)
                if ended is not None:
                    self._settle(ended, None)
            if more == 1:
                self._take(event[0])
        if more < 0:
            self._fail(thread_error(more))

    def _fail(self, error: Error) -> None:
        """The library cannot go on in this process: every operation ends with that.

        In a child that goes on with its parent's loop: the descriptor has to stay there, because
        taking it out would take it out of the parent's as well.
        """
        if self._loop is not None:
            super()._fail(error)
            self._detach()

    def _flush(self) -> None:
        """Sends what is due at once, from where nothing can be awaited."""
        if self._notify is None and self._core.is_open and not self._core.is_forked:
            if self._is_stranded():
                self._pending.clear()  # nothing waits any more
            self._turn()

    def _deliver(self, function: Notice, *arguments: object) -> None:
        """With `notify` events are taken in another thread than that of the loop."""
        loop = self._loop
        if self._notify is None:
            function(*arguments)
        elif loop is not None:
            with contextlib.suppress(RuntimeError):  # of a loop that is closed
                loop.call_soon_threadsafe(function, *arguments)

    def _settle(self, ended: Any, result: object) -> None:
        if not ended.done() and not ended.get_loop().is_closed():
            ended.set_result(result)

    def _call(self, function: Notice, *arguments: object) -> None:
        """A function of the program; what it raises goes to the loop's exception handler."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon(function, *arguments)

    def _complain(self, message: str, error: BaseException) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_exception_handler(
                {"message": f"redlock: {message}", "exception": error, "client": self})
        else:
            super()._complain(message, error)

    # ---- the end ----

    async def close(self) -> None:
        """Releases what is held, ends what is waited for, and closes the connections.

        A task that is still inside `async with` gets LockLost there; one that waits gets Canceled.
        """
        if not self._core.is_open or self._core.is_forked:
            self._finalizer()  # in a child only the copy of this process
            return
        held, canceled = self._locks_to_end(), Canceled("the client was closed")
        for lock in [reference() for reference in self._locks.values()]:
            if lock is not None and lock.state is State.WAITING:  # before the releases grant it
                self._settle(self._pending.pop(lock._id), canceled)
        for lock in held:
            lock._be_lost(LockLost("the client was closed"))
        if held and not self._is_stranded():
            await asyncio.gather(*(lock.release() for lock in held), return_exceptions=True)
        self._detach()
        self._finalizer()
        self._end_pending(canceled)

    async def __aenter__(self) -> "AsyncClient":
        self._enter()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __enter__(self) -> None:
        raise TypeError("this is an AsyncClient: use `async with`, or redlock_native.Client for "
                        "threads")

    def __exit__(self, *_: object) -> None:
        raise TypeError("use `async with`")

    def __del__(self) -> None:
        core = getattr(self, "_core", None)
        if core is None or not core.is_open or not hasattr(self, "_finalizer"):
            return
        warnings.warn(f"{self!r} was not closed", ResourceWarning, stacklevel=2)
        loop, fd = self._loop, self._fd
        if loop is None or loop.is_closed() or core.is_forked or fd < 0:
            return
        try:
            running: Optional[asyncio.AbstractEventLoop] = asyncio.get_running_loop()
        except RuntimeError:
            running = None
        if running is loop or not loop.is_running():
            loop.remove_reader(fd)
        else:  # the loop of another thread: that thread takes the descriptor out first
            self._finalizer.detach()
            loop.call_soon_threadsafe(_leave_loop, loop, fd, core)

    # ---- locks ----

    async def acquire(self, *names: Name, wait: Optional[float] = 0, renew: bool = False,
                      **options: Any) -> AsyncLock:
        """A lock that is held until its release(), or LockBusy: it is tried once, and not renewed.

        The options are those of lock(), which is for a body and waits.
        """
        return await self.lock(*names, wait=wait, renew=renew, **options).acquire()

    async def lead(self, name: Name, body: Callable[[AsyncLock], Awaitable[T]], **options: Any) -> T:
        """Waits until it is elected, and awaits body(lock): `lock.fence` is the number of the term.

        A body under which the lock is lost is canceled. A leader that was deposed stands for election
        again, and the body is called again and again. When it returns with the lock still held, it
        resigns: that is the end. The options are ttl, fair and label of lock().
        """
        while True:
            try:
                async with self.lock(name, fenced=True, **options) as lock:
                    return await body(lock)
            except LockLost:
                if self._is_closing:
                    raise

    # ---- jobs ----

    async def _run_job(self, job: "_jobs.Job[T]") -> T:
        ended: "asyncio.Future[Any]" = self._enter().create_future()
        end = self._start_job(job, ended)
        try:
            return _jobs.answer_of(await ended)
        finally:
            end()

    async def query(self, name: Name) -> LockInfo:
        """The holders and waiters of `name`, as each node has them: advice, never to act on."""
        return await self._run_job(_jobs.query(name))

    async def list(self, *, quorum: Optional[int] = None) -> "List[str]":
        """The names of all locks that any node has, at most 10,000."""
        return await self._run_job(_jobs.list_names(quorum))

    async def break_lock(self, name: Name, fingerprint: str) -> Optional[Report]:
        """Evicts the holder with this fingerprint (of query(): `holders[0].fingerprint`), no later one.

        The holder gets no message: until `report.holder.remaining` has passed it may believe in its
        lock. LockExpired: it was gone already.
        """
        return await self._run_job(_jobs.break_lock(name, fingerprint))

    async def release_by_key(self, name: Name, idempotency_key: str) -> Optional[Report]:
        """Deletes what holds `name` with a value that begins with this idempotency key."""
        return await self._run_job(_jobs.release_by_key(name, idempotency_key))

    async def ping(self, *, quorum: Optional[int] = None) -> Optional[Report]:
        """Requests a sign of life from every node; NoQuorum when no majority gave one."""
        return await self._run_job(_jobs.ping(quorum))

    async def replicate(self, *, quorum: Optional[int] = None) -> Optional[Report]:
        """Waits until a replica of each Sentinel group has what this client wrote on it.

        LockTimeout: none has confirmed it in time.
        """
        return await self._run_job(_jobs.replicate(quorum))

    async def init(self, *, quorum: Optional[int] = None) -> Optional[Report]:
        """States that nothing is held on these nodes: ends quarantine (`redlock init`)."""
        return await self._run_job(_jobs.init(quorum))

    async def audit(self, ttl: float = DEFAULT_TTL) -> "List[Check]":
        """Examines the nodes: can locks on them be trusted? (`redlock doctor`)"""
        return await self._run_job(_jobs.audit(ttl))


def _leave_loop(loop: asyncio.AbstractEventLoop, fd: int, core: Core) -> None:
    loop.remove_reader(fd)
    core.close()
