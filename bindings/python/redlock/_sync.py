# SPDX-License-Identifier: BSD-2-Clause
"""The client of a program with threads. The library's own thread does the input and output.

A thread that waits sleeps in C, without the interpreter's lock, until the library has the outcome. A
signal wakes it, so that Ctrl-C ends a wait. News that no call waits for (a loss, a failed renewal, a
doubt about a node) are delivered by one more thread of this module, which sleeps until there are any.
"""
import threading
import warnings
import weakref
from typing import Any, Callable, List, Optional

from ._core import (FIELDS, NEWS_MAX, ClientBase, Core, Notice, answer_error, answer_info,
                    answer_names, logger)
from ._errors import InvalidRequest, error_of, thread_error
from ._model import Check, Kind, LockInfo, Report, check_of, report_of
from ._native import ffi, lib
from ._once import SyncOnce
from ._sync_lock import Lock, wait
from ._terms import DEFAULT_TTL, Name, Nodes, encoded, milliseconds, terms_of

JOIN_S = 5.0


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

    def _call(self, function: Notice, *arguments: object) -> None:
        function(*arguments)

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
            error = wait(op)
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
