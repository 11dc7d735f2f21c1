# SPDX-License-Identifier: BSD-2-Clause
"""What both clients share: opening, the events of the library, and what a handle shows."""
import itertools
import logging
import os
import threading
import warnings
import weakref
from typing import (TYPE_CHECKING, Any, Callable, Dict, Generic, List, Optional, Type, TypeVar,
                    Union)

from ._errors import Error, Forked, InvalidRequest, LockLost, error_of, thread_error
from ._jobs import Job
from ._label import default_label
from ._model import Kind, NodeInfo, Report, State, Stats, node_of, report_of, stats_of, text
from ._native import ffi, lib
from ._terms import DEFAULT_TTL, Name, Nodes, Terms, c_text, encoded, fill_nodes, milliseconds

if TYPE_CHECKING:
    from ._once import _Once

logger = logging.getLogger("redlock_native")

Notice = Callable[..., object]
L = TypeVar("L", bound="LockBase")
O = TypeVar("O", bound="_Once")

RELEASED: int = lib.REDLOCK_EVENT_RELEASED
LOST: int = lib.REDLOCK_EVENT_LOST
QUEUED: int = lib.REDLOCK_EVENT_QUEUED
ANSWERED: int = lib.REDLOCK_EVENT_ANSWERED
WARNING: int = lib.REDLOCK_EVENT_WARNING


class Core:
    """The client in C.

    `gate` is held in every call that returns at once, and in close(): no handle is freed while it
    is looked at. The same thread may enter again, because a finalizer or a signal handler may run
    in it at any time. What waits for nodes has a gate of its own (shim.h).
    """

    def __init__(self, options: Any) -> None:
        slot = ffi.new("redlock **")
        self.threads = ffi.new("rlpy_threads *")
        error = lib.rlpy_open(options, self.threads, slot)
        if error:
            raise thread_error(error)
        self.pointer = slot[0]
        self.gate = threading.RLock()
        self.is_open = True
        self.is_forked = False
        _cores.add(self)

    def check(self) -> None:
        """Raises what every call raises on a client that cannot be used here."""
        if self.is_forked:
            raise Forked("this client was opened by the parent process; a child must open its own "
                         "(with gunicorn and other pre-forking servers: after the fork)")
        if not self.is_open:
            raise InvalidRequest("the client has been closed")

    def close(self) -> None:
        """From any thread, any number of times. In a child it frees the copy of the child."""
        with self.gate:
            was_open, self.is_open = self.is_open, False
            if was_open and self.is_forked:
                lib.redlock_close(self.pointer)
            elif was_open:
                lib.rlpy_close(self.pointer, self.threads)


_cores: "weakref.WeakSet[Core]" = weakref.WeakSet()


def _after_fork() -> None:
    """In a child: a thread that does not exist here may have been inside."""
    for core in list(_cores):
        core.is_forked = True
        core.gate = threading.RLock()


os.register_at_fork(after_in_child=_after_fork)


class ClientBase(Generic[L, O]):
    """Opening, locks, events, and what needs no request to a node."""

    _lock_type: Type[L]
    _once_type: Type[O]
    _flags = 0  # enum redlock_flags
    _notify: Optional[Callable[[L], object]] = None

    def __init__(self, nodes: Nodes = None, *, config_file: Optional[str] = None,
                 profile: Optional[str] = None, guard: bool = True, native: bool = True,
                 node_timeout: Optional[float] = None, connect_timeout: Optional[float] = None,
                 max_ttl: Optional[float] = None, drift: Optional[float] = None,
                 retry_min: Optional[float] = None, retry_max: Optional[float] = None,
                 prefix: Optional[str] = None, username: Optional[str] = None,
                 password: Optional[str] = None, password_file: Optional[str] = None,
                 password_command: Optional[str] = None,
                 password_max_age: Optional[float] = None,
                 sentinel_username: Optional[str] = None,
                 sentinel_password: Optional[str] = None,
                 sentinel_password_file: Optional[str] = None,
                 sentinel_password_command: Optional[str] = None,
                 client_name: Optional[str] = None, tls_ca_file: Optional[str] = None,
                 tls_cert_file: Optional[str] = None, tls_key_file: Optional[str] = None,
                 tls_server_name: Optional[str] = None, trace_file: Optional[str] = None,
                 label: Optional[str] = None, warn: bool = True) -> None:
        """Opens a client; connecting goes on in the background, so this does not wait.

        nodes            URLs of the nodes ("redis://10.0.0.1", ..., or of one Sentinel group,
                         "sentinel://host1+host2+host3/group", or of a cluster,
                         "cluster://host1+host2+host3"), or a mapping of quorum names
                         to such lists, or both as REDLOCK_NODES has them; None: the machine's
                         configuration, REDLOCK_NODES or redlock.conf, as for the command
        config_file      without nodes: this configuration file and no other
        profile          "efficiency" (the default), or "correctness": every lock has a fencing
                         token, nodes are checked with every acquire, and grants count only of
                         nodes that pass the safety checks of `redlock doctor`
        guard            False: trust every node, however young (for tests)
        native           False: always use scripts
        node_timeout     deadline of a request to one node (0.05 s)
        connect_timeout  for one connection (1 s)
        max_ttl          the longest ttl of any client of these nodes (60 s)
        drift            allowance for the rate of clocks (0.01)
        retry_min, retry_max   bounds of the delay between attempts (0.01 and 0.25 s)
        prefix           before every name, to make the key ("redlock:")
        username, password  for nodes whose URL has none
        password_file    instead of password: the first line of this file, which is read for every
                         connection
        password_command  or the first line that this command prints: an absolute path and
                         arguments, separated by blanks, without a shell
        password_max_age  so often they are read again, and connections log in again (300 s)
        sentinel_...     the same for the sentinels of sentinel:// nodes
        tls_...          files in PEM, and the name to verify instead of the URL's host
        trace_file       every request, reply and decision is appended to it, a line each
        label            of every lock that names none of its own, for people to read: who holds it
                         (user@host:pid (program)); "": none
        warn             False: doubts about the nodes are not logged

        Raises InvalidRequest for what makes no sense, also when no node is configured anywhere.
        """
        self._options = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        keep: List[Any] = []
        options = ffi.new("redlock_options *", {"size": ffi.sizeof("redlock_options")})
        fill_nodes(options, nodes, keep)
        options.flags = (self._flags
                         | (0 if native else lib.REDLOCK_NO_NATIVE)
                         | (0 if guard else lib.REDLOCK_NO_GUARD))
        if profile is not None:
            options.profile = lib.redlock_profile_number(c_text(profile, keep))
            if options.profile < 0:
                raise InvalidRequest("profile is neither efficiency nor correctness")
        for field in ("node_timeout", "connect_timeout", "max_ttl", "retry_min", "retry_max",
                      "password_max_age"):
            value = self._options[field]
            if value is not None:
                self._set_number(options, field + "_ms", milliseconds(value, field))
        if drift is not None:
            self._set_number(options, "drift_ppm", round(drift * 1e6))
        for field in ("config_file", "prefix", "username", "password", "password_file",
                      "password_command", "sentinel_username", "sentinel_password",
                      "sentinel_password_file", "sentinel_password_command",
                      "client_name", "tls_ca_file", "tls_cert_file", "tls_key_file",
                      "tls_server_name", "trace_file"):
            setattr(options, field, c_text(self._options[field], keep))
        self._texts: List[Any] = []
        self._label = c_text(default_label() if label is None else label, self._texts)
        self._logs_warnings = warn
        self._is_closing = False
        self._core = Core(options)
        self._ids = itertools.count(1)  # of locks and jobs: what the library has as `data`
        self._locks: Dict[int, "weakref.ref[L]"] = {}
        self._pending: Dict[int, Any] = {}  # the futures of operations and jobs under way
        self._reads: Dict[int, Callable[[Any], Any]] = {}  # of jobs: Job.read

    @staticmethod
    def _set_number(options: Any, field: str, value: int) -> None:
        try:
            setattr(options, field, value)
        except OverflowError:
            raise InvalidRequest(f"{field}: {value} is out of range") from None

    @property
    def closed(self) -> bool:
        """Has it been closed?"""
        return not self._core.is_open

    def nodes(self) -> List[NodeInfo]:
        """The state of every node, without asking it."""
        found: List[NodeInfo] = []
        info = ffi.new("redlock_node_info *", {"size": ffi.sizeof("redlock_node_info")})
        with self._core.gate:
            self._core.check()
            while lib.redlock_node(self._core.pointer, len(found), info) == 0:
                found.append(node_of(info))
        return found

    def stats(self) -> Stats:
        """What this client has done since it was opened."""
        counters = ffi.new("redlock_counters *", {"size": ffi.sizeof("redlock_counters")})
        with self._core.gate:
            self._core.check()
            error = lib.redlock_stats(self._core.pointer, counters)
            if error:
                raise thread_error(error)
        return stats_of(counters)

    def quorum_of(self, name: Name) -> int:
        """In which of several quorums `name` lives, from 0."""
        with self._core.gate:
            self._core.check()
            index: int = lib.redlock_quorum_of(self._core.pointer, encoded(name))
            if index < 0:
                raise thread_error(index)
        return index

    # ---- locks ----

    def lock(self, *names: Name, ttl: float = DEFAULT_TTL, wait: Optional[float] = None,
             kind: Kind = Kind.MUTEX, slots: int = 0, owner: Optional[str] = None,
             renew: bool = True, fair: bool = False, fenced: bool = False, keep: bool = False,
             bound: bool = False, label: Optional[str] = None,
             idempotency_key: Optional[str] = None, max_extensions: int = 0,
             max_hold: Optional[float] = None,
             on_lost: Union[None, str, Callable[[L], object]] = None,
             on_jeopardy: Optional[Notice] = None, on_queued: Optional[Notice] = None) -> L:
        """A lock for the body of a `with` or `async with`, not taken yet. Times are seconds.

        names           one name, or several that are taken together, all or none
        ttl             how long the nodes keep it if this process dies
        wait            None: until it is there. 0: try once (LockBusy). Else so long (LockTimeout)
        kind            a Kind; REENTRANT goes with `owner`, SEMAPHORE with `slots`
        renew           renew it at a third of `ttl` while it is held
        fair            first come, first served
        fenced          with a fencing token, `lock.fence`
        keep            leave it on the nodes when the handle ends without release()
        bound           Client only: release it when the thread that took it ends
        label           for people to read: who holds it; None: that of the client
        idempotency_key 22 characters by which release_by_key() finds it
        max_extensions, max_hold   caps on renewals
        on_lost         what a loss does besides setting the event `lock.lost`. None: an AsyncClient
                        cancels the body, which raises LockLost. "event": nothing. A function: it is
                        called with the lock, by a Client in a thread of its own
        on_jeopardy     called with the lock and the error when a renewal failed, with None when a
                        later one succeeded
        on_queued       called with the lock and its place while it waits
        """
        terms = Terms(names, ttl=ttl, wait=wait, kind=kind, slots=slots, owner=owner, renew=renew,
                      fair=fair, fenced=fenced, keep=keep, bound=bound, places=on_queued is not None,
                      label=self._label if label is None else label,
                      idempotency_key=idempotency_key, max_extensions=max_extensions,
                      max_hold=max_hold)
        return self._lock_type(self, terms, on_lost, on_jeopardy, on_queued)

    def shared(self, name: Name, **options: Any) -> L:
        """A reader's lock: many at once, never together with the holder of a mutex."""
        return self.lock(name, kind=Kind.SHARED, **options)

    def reentrant(self, name: Name, owner: Optional[str] = None, **options: Any) -> L:
        """A lock that its owner (None: this client) can take any number of times."""
        return self.lock(name, kind=Kind.REENTRANT, owner=owner, **options)

    def semaphore(self, name: Name, slots: int, **options: Any) -> L:
        """One of `slots` permits."""
        return self.lock(name, kind=Kind.SEMAPHORE, slots=slots, **options)

    def adopt(self, name: Name, value: str, *, kind: Kind = Kind.MUTEX, slots: int = 0,
              owner: Optional[str] = None, fence: Optional[int] = None, renew: bool = False,
              ttl: float = DEFAULT_TTL,
              on_lost: Union[None, str, Callable[[L], object]] = None) -> L:
        """A lock that another process acquired, by its value. It is held once extend() succeeded.

        Only release() gives it up. `kind` and so on have to be what it was acquired with.
        """
        terms = Terms([name], ttl=ttl, kind=kind, slots=slots, owner=owner, renew=renew,
                      fence=fence)
        lock = self._lock_type(self, terms, on_lost, None, None)
        lock._begin(lib.redlock_adopt, encoded(value))
        return lock

    def once(self, name: Name, *, every: Optional[float] = None, min_hold: float = 0.0,
             ttl: float = DEFAULT_TTL, wait: Optional[float] = 0,
             label: Optional[str] = None) -> O:
        """A decorator: of all processes that call the function, one runs it.

        The others get redlock_native.SKIPPED. every: at most once in this time, one second to one
        day, however short it is; as `redlock run --every`, with which it shares its record.
        min_hold: keep the lock at least so long after it was taken, even if the function ends
        earlier.
        """
        return self._once_type(self, name, every, min_hold, ttl, wait,
                               self._label if label is None else label)

    # ---- jobs ----

    def _start_job(self, job: Job[Any], ended: Any) -> Callable[[], None]:
        """Starts a job; `ended` gets the answer, or the error. What ends it early is returned."""
        core, ident, number = self._core, next(self._ids), ffi.new("redlock_job *")

        def end() -> None:
            self._reads.pop(ident, None)
            if self._pending.pop(ident, None) is not None:
                with core.gate:
                    if core.is_open:
                        lib.redlock_cancel_job(core.pointer, number[0])

        with core.gate:
            core.check()
            target = (core.pointer if job.quorum is None
                      else lib.redlock_member(core.pointer, job.quorum))
            # First: the thread that takes the events may have the answer before start() returns.
            self._reads[ident] = job.read
            self._pending[ident] = ended
            error = job.start(target, *job.arguments, ffi.cast("void *", ident), number)
            if error:
                failure = thread_error(error)
                del self._reads[ident]
                self._pending.pop(ident, None)
                raise failure
        return end

    # ---- events ----

    def _take(self, event: Any) -> None:
        """Reads an event before anything else happens: taking another, or closing, ends it."""
        try:
            self._read(event)
        except Exception as error:  # `notify`, or a log handler of the program
            self._deliver(self._complain, "a callback about a lock failed", error)

    def _read(self, event: Any) -> None:
        kind: int = event.type
        ident = int(ffi.cast("intptr_t", event.data))
        if kind <= RELEASED:
            ended = self._pending.pop(ident, None)
            if ended is not None:
                self._deliver(self._settle, ended, _error_of(event))
        elif kind == ANSWERED:
            ended, read = self._pending.pop(ident, None), self._reads.pop(ident, None)
            if ended is not None and read is not None:
                self._deliver(self._settle, ended, _error_of(event) or read(event.answer))
        elif kind == WARNING:
            if self._logs_warnings:
                dropped = f" ({event.dropped} earlier warnings were not read)" * (event.dropped > 0)
                logger.warning("%s: %s%s", text(event.address), text(event.detail), dropped)
        else:
            reference = self._locks.get(ident)
            lock = reference() if reference is not None else None
            error = _error_of(event)
            if lock is not None:
                self._deliver(self._bring_news, lock, kind, error, event.place)
                if self._notify is not None and error is not None:
                    self._notify(lock)

    def _deliver(self, function: Notice, *arguments: object) -> None:
        """Brings what happened to the thread that it is for."""
        function(*arguments)

    def _settle(self, ended: Any, result: object) -> None:
        """Ends what waits for an operation or a job; an Error is what it failed with."""
        if not ended.done():
            ended.set_result(result)

    def _bring_news(self, lock: L, kind: int, error: Optional[Error], place: int) -> None:
        """Brings what happened to a lock to it."""
        if kind == LOST:
            lock._note_lost(error or LockLost("the lock is lost"))
        elif kind == QUEUED:
            lock._note_place(place)
        else:
            lock._note_jeopardy(error)

    def _call(self, function: Notice, *arguments: object) -> None:
        """Calls a function of the program that is to learn about a lock."""
        raise NotImplementedError

    def _complain(self, message: str, error: BaseException) -> None:
        logger.error("%s", message, exc_info=error)

    # ---- the end ----

    def _locks_to_end(self) -> List[L]:
        """Those whose holder must learn that the client ends. Nothing is handed out any more."""
        self._is_closing = True
        return [lock for lock in (reference() for reference in list(self._locks.values()))
                if lock is not None and lock.held and not lock._is_ending
                and not lock._terms.has(lib.REDLOCK_KEEP)]

    def _end_pending(self, error: Error) -> None:
        """What waits for an event gets this error: none comes any more."""
        while self._pending:
            self._settle(self._pending.popitem()[1], error)

    def _fail(self, error: Error) -> None:
        """The library cannot go on in this process."""
        self._complain("the client cannot go on", error)
        self._end_pending(error)


def _error_of(event: Any) -> Optional[Error]:
    number = event.error
    if not number:
        return None
    answer = event.answer
    return error_of(number, text(event.detail), report_of(answer.report) if answer else None)


class LockBase:
    """What a handle shows. All of it is local: nothing is sent."""

    def __init__(self, client: ClientBase[Any, Any], terms: Terms, on_lost: Any,
                 on_jeopardy: Optional[Notice], on_queued: Optional[Notice]) -> None:
        if on_lost is not None and on_lost != "event" and not callable(on_lost):
            raise InvalidRequest('on_lost is None, "event" or a function')
        self._client = client
        self._terms = terms
        self._on_lost = on_lost
        self._on_jeopardy = on_jeopardy
        self._on_queued = on_queued
        self._slot = ffi.new("redlock_lock **")  # the handle while it is held or waited for
        self._id = 0
        self._is_ending = False  # a release is under way: a loss is its outcome
        self._last_state = State.UNUSED  # what it is without a handle
        self._last_fence = 0
        self._loss: Optional[Error] = None

    def _look(self, function: Callable[[Any], Any], without: Any = 0) -> Any:
        """What the library knows of the handle; `without`: what it is without one."""
        with self._client._core.gate:
            handle = self._slot[0]
            return function(handle) if handle else without

    @property
    def name(self) -> str:
        """The name as given; of several, the first."""
        return self._terms.name.decode("utf-8", "surrogateescape")

    @property
    def state(self) -> State:
        """What became of it, by the local clock at this moment."""
        if self._loss is not None:
            return State.LOST
        number = self._look(lib.redlock_state, -1)
        # Negative: the client was closed, or belongs to the parent process.
        return State(number) if number >= 0 else self._last_state

    @property
    def held(self) -> bool:
        """Is it certainly ours at this moment?"""
        return self.state in (State.HELD, State.JEOPARDY)

    @property
    def remaining(self) -> float:
        """For how many seconds it is still certainly ours, by the local clock; 0 if not held."""
        return 0.0 if self._loss is not None else int(self._look(lib.redlock_remaining_ms)) / 1e3

    @property
    def deadline(self) -> float:
        """The end of that, in seconds of time.CLOCK_BOOTTIME; 0 when it is not held."""
        return 0.0 if self._loss is not None else int(self._look(lib.redlock_deadline_ns)) / 1e9

    @property
    def fence(self) -> Optional[int]:
        """The fencing token of a lock taken with fenced=True or the profile correctness, or None."""
        return int(self._look(lib.redlock_fence, self._last_fence)) or None

    @property
    def position(self) -> int:
        """The place in the queue while it is waited for, 1 is the head; 0: not in a queue."""
        return int(self._look(lib.redlock_position))

    @property
    def slot(self) -> int:
        """Which slot of a semaphore is held, from 1; 0: none."""
        return int(self._look(lib.redlock_slot))

    @property
    def margin(self) -> int:
        """On how many nodes it is known to be set beyond a bare majority."""
        return int(self._look(lib.redlock_margin))

    @property
    def value(self) -> str:
        """The value stored under the key: what another process needs to adopt the lock."""
        return str(self._look(lambda handle: text(lib.redlock_value(handle)), ""))

    def report(self) -> Optional[Report]:
        """Node by node, the last operation on this lock."""
        return report_of(self._look(lib.redlock_lock_report, ffi.NULL))

    def check(self) -> None:
        """Raises LockLost unless the lock is certainly held, by the local clock."""
        if self._loss is not None:
            raise self._loss
        state = self.state
        if state is State.LOST:
            raise LockLost("the validity of the lock has ended")
        if state not in (State.HELD, State.JEOPARDY):
            raise InvalidRequest("the lock is not held")

    def leave(self) -> None:
        """Parts with a held lock without releasing it: it stays until its time to live ends."""
        self._free(lib.rlpy_leave)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} {self.state}>"

    def __del__(self) -> None:
        if getattr(self, "_slot", None) and self._slot[0]:
            warnings.warn(f"{self!r} was dropped without being released", ResourceWarning,
                          stacklevel=2)
            self._free()

    # ---- operations ----

    def _check_unused(self) -> None:
        if self._slot[0]:
            raise InvalidRequest("this lock is held or being waited for already; client.lock() "
                                 "makes another")

    def _check_taken(self) -> None:
        if self._client._core.is_forked:
            self._client._core.check()
        if not self._slot[0]:
            raise self._loss or InvalidRequest("the lock is not held")

    def _check_outcome(self, error: Optional[Error]) -> None:
        """Raises what an operation failed with."""
        if error is not None:
            error.report = self.report()
            raise error

    def _register(self, ended: Any = None) -> None:
        """Before a handle is made; `ended` gets the outcome of the acquire that is to be started."""
        client = self._client
        client._core.check()
        if client._is_closing:
            raise InvalidRequest("the client has been closed")
        self._id = next(client._ids)
        self._loss = None
        self._terms.request.data = ffi.cast("void *", self._id)
        client._locks[self._id] = weakref.ref(self)
        if ended is not None:
            client._pending[self._id] = ended

    def _begin(self, start: Callable[..., int], argument: Any, ended: Any = None) -> None:
        """Makes the handle: redlock_start_acquire(), whose outcome `ended` gets, or redlock_adopt()."""
        terms, core = self._terms, self._client._core
        with core.gate:
            self._register(ended)
            error = start(core.pointer, terms.name, argument, terms.request, self._slot)
            failure = thread_error(error) if error else None
        if failure is not None:
            self._free()
            raise failure

    def _start(self, start: Callable[..., int], arguments: Any, ended: Any) -> None:
        """redlock_start_extend() or redlock_start_release(), whose outcome `ended` gets."""
        core = self._client._core
        with core.gate:
            core.check()
            self._client._pending[self._id] = ended  # first: see _start_job()
            error = start(self._slot[0], *arguments)
            if error:
                failure = self._loss or thread_error(error)
                self._client._pending.pop(self._id, None)
                raise failure

    def _free(self, end: Callable[[Any], None] = lib.rlpy_free,
              state: Optional[State] = None) -> None:
        """Ends the handle: a lock that is held is given up, a wait is canceled.

        `state` is what it is from now on; None: the library knows.
        """
        client = self._client
        with client._core.gate:
            client._locks.pop(self._id, None)
            ended = client._pending.pop(self._id, None)
            if self._slot[0]:
                now = self.state if state is None else state
                self._last_state = (State.RELEASED if now in (State.HELD, State.JEOPARDY)
                                    else now)
                if self._terms.has(lib.REDLOCK_FENCED):
                    self._last_fence = self.fence or 0
                end(self._slot)
        if ended is not None:
            client._settle(ended, InvalidRequest("the lock was given back meanwhile"))

    # ---- news ----

    def _note_lost(self, loss: Error) -> None:
        if self._slot[0] and self._loss is None:
            loss.report = self.report()
            self._be_lost(loss)

    def _be_lost(self, loss: Error) -> None:
        raise NotImplementedError

    def _note_jeopardy(self, error: Optional[Error]) -> None:
        if error is not None:
            logger.warning("lock %r: a renewal failed: %s; %.1f s are left", self.name, error,
                           self.remaining)
        else:
            logger.info("lock %r: renewed again", self.name)
        if self._on_jeopardy is not None:
            self._client._call(self._on_jeopardy, self, error)

    def _note_place(self, place: int) -> None:
        if self._on_queued is not None:  # for the type checker: without it none is requested
            self._client._call(self._on_queued, self, place)
