# SPDX-License-Identifier: BSD-2-Clause
"""What both clients share: opening, and what a handle tells."""
import itertools
import logging
import os
import warnings
import weakref
from typing import Any, Callable, Dict, List, Optional

from ._errors import Error, Forked, InvalidRequest, LockLost, error_of, thread_error
from ._model import (LockInfo, NodeInfo, Report, State, Stats, info_of, node_of, report_of, stats_of,
                     text)
from ._native import ffi, lib
from ._terms import Name, Nodes, Terms, c_text, encoded, fill_nodes, milliseconds

logger = logging.getLogger("redlock")

Notice = Callable[..., object]

NEWS_MAX = 256  # news taken from the library with one call

DONE: int = lib.RLPY_DONE
LOST: int = lib.RLPY_LOST
JEOPARDY: int = lib.RLPY_JEOPARDY
QUEUED: int = lib.RLPY_QUEUED
FIELDS: int = lib.RLPY_NEWS_FIELDS


class Core:
    """The client in C. Ends with close(), which any thread may call, any number of times."""

    def __init__(self, options: Any) -> None:
        self.pointer = lib.rlpy_open(options)
        if not self.pointer:
            raise thread_error(lib.rlpy_error())
        self.process = os.getpid()
        self.is_open = True

    def is_parent(self) -> bool:
        """Is this the process that opened it?"""
        return os.getpid() == self.process

    def close(self) -> None:
        if self.is_open:
            self.is_open = False
            lib.rlpy_close(self.pointer)

    def __del__(self) -> None:
        if getattr(self, "pointer", None):
            lib.rlpy_client_free(self.pointer)
            self.pointer = None


class ClientBase:
    """Opening, and what needs no node to be asked."""

    _threaded = False

    def __init__(self, nodes: Nodes = None, *, config_file: Optional[str] = None,
                 strict: bool = False, guard: bool = True, native: bool = True,
                 node_timeout: Optional[float] = None, connect_timeout: Optional[float] = None,
                 max_ttl: Optional[float] = None, drift: Optional[float] = None,
                 retry_min: Optional[float] = None, retry_max: Optional[float] = None,
                 prefix: Optional[str] = None, username: Optional[str] = None,
                 password: Optional[str] = None, password_file: Optional[str] = None,
                 client_name: Optional[str] = None, tls_ca_file: Optional[str] = None,
                 tls_cert_file: Optional[str] = None, tls_key_file: Optional[str] = None,
                 tls_server_name: Optional[str] = None, label: Optional[str] = None,
                 warn: bool = True) -> None:
        """Opens a client; connecting goes on in the background, so this does not wait.

        nodes            URLs of the nodes ("redis://10.0.0.1", ...), or a mapping of quorum names
                         to such lists, or both as REDLOCK_NODES has them; None: the machine's
                         configuration, REDLOCK_NODES or redlock.conf, as for the command
        config_file      without nodes: this configuration file and no other
        strict           read the node's marker with every acquire
        guard            False: trust every node, however young (for tests)
        native           False: always use scripts
        node_timeout     deadline of a request to one node (0.05 s)
        connect_timeout  for one connection (1 s)
        max_ttl          the most that any client of these nodes may ask (60 s)
        drift            allowance for the rate of clocks (0.01)
        retry_min, retry_max   bounds of the delay between attempts (0.01 and 0.25 s)
        prefix           before every name, to make the key ("redlock:")
        username, password, password_file    for nodes whose URL has none
        tls_...          files in PEM, and the name to verify instead of the URL's host
        label            of every lock that names none of its own
        warn             False: doubts about the nodes are not logged

        Raises InvalidRequest for what makes no sense, also when no node is configured anywhere.
        """
        self._options = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        keep: List[Any] = []
        options = ffi.new("redlock_options *", {"size": ffi.sizeof("redlock_options")})
        fill_nodes(options, nodes, keep)
        options.flags = ((lib.REDLOCK_THREAD if self._threaded else 0)
                         | (0 if native else lib.REDLOCK_NO_NATIVE)
                         | (lib.REDLOCK_STRICT if strict else 0)
                         | (0 if guard else lib.REDLOCK_NO_GUARD))
        for field, value in (("node_timeout", node_timeout), ("connect_timeout", connect_timeout),
                             ("max_ttl", max_ttl), ("retry_min", retry_min),
                             ("retry_max", retry_max)):
            if value is not None:
                self._set_number(options, field + "_ms", milliseconds(value, field))
        if drift is not None:
            self._set_number(options, "drift_ppm", round(drift * 1e6))
        for field, words in (("config_file", config_file), ("prefix", prefix),
                             ("username", username), ("password", password),
                             ("password_file", password_file), ("client_name", client_name),
                             ("tls_ca_file", tls_ca_file), ("tls_cert_file", tls_cert_file),
                             ("tls_key_file", tls_key_file), ("tls_server_name", tls_server_name)):
            setattr(options, field, c_text(words, keep))
        self._label = label
        self._tells_doubts = warn
        self._is_closing = False
        self._core = Core(options)
        self._pointer = self._core.pointer
        self._process = self._core.process
        self._ids = itertools.count(1)
        self._locks: Dict[int, "weakref.ref[LockBase]"] = {}
        self._news = ffi.new("int64_t[]", NEWS_MAX * FIELDS)

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

    def _check(self) -> None:
        """Raises what every call raises on a client that cannot be used here."""
        if os.getpid() != self._process:
            raise Forked("this client was opened by the parent process; a child must open its own "
                         "(with gunicorn and other pre-forking servers: after the fork)")
        if not self._core.is_open:
            raise InvalidRequest("the client has been closed")

    def nodes(self) -> List[NodeInfo]:
        """The state of every node, without asking it."""
        self._check()
        found: List[NodeInfo] = []
        info = ffi.new("redlock_node_info *", {"size": ffi.sizeof("redlock_node_info")})
        while lib.rlpy_node(self._pointer, len(found), info) == 0:
            found.append(node_of(info))
        return found

    def stats(self) -> Stats:
        """What this client has done since it was opened."""
        self._check()
        stats = ffi.new("redlock_stats *", {"size": ffi.sizeof("redlock_stats")})
        error = lib.rlpy_stats(self._pointer, stats)
        if error:
            raise thread_error(error)
        return stats_of(stats)

    def quorum_of(self, name: Name) -> int:
        """In which of several quorums `name` lives, from 0."""
        self._check()
        index: int = lib.rlpy_quorum_of(self._pointer, encoded(name))
        if index < 0:
            raise thread_error(index)
        return index

    # ---- news ----

    def _call(self, function: Notice, *arguments: object) -> None:
        """Calls a function of the program that is to be told about a lock."""
        raise NotImplementedError

    def _warn_of(self, address: int) -> None:
        warning = ffi.cast("rlpy_warning *", address)
        words = text(warning.address), text(warning.text)
        lib.rlpy_warning_free(warning)
        if self._tells_doubts:
            logger.warning("%s: %s", *words)

    def _lock_of(self, ident: int) -> "Optional[LockBase]":
        found = self._locks.get(ident)
        return found() if found is not None else None

    def _tell(self, ident: int, kind: int, number: int) -> None:
        """Brings one piece of news, other than an end, to its lock."""
        if ident == 0:
            self._warn_of(number)
            return
        lock = self._lock_of(ident)
        if lock is None:
            return
        if kind == LOST:
            lock._note_lost(number)
        elif kind == JEOPARDY:
            lock._note_jeopardy(number)
        elif kind == QUEUED:
            lock._note_place(number)


class LockBase:
    """What a handle tells. All of it is local: no node is asked."""

    def __init__(self, client: ClientBase, terms: Terms, on_jeopardy: Optional[Notice],
                 on_queued: Optional[Notice]) -> None:
        self._client = client
        self._terms = terms
        self._on_jeopardy = on_jeopardy
        self._on_queued = on_queued
        self._op: Any = None  # the operation in C while it is held or waited for
        self._id = 0
        self._last_state = State.IDLE  # what it is without a handle
        self._last_fence = 0
        self._loss: Optional[Error] = None

    @property
    def name(self) -> str:
        """The name as given; of several, the first."""
        return self._terms.name.decode("utf-8", "surrogateescape")

    @property
    def state(self) -> State:
        """What became of it, asked of the local clock at this moment."""
        number = lib.rlpy_state(self._op) if self._op else -1
        # Negative: the client was closed, or belongs to the parent process.
        return State(number) if number >= 0 else self._last_state

    @property
    def held(self) -> bool:
        """Is it certainly ours at this moment?"""
        return self.state in (State.HELD, State.JEOPARDY)

    @property
    def remaining(self) -> float:
        """For how many seconds it is still certainly ours, by the local clock; 0 if not held."""
        return max(0, lib.rlpy_remaining_ms(self._op)) / 1e3 if self._op else 0.0

    @property
    def deadline(self) -> float:
        """The end of that, in seconds of time.CLOCK_BOOTTIME; 0 when it is not held."""
        return max(0, lib.rlpy_deadline_ns(self._op)) / 1e9 if self._op else 0.0

    @property
    def fence(self) -> int:
        """The fencing token of a lock taken with fence=True; 0 without one."""
        return lib.rlpy_fence(self._op) if self._op else self._last_fence

    @property
    def position(self) -> int:
        """The place in the queue while it is waited for, 1 is the head; 0: not in a queue."""
        return lib.rlpy_position(self._op) if self._op else 0

    @property
    def slot(self) -> int:
        """Which slot of a semaphore is held, from 1; 0: none."""
        return lib.rlpy_slot(self._op) if self._op else 0

    @property
    def margin(self) -> int:
        """On how many nodes it is known to be set beyond a bare majority."""
        return lib.rlpy_margin(self._op) if self._op else 0

    @property
    def value(self) -> str:
        """The value stored under the key: what another process needs to adopt the lock."""
        return text(lib.rlpy_value(self._op)) if self._op else ""

    def report(self) -> Optional[Report]:
        """Node by node, the last operation on this lock."""
        if not self._op:
            return None
        report = ffi.new("redlock_report *", {"size": ffi.sizeof("redlock_report")})
        return report_of(report) if lib.rlpy_report(self._op, report) == 0 else None

    def check(self) -> None:
        """Raises LockLost unless the lock is certainly held, by the local clock."""
        if self._loss is not None:
            raise self._loss
        if not self.held:
            if self.state is State.LOST:
                raise LockLost("the validity of the lock has ended")
            raise InvalidRequest("the lock is not held")

    def leave(self) -> None:
        """Parts with a held lock without releasing it: it stays until its time to live ends."""
        op = self._forget()
        if op:
            lib.rlpy_leave(op)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} {self.state.name.lower()}>"

    def _new_op(self) -> None:
        """A fresh operation, known to the client, before anything is sent."""
        if self._op:
            raise InvalidRequest("this lock is held or being waited for already; client.lock() "
                                 "makes another")
        client = self._client
        if client._is_closing:
            raise InvalidRequest("the client has been closed")
        self._id = next(client._ids)
        self._op = lib.rlpy_new(client._pointer, self._id)
        if not self._op:
            self._op = None
            number = lib.rlpy_error()
            raise error_of(number, "")
        client._locks[self._id] = weakref.ref(self)

    def _failure(self, number: int) -> Error:
        """The exception for the operation that has just ended."""
        return error_of(number, text(lib.rlpy_detail(self._op)), self.report())

    def _forget(self) -> Any:
        """Parts with the operation, which the caller ends; what it said last stays readable."""
        op, self._op = self._op, None
        if op:
            self._client._locks.pop(self._id, None)
        return op

    def _free(self) -> None:
        """Ends the handle: a lock that is held is given up, a wait is canceled."""
        state = self.state
        op = self._forget()
        if op:
            if self._terms.flags & lib.REDLOCK_FENCED:
                self._last_fence = lib.rlpy_fence(op)
            self._last_state = State.RELEASED if state in (State.HELD, State.JEOPARDY) else state
            lib.rlpy_free(op)

    def _lost_error(self, number: int) -> Error:
        return error_of(number, text(lib.rlpy_lost_detail(self._op)), self.report())

    def _note_lost(self, number: int) -> None:
        raise NotImplementedError

    def _note_jeopardy(self, number: int) -> None:
        error = error_of(number, "") if number else None
        if error is not None:
            logger.warning("lock %r: a renewal failed: %s; %.1f s are left", self.name, error,
                           self.remaining)
        else:
            logger.info("lock %r: renewed again", self.name)
        if self._on_jeopardy is not None:
            self._client._call(self._on_jeopardy, self, error)

    def _note_place(self, place: int) -> None:
        if self._on_queued is not None:
            self._client._call(self._on_queued, self, place)

    def _warn_unreleased(self) -> None:
        warnings.warn(f"{self!r} was dropped without being released", ResourceWarning,
                      stacklevel=3)


def answer_error(op: Any, number: int) -> Error:
    return error_of(number, text(lib.rlpy_detail(op)), report_of(lib.rlpy_answer_report(op)))


def answer_info(op: Any, name: Name) -> LockInfo:
    shown = name if isinstance(name, str) else name.decode("utf-8", "surrogateescape")
    return info_of(shown, lib.rlpy_answer_info(op), report_of(lib.rlpy_answer_report(op)))


def answer_names(op: Any) -> List[str]:
    return [text(lib.rlpy_answer_name(op, i)) for i in range(lib.rlpy_answer_count(op))]
