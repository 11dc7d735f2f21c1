# SPDX-License-Identifier: BSD-2-Clause
"""The client of an asyncio program. It hangs on the event loop by one descriptor; no thread."""
import asyncio
import os
import warnings
import weakref
from typing import Any, Callable, Dict, List, Optional

from ._aio_lock import AsyncLock, OnLost
from ._core import (DONE, FIELDS, NEWS_MAX, ClientBase, Notice, answer_error, answer_info,
                    answer_names, logger)
from ._errors import Canceled, Error, InvalidRequest, LockLost, error_of, thread_error
from ._model import Check, Kind, LockInfo, Report, State, check_of, report_of
from ._native import ffi, lib
from ._once import AsyncOnce
from ._terms import DEFAULT_TTL, Name, Nodes, encoded, milliseconds, terms_of


def _readable(reference: "weakref.ref[AsyncClient]") -> None:
    client = reference()
    if client is not None:
        client._turn()


class AsyncClient(ClientBase):
    """A client for asyncio: `async with redlock.AsyncClient() as client`.

    It belongs to the event loop that first uses it, and to any number of its tasks. The arguments
    are those of redlock.Client.
    """

    def __init__(self, nodes: Nodes = None, **options: Any) -> None:
        super().__init__(nodes, **options)
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._fd = -1
        self._pending: Dict[int, "asyncio.Future[int]"] = {}
        self._finalizer = weakref.finalize(self, self._core.close)

    # ---- the loop ----

    def _enter(self) -> asyncio.AbstractEventLoop:
        """Every call begins here: the running loop, on which the client hangs from now on."""
        if os.getpid() != self._process or not self._core.is_open:
            self._check()
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._attach(loop)
        return loop

    def _attach(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._loop is not None and not self._loop.is_closed():
            raise RuntimeError("this client belongs to another event loop; open one for each loop")
        self._pending.clear()  # of a loop that is closed
        fd = lib.rlpy_fd(self._pointer)
        if fd < 0:
            raise thread_error(fd)
        loop.add_reader(fd, _readable, weakref.ref(self))
        self._loop, self._fd = loop, fd

    def _detach(self) -> None:
        loop, self._loop = self._loop, None
        if loop is not None and not loop.is_closed() and os.getpid() == self._process:
            loop.remove_reader(self._fd)

    def _is_stranded(self) -> bool:
        """Is there no loop that would go on with it?"""
        return (self._loop is None or self._loop.is_closed() or not self._core.is_open
                or os.getpid() != self._process)

    def _turn(self) -> None:
        """The library does what is due; then its news reach their futures and locks."""
        news = self._news
        count = lib.rlpy_turn(self._pointer, news, NEWS_MAX)
        if count < 0:
            self._fail(thread_error(count))
            return
        self._deliver(count)

    def _deliver(self, count: int) -> None:
        news, pending = self._news, self._pending
        while count:
            numbers: List[int] = ffi.unpack(news, count * FIELDS)
            for at in range(0, count * FIELDS, FIELDS):
                if numbers[at + 1] == DONE:
                    ended = pending.pop(numbers[at], None)
                    if ended is not None and not ended.done():
                        ended.set_result(numbers[at + 2])
                else:
                    self._tell_safely(*numbers[at:at + FIELDS])
            count = lib.rlpy_take(self._pointer, news, NEWS_MAX) if count == NEWS_MAX else 0

    def _tell_safely(self, ident: int, kind: int, number: int) -> None:
        """A log handler of the program may raise: the other news must arrive."""
        try:
            self._tell(ident, kind, number)
        except Exception as error:
            self._complain("telling about a lock failed", error)

    def _complain(self, message: str, error: BaseException) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_exception_handler(
                {"message": f"redlock: {message}", "exception": error, "client": self})
        else:
            logger.error("%s", message, exc_info=error)

    def _fail(self, error: Error) -> None:
        """The library cannot go on in this process: every operation ends with that.

        In a child that goes on with its parent's loop: the descriptor has to stay there, because
        taking it out would take it out of the parent's as well.
        """
        if self._loop is None:
            return
        self._detach()
        self._complain("the client cannot go on", error)
        pending, self._pending = self._pending, {}
        for ended in pending.values():
            if not ended.done():
                ended.set_exception(error)

    def _call(self, function: Callable[..., object], *arguments: object) -> None:
        """A function of the program; what it raises goes to the loop's exception handler."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon(function, *arguments)

    def _flush(self) -> None:
        if self._is_stranded():
            self._flush_if_stranded()
        else:
            self._turn()

    def _flush_if_stranded(self) -> None:
        """Without a loop: sends what is due; nobody takes the news any more."""
        if self._core.is_open and os.getpid() == self._process and self._is_stranded():
            lib.rlpy_turn(self._pointer, self._news, 0)

    # ---- the end ----

    async def close(self) -> None:
        """Releases what is held, ends what is waited for, and closes the connections.

        A task that is still inside `async with` gets LockLost there; one that waits gets Canceled.
        """
        if not self._core.is_open:
            return
        if os.getpid() != self._process:
            self._core.close()  # only the copy of this process
            return
        locks = [lock for lock in (reference() for reference in list(self._locks.values()))
                 if isinstance(lock, AsyncLock) and lock._op is not None]
        self._is_closing = True
        held = [lock for lock in locks if lock.held and not lock._is_ending]
        for lock in locks:
            if lock.state is State.IDLE:  # before the releases, which could grant it
                self._cancel(lock._id)
        for lock in held:
            lock._be_lost(LockLost("the client was closed"))
        if held and not self._is_stranded():
            await asyncio.gather(*(lock.release() for lock in held), return_exceptions=True)
        self._end()

    def _end(self) -> None:
        if not self._core.is_open:
            return
        self._detach()
        self._finalizer()
        # The library has ended everything with CANCELED: tell it.
        for ident in list(self._pending):
            self._cancel(ident)

    def _cancel(self, ident: int) -> None:
        ended = self._pending.pop(ident, None)
        if ended is not None and not ended.done() and not ended.get_loop().is_closed():
            ended.set_exception(Canceled("the client was closed"))

    async def __aenter__(self) -> "AsyncClient":
        self._enter()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __enter__(self) -> None:
        raise TypeError("this is an AsyncClient: use `async with`, or redlock.Client for threads")

    def __exit__(self, *_: object) -> None:
        raise TypeError("use `async with`")

    def __del__(self) -> None:
        core = getattr(self, "_core", None)
        if core is None or not core.is_open or not hasattr(self, "_finalizer"):
            return
        warnings.warn(f"{self!r} was not closed", ResourceWarning, stacklevel=2)
        loop, fd = self._loop, self._fd
        if loop is None or loop.is_closed() or os.getpid() != self._process:
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

    def lock(self, *names: Name, ttl: float = DEFAULT_TTL, wait: Optional[float] = None,
             kind: Kind = Kind.MUTEX, slots: int = 0, owner: Optional[str] = None,
             renew: bool = True, fair: bool = False, fence: bool = False, keep: bool = False,
             label: Optional[str] = None, tag: Optional[str] = None, max_extensions: int = 0,
             max_hold: Optional[float] = None, on_lost: OnLost = "cancel",
             on_jeopardy: Optional[Notice] = None,
             on_queued: Optional[Notice] = None) -> AsyncLock:
        """A lock, not taken yet. Times are seconds.

        names           one name, or several that are taken together, all or none
        ttl             how long the nodes keep it if this process dies
        wait            None: until it is there. 0: try once (LockBusy). Else so long (LockTimeout)
        kind            a Kind; REENTRANT goes with `owner`, SEMAPHORE with `slots`
        renew           renew it at a third of `ttl` while it is held
        fair            first come, first served
        fence           with a fencing token, `lock.fence`
        keep            leave it on the nodes when the handle ends without release()
        label           for people to read: who holds it
        tag             22 characters by which release_tagged() finds it
        max_extensions, max_hold   caps on renewals
        on_lost         "cancel": a loss cancels the body of `async with`, which raises LockLost.
                        "event": it sets `lock.lost`. A function: it is called with the lock
        on_jeopardy     called with the lock and the error when a renewal failed, with None when a
                        later one succeeded
        on_queued       called with the lock and its place while it waits
        """
        if not names:
            raise InvalidRequest("a lock has a name")
        terms = terms_of(names, ttl=ttl, wait=wait, kind=kind, slots=slots, owner=owner,
                         renew=renew, fair=fair, fence=fence, keep=keep, bound=False,
                         label=self._label if label is None else label, tag=tag,
                         max_extensions=max_extensions, max_hold=max_hold)
        return AsyncLock(self, terms, on_lost, on_jeopardy, on_queued)

    def shared(self, name: Name, **options: Any) -> AsyncLock:
        """A reader's lock: many at once, never together with the holder of a mutex."""
        return self.lock(name, kind=Kind.SHARED, **options)

    def reentrant(self, name: Name, owner: Optional[str] = None, **options: Any) -> AsyncLock:
        """A lock that its owner (None: this client) can take any number of times."""
        return self.lock(name, kind=Kind.REENTRANT, owner=owner, **options)

    def semaphore(self, name: Name, slots: int, **options: Any) -> AsyncLock:
        """One of `slots` permits."""
        return self.lock(name, kind=Kind.SEMAPHORE, slots=slots, **options)

    def adopt(self, name: Name, value: str, *, kind: Kind = Kind.MUTEX, slots: int = 0,
              owner: Optional[str] = None, fence: int = 0, renew: bool = False,
              ttl: float = DEFAULT_TTL, on_lost: OnLost = "event") -> AsyncLock:
        """A lock that another process acquired, by its value. It is held once extend() succeeded.

        Only release() gives it up. `kind` and so on have to be what it was acquired with.
        """
        self._enter()
        terms = terms_of([name], ttl=ttl, wait=0, kind=kind, slots=slots, owner=owner, renew=renew,
                         fair=False, fence=False, keep=False, bound=False, label=None, tag=None,
                         max_extensions=0, max_hold=None)
        terms.set(flags=terms.flags, fence=fence)
        lock = AsyncLock(self, terms, on_lost, None, None)
        lock._new_op()
        error = lib.rlpy_adopt(lock._op, terms.name, encoded(value), terms.request)
        if error:
            failure = thread_error(error)
            lock._free()
            raise failure
        return lock

    def once(self, name: Name, *, every: Optional[float] = None, min_hold: float = 0.0,
             ttl: float = DEFAULT_TTL, wait: Optional[float] = 0,
             label: Optional[str] = None) -> AsyncOnce:
        """A decorator: of all processes that call the function, one runs it.

        The others get redlock.SKIPPED. every: at most once in this time, one second to one day,
        however short it is; as `redlock run --every`, with which it shares its record. min_hold:
        keep the lock at least so long after it was taken, even if the function ends earlier.
        """
        return AsyncOnce(self, name, every, min_hold, ttl, wait,
                         self._label if label is None else label)

    # ---- questions ----

    async def _ask(self, question: int, read: Callable[[Any], Any], *, name: Optional[Name] = None,
                   word: str = "", ttl_ms: int = 0, quorum: Optional[int] = None) -> Any:
        loop = self._enter()
        ident = next(self._ids)
        op = lib.rlpy_new(self._pointer, ident)
        if not op:
            raise error_of(lib.rlpy_error(), "")
        try:
            error = lib.rlpy_ask(op, question, ffi.NULL if name is None else encoded(name),
                                 word.encode(), ttl_ms, -1 if quorum is None else quorum)
            if error:
                raise thread_error(error)
            ended = self._pending[ident] = loop.create_future()
            error = await ended
            if error:
                raise answer_error(op, error)
            return read(op)
        finally:
            self._pending.pop(ident, None)
            lib.rlpy_free(op)

    async def query(self, name: Name) -> LockInfo:
        """The holders and waiters of `name`, asked of every node: advice, never a basis for acting."""
        info: LockInfo = await self._ask(lib.RLPY_QUERY, lambda op: answer_info(op, name),
                                         name=name)
        return info

    async def list(self, *, quorum: Optional[int] = None) -> "List[str]":
        """The names of all locks that any node has, at most 10,000."""
        names: List[str] = await self._ask(lib.RLPY_LIST, answer_names, quorum=quorum)
        return names

    async def break_lock(self, name: Name, mark: str) -> Optional[Report]:
        """Evicts the holder with this mark (query(), `holders[0].mark`), and no later one.

        The holder is not asked: until `report.holder.ttl` has passed it may believe in its lock.
        LockExpired: it was gone already.
        """
        report: Optional[Report] = await self._ask(lib.RLPY_BREAK, _report, name=name, word=mark)
        return report

    async def release_tagged(self, name: Name, tag: str) -> Optional[Report]:
        """Deletes what holds `name` with a value that begins with this tag."""
        report: Optional[Report] = await self._ask(lib.RLPY_RELEASE_TAGGED, _report, name=name,
                                                   word=tag)
        return report

    async def ping(self, *, quorum: Optional[int] = None) -> Optional[Report]:
        """Asks every node for a sign of life; NoQuorum when no majority gave one."""
        report: Optional[Report] = await self._ask(lib.RLPY_PING, _report, quorum=quorum)
        return report

    async def init(self, *, quorum: Optional[int] = None) -> Optional[Report]:
        """States that nothing is held on these nodes: ends quarantine (`redlock init`)."""
        report: Optional[Report] = await self._ask(lib.RLPY_ADMIT, _report, quorum=quorum)
        return report

    async def audit(self, ttl: float = DEFAULT_TTL) -> "List[Check]":
        """Examines the nodes: can locks on them be trusted? (`redlock doctor`)"""
        checks: List[Check] = await self._ask(lib.RLPY_AUDIT, _checks,
                                              ttl_ms=milliseconds(ttl, "ttl"))
        return checks


def _leave_loop(loop: asyncio.AbstractEventLoop, fd: int, core: Any) -> None:
    loop.remove_reader(fd)
    core.close()


def _report(op: Any) -> Optional[Report]:
    return report_of(lib.rlpy_answer_report(op))


def _checks(op: Any) -> List[Check]:
    return [check_of(lib.rlpy_answer_check(op, i)) for i in range(lib.rlpy_answer_count(op))]
