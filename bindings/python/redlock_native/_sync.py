# SPDX-License-Identifier: BSD-2-Clause
"""The client of a program with threads. The library's own thread does the input and output.

A thread of the program waits in C, without the interpreter's lock. One thread of this module takes
the events of the library, wakes the threads that wait for a lock, and sets `lock.lost`. Functions of
the program (on_lost, on_jeopardy, on_queued) run in a second thread, so that they may use the client
and take their time.
"""
import warnings
import weakref
from concurrent.futures import Future
from typing import Any, Callable, Dict, List, Optional, TypeVar

from . import _jobs
from ._core import ClientBase, Core, Notice
from ._errors import Canceled, LockLost
from ._model import Check, LockInfo, Report
from ._native import lib
from ._once import SyncOnce
from ._sync_lock import Lock
from ._terms import DEFAULT_TTL, Name, Nodes
from ._threads import Caller, Reader

T = TypeVar("T")


class Client(ClientBase[Lock, SyncOnce]):
    """A client for any number of threads: `with redlock_native.Client() as client`.

    After fork() a child opens its own: every call on that of its parent raises Forked.
    """

    _lock_type = Lock
    _once_type = SyncOnce
    _flags = lib.REDLOCK_THREAD

    def __init__(self, nodes: Nodes = None, **options: Any) -> None:
        super().__init__(nodes, **options)
        self._caller = Caller()
        self._finalizer = weakref.finalize(
            self, _close, Reader(self._core, weakref.ref(self), True), self._core, self._pending,
            self._caller)

    def _call(self, function: Notice, *arguments: object) -> None:
        self._caller.call(function, *arguments)

    def close(self) -> None:
        """Releases what is held, ends what is waited for, and closes the connections.

        A thread that is still inside `with` finds `lock.lost` set, and gets LockLost at its end; one
        that waits gets Canceled.
        """
        if not self._core.is_forked and self._core.is_open:
            for lock in self._locks_to_end():
                lock._be_lost(LockLost("the client was closed"))
        self._finalizer()

    def __enter__(self) -> "Client":
        self._core.check()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        core = getattr(self, "_core", None)
        if core is not None and core.is_open and not core.is_forked:
            warnings.warn(f"{self!r} was not closed", ResourceWarning, stacklevel=2)

    # ---- locks ----

    def acquire(self, *names: Name, wait: Optional[float] = 0, renew: bool = False,
                **options: Any) -> Lock:
        """A lock that is held until its release(), or LockBusy: it is tried once, and not renewed.

        The options are those of lock(), which is for a body and waits.
        """
        return self.lock(*names, wait=wait, renew=renew, **options).acquire()

    def lead(self, name: Name, body: Callable[[Lock], T], **options: Any) -> T:
        """Waits until it is elected, and calls body(lock): `lock.fence` is the number of the term.

        The body ends before the deadline of the lock, `lock.remaining`, or when `lock.lost` is set: a
        leader that was deposed stands for election again, and the body is called again and again.
        When the body returns with the lock still held, it resigns: that is the end. The options are
        ttl, fair and label of lock().
        """
        while True:
            try:
                with self.lock(name, fenced=True, **options) as lock:
                    return body(lock)
            except LockLost:
                if self._is_closing:
                    raise

    # ---- jobs ----

    def _run_job(self, job: "_jobs.Job[T]") -> T:
        ended: "Future[Any]" = Future()
        end = self._start_job(job, ended)
        try:
            return _jobs.answer_of(ended.result())
        finally:
            end()

    def query(self, name: Name) -> LockInfo:
        """The holders and waiters of `name`, as each node has them: advice, never to act on."""
        return self._run_job(_jobs.query(name))

    def list(self, *, quorum: Optional[int] = None) -> "List[str]":
        """The names of all locks that any node has, at most 10,000."""
        return self._run_job(_jobs.list_names(quorum))

    def break_lock(self, name: Name, fingerprint: str) -> Optional[Report]:
        """Evicts the holder with this fingerprint (of query(): `holders[0].fingerprint`), no later one.

        The holder gets no message: until `report.holder.remaining` has passed it may believe in its
        lock. LockExpired: it was gone already.
        """
        return self._run_job(_jobs.break_lock(name, fingerprint))

    def release_by_key(self, name: Name, idempotency_key: str) -> Optional[Report]:
        """Deletes what holds `name` with a value that begins with this idempotency key."""
        return self._run_job(_jobs.release_by_key(name, idempotency_key))

    def ping(self, *, quorum: Optional[int] = None) -> Optional[Report]:
        """Requests a sign of life from every node; NoQuorum when no majority gave one."""
        return self._run_job(_jobs.ping(quorum))

    def replicate(self, *, quorum: Optional[int] = None) -> Optional[Report]:
        """Waits until a replica of each Sentinel group has what this client wrote on it.

        LockTimeout: none has confirmed it in time.
        """
        return self._run_job(_jobs.replicate(quorum))

    def init(self, *, quorum: Optional[int] = None) -> Optional[Report]:
        """States that nothing is held on these nodes: ends quarantine (`redlock init`)."""
        return self._run_job(_jobs.init(quorum))

    def audit(self, ttl: float = DEFAULT_TTL) -> "List[Check]":
        """Examines the nodes: can locks on them be trusted? (`redlock doctor`)"""
        return self._run_job(_jobs.audit(ttl))


def _close(reader: Reader, core: Core, pending: "Dict[int, Future[Any]]", caller: Caller) -> None:
    reader.close()
    while pending:  # no event comes any more
        ident, ended = pending.popitem()
        ended.set_result(Canceled("the client was closed"))
        lib.rlpy_ring(core.threads, ident)
    caller.close()
