# SPDX-License-Identifier: BSD-2-Clause
"""The client of a program with threads. The library's own thread does the input and output.

A thread that waits sleeps in C, without the interpreter's lock, until the library has the outcome. A
signal wakes it, so that Ctrl-C ends a wait. News that no call waits for (a loss, a failed renewal, a
doubt about a node) are delivered by one more thread of this module, which sleeps until there are any.
"""
import threading
import warnings
import weakref
from types import TracebackType
from typing import Any, Callable, List, Optional, Type

from ._core import (DEFAULT_TTL, FIELDS, NEWS_MAX, ClientBase, Core, LockBase, Name, Nodes, Notice,
                    Terms, answer_error, answer_info, answer_names, encoded, logger,
                    milliseconds, terms_of)
from ._errors import Error, InvalidRequest, LockLost, error_of, thread_error
from ._model import Check, Kind, LockInfo, Report, State, check_of, report_of
from ._native import ffi, lib
from ._once import SyncOnce

# Signals are handled by the main thread between two of its steps. One that comes after the last step
# and before the sleep in C is seen when this has passed.
MAIN_SLICE_MS = 500
JOIN_S = 5.0


def _wait(op: Any) -> int:
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
        self._loss: Optional[Error] = None
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
                error = _wait(self._op)
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
                error = _wait(self._op)
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
                error = _wait(self._op)
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

    def leave(self) -> None:
        """Parts with a held lock without releasing it: it stays until its time to live ends."""
        op = self._forget()
        if op:
            lib.rlpy_leave(op)

    def _forget(self) -> Any:
        with self._handle_stays:
            return super()._forget()

    def check(self) -> None:
        """Raises LockLost unless the lock is certainly held, by the local clock."""
        if self._loss is not None:
            raise self._loss
        if not self.held:
            if self.state is State.LOST:
                raise LockLost("the validity of the lock has ended")
            raise InvalidRequest("the lock is not held")

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

    def _note_jeopardy(self, number: int) -> None:
        error = error_of(number, "") if number else None
        if error is not None:
            logger.warning("lock %r: a renewal failed: %s; %.1f s are left", self.name, error,
                           self.remaining)
        else:
            logger.info("lock %r: renewed again", self.name)
        if self._on_jeopardy is not None:
            self._on_jeopardy(self, error)

    def _note_place(self, place: int) -> None:
        if self._on_queued is not None:
            self._on_queued(self, place)


def _deliver(core: Core, reference: "weakref.ref[Client]") -> None:
    """The thread that brings news. It keeps the memory of the client, and not the client, alive."""
    news = ffi.new("int64_t[]", NEWS_MAX * FIELDS)
    while lib.rlpy_await_news(core.pointer):
        count = NEWS_MAX
        while count == NEWS_MAX:
            count = lib.rlpy_take(core.pointer, news, NEWS_MAX)
            numbers: List[int] = ffi.unpack(news, count * FIELDS)
            client = reference()
            for at in range(0, count * FIELDS, FIELDS):
                try:
                    if client is not None:
                        client._tell(*numbers[at:at + FIELDS])
                except Exception:
                    logger.exception("a function that was to be told about a lock failed")
            client = None


def _close(core: Core, thread: threading.Thread) -> None:
    if not core.is_parent():
        core.close()  # only the copy of this process
    elif core.is_open:
        core.close()
        lib.rlpy_stop_news(core.pointer)
        if thread is not threading.current_thread() and thread.is_alive():
            thread.join(JOIN_S)


class Client(ClientBase):
    """A client for any number of threads: `with redlock.Client() as client`.

    After fork() a child opens its own: every call on that of its parent raises Forked.
    """

    _threaded = True

    def __init__(self, nodes: Nodes = None, **options: Any) -> None:
        super().__init__(nodes, **options)
        self._thread = threading.Thread(target=_deliver, args=(self._core, weakref.ref(self)),
                                        name="redlock-news", daemon=True)
        self._thread.start()
        self._finalizer = weakref.finalize(self, _close, self._core, self._thread)

    def _enter(self) -> None:
        self._check()

    def close(self) -> None:
        """Releases what is held, ends what is waited for (Canceled), and closes the connections."""
        self._finalizer()

    def __enter__(self) -> "Client":
        self._check()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        core = getattr(self, "_core", None)
        if core is not None and core.is_open and core.is_parent():
            warnings.warn(f"{self!r} was not closed", ResourceWarning, stacklevel=2)

    # ---- locks ----

    def lock(self, *names: Name, ttl: float = DEFAULT_TTL, wait: Optional[float] = None,
             kind: Kind = Kind.MUTEX, slots: int = 0, owner: Optional[str] = None,
             renew: bool = True, fair: bool = False, fence: bool = False, keep: bool = False,
             bound: bool = False, label: Optional[str] = None, tag: Optional[str] = None,
             max_extensions: int = 0, max_hold: Optional[float] = None,
             on_lost: Optional[Notice] = None, on_jeopardy: Optional[Notice] = None,
             on_queued: Optional[Notice] = None) -> Lock:
        """A lock, not taken yet. Times are seconds.

        names           one name, or several that are taken together, all or none
        ttl             how long the nodes keep it if this process dies
        wait            None: until it is there. 0: try once (LockBusy). Else so long (LockTimeout)
        kind            a Kind; REENTRANT goes with `owner`, SEMAPHORE with `slots`
        renew           renew it at a third of `ttl` while it is held
        fair            first come, first served
        fence           with a fencing token, `lock.fence`
        keep            leave it on the nodes when the handle ends without release()
        bound           release it when the thread that took it ends
        label           for people to read: who holds it
        tag             22 characters by which release_tagged() finds it
        max_extensions, max_hold   caps on renewals
        on_lost         called with the lock when it is lost, in a thread of the client; `lock.lost`
                        is an event that is set then
        on_jeopardy     called with the lock and the error when a renewal failed, with None when a
                        later one succeeded
        on_queued       called with the lock and its place while it waits
        """
        if not names:
            raise InvalidRequest("a lock has a name")
        terms = terms_of(names, ttl=ttl, wait=wait, kind=kind, slots=slots, owner=owner,
                         renew=renew, fair=fair, fence=fence, keep=keep, bound=bound,
                         label=self._label if label is None else label, tag=tag,
                         max_extensions=max_extensions, max_hold=max_hold)
        return Lock(self, terms, on_lost, on_jeopardy, on_queued)

    def shared(self, name: Name, **options: Any) -> Lock:
        """A reader's lock: many at once, never together with the holder of a mutex."""
        return self.lock(name, kind=Kind.SHARED, **options)

    def reentrant(self, name: Name, owner: Optional[str] = None, **options: Any) -> Lock:
        """A lock that its owner (None: this client) can take any number of times."""
        return self.lock(name, kind=Kind.REENTRANT, owner=owner, **options)

    def semaphore(self, name: Name, slots: int, **options: Any) -> Lock:
        """One of `slots` permits."""
        return self.lock(name, kind=Kind.SEMAPHORE, slots=slots, **options)

    def adopt(self, name: Name, value: str, *, kind: Kind = Kind.MUTEX, slots: int = 0,
              owner: Optional[str] = None, fence: int = 0, renew: bool = False,
              ttl: float = DEFAULT_TTL, on_lost: Optional[Notice] = None) -> Lock:
        """A lock that another process acquired, by its value. It is held once extend() succeeded.

        Only release() gives it up. `kind` and so on have to be what it was acquired with.
        """
        self._check()
        terms = terms_of([name], ttl=ttl, wait=0, kind=kind, slots=slots, owner=owner, renew=renew,
                         fair=False, fence=False, keep=False, bound=False, label=None, tag=None,
                         max_extensions=0, max_hold=None)
        terms.set(flags=terms.flags, fence=fence)
        lock = Lock(self, terms, on_lost, None, None)
        lock._new_op()
        error = lib.rlpy_adopt(lock._op, terms.name, encoded(value), terms.request)
        if error:
            failure = thread_error(error)
            lock._free()
            raise failure
        return lock

    def once(self, name: Name, *, every: Optional[float] = None, min_hold: float = 0.0,
             ttl: float = DEFAULT_TTL, wait: Optional[float] = 0,
             label: Optional[str] = None) -> SyncOnce:
        """A decorator: of all processes that call the function, one runs it.

        The others get redlock.SKIPPED. every: at most once in this time, one second to one day,
        however short it is; as `redlock run --every`, with which it shares its record. min_hold:
        keep the lock at least so long after it was taken, even if the function ends earlier.
        """
        return SyncOnce(self, name, every, min_hold, ttl, wait,
                        self._label if label is None else label)

    # ---- questions ----

    def _ask(self, question: int, read: Callable[[Any], Any], *, name: Optional[Name] = None,
             word: str = "", ttl_ms: int = 0, quorum: Optional[int] = None) -> Any:
        self._check()
        op = lib.rlpy_new(self._pointer, next(self._ids))
        if not op:
            raise error_of(lib.rlpy_error(), "")
        try:
            error = lib.rlpy_ask(op, question, ffi.NULL if name is None else encoded(name),
                                 word.encode(), ttl_ms, -1 if quorum is None else quorum)
            if error:
                raise thread_error(error)
            error = _wait(op)
            if error:
                raise answer_error(op, error)
            return read(op)
        finally:
            lib.rlpy_free(op)

    def query(self, name: Name) -> LockInfo:
        """The holders and waiters of `name`, asked of every node: advice, never a basis for acting."""
        info: LockInfo = self._ask(lib.RLPY_QUERY, lambda op: answer_info(op, name), name=name)
        return info

    def list(self, *, quorum: Optional[int] = None) -> "List[str]":
        """The names of all locks that any node has, at most 10,000."""
        names: List[str] = self._ask(lib.RLPY_LIST, answer_names, quorum=quorum)
        return names

    def break_lock(self, name: Name, mark: str) -> Optional[Report]:
        """Evicts the holder with this mark (query(), `holders[0].mark`), and no later one.

        The holder is not asked: until `report.holder.ttl` has passed it may believe in its lock.
        LockExpired: it was gone already.
        """
        report: Optional[Report] = self._ask(lib.RLPY_BREAK, _report, name=name, word=mark)
        return report

    def release_tagged(self, name: Name, tag: str) -> Optional[Report]:
        """Deletes what holds `name` with a value that begins with this tag."""
        report: Optional[Report] = self._ask(lib.RLPY_RELEASE_TAGGED, _report, name=name, word=tag)
        return report

    def ping(self, *, quorum: Optional[int] = None) -> Optional[Report]:
        """Asks every node for a sign of life; NoQuorum when no majority gave one."""
        report: Optional[Report] = self._ask(lib.RLPY_PING, _report, quorum=quorum)
        return report

    def init(self, *, quorum: Optional[int] = None) -> Optional[Report]:
        """States that nothing is held on these nodes: ends quarantine (`redlock init`)."""
        report: Optional[Report] = self._ask(lib.RLPY_ADMIT, _report, quorum=quorum)
        return report

    def audit(self, ttl: float = DEFAULT_TTL) -> "List[Check]":
        """Examines the nodes: can locks on them be trusted? (`redlock doctor`)"""
        checks: List[Check] = self._ask(lib.RLPY_AUDIT, _checks, ttl_ms=milliseconds(ttl, "ttl"))
        return checks


def _report(op: Any) -> Optional[Report]:
    return report_of(lib.rlpy_answer_report(op))


def _checks(op: Any) -> List[Check]:
    return [check_of(lib.rlpy_answer_check(op, i)) for i in range(lib.rlpy_answer_count(op))]
