# SPDX-License-Identifier: BSD-2-Clause
"""What the nodes replied, as Python objects. Times are seconds; None: unknown, or there is none."""
import enum
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Tuple

from ._native import ffi, lib


class _Word(enum.IntEnum):
    """A number of the library that prints as its word."""

    def __str__(self) -> str:
        return self.name.lower()

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)


class Kind(_Word):
    """What a lock excludes. All kinds of one name exclude each other."""

    MUTEX = 0  #: one holder
    SHARED = 1  #: many readers, never together with the holder of a mutex
    REENTRANT = 2  #: one owner, any number of holds
    SEMAPHORE = 3  #: at most `slots` holders


class State(_Word):
    """What became of a lock, by the local clock."""

    UNUSED = -1  #: client.lock() has made it, and no node has got a request yet
    WAITING = 0  #: being acquired
    FAILED = 1  #: it was not acquired
    ADOPTED = 2  #: adopted and not extended yet: for how long it is ours is not known
    HELD = 3  #: certainly ours
    JEOPARDY = 4  #: still ours, but the last renewal failed
    LOST = 5  #: was ours and ended before it was released
    RELEASED = 6


class Vote(_Word):
    """What one node did for one operation; `text` has it in words."""

    NONE = 0  #: the operation did not involve this node (yet)
    PENDING = 1  #: it got its request, and the operation was decided without it
    GRANTED = 2
    TAKEN = 3  #: by another
    MISSING = 4  #: the key is gone
    SILENT = 5  #: no answer within the deadline
    REFUSED = 6
    UNREACHABLE = 7
    AUTH = 8
    PROTO = 9
    LOADING = 10
    READONLY = 11
    ERROR = 12
    GUARDED = 13  #: in quarantine
    NOPERM = 14  #: the user lacks a right

    @property
    def text(self) -> str:
        return text(lib.redlock_vote_text(int(self)))


class Verdict(_Word):
    """What an audit thinks of one thing."""

    OK = 0
    WARN = 1  #: works, but an assumption of the algorithm is at risk
    FAIL = 2  #: mutual exclusion or availability is broken
    UNKNOWN = 3  #: the server does not report it


class Reason(_Word):
    """Why a node does not vote or did not answer, or what is doubtful; `text` has it in words."""

    NONE = 0
    UNRESOLVED = 1
    REFUSED = 2
    UNREACHABLE = 3
    RESOURCES = 4
    SILENT = 5
    LATE = 6
    TLS_PORT = 7
    PLAIN_PORT = 8
    AUTHORITY = 9
    SERVER_NAME = 10
    CERTIFICATE = 11
    CLIENT_CERTIFICATE = 12
    TLS = 13
    PASSWORD_NEEDED = 14
    WRONG_PASSWORD = 15
    PROTECTED_MODE = 16
    RIGHTS = 17
    PROTOCOL = 18
    LOADING = 19
    REPLICA = 20
    CLUSTER = 21
    SENTINEL = 22
    SERVER_ERROR = 23
    COUNTER = 24
    UNCHECKED = 25
    YOUNG = 26
    INFO = 27
    PROMOTED = 28
    NOT_ADMITTED = 29
    MAX_TTL = 30
    CLOCK = 31
    OTHER_SET = 32
    OTHER_NUMBER = 33
    OTHER_QUORUM = 34
    NO_SET = 35
    SET_PENDING = 36
    SET_CHANGED = 37
    SET_UNREADABLE = 38
    VERSION = 39
    SAME_SERVER = 40
    NEW_TERM = 41
    NO_TERM = 42
    NOT_VOUCHED = 43
    NO_GROUP = 44
    NO_SENTINEL = 45
    SENTINEL_LOGIN = 46
    SENTINEL_TWICE = 47
    ELECTORS = 48
    FAILOVER = 49
    EVICTION = 50
    PERSISTENCE = 51
    SKEW = 52
    SET_BY_NAME = 53
    NO_SETS = 54
    GUARD_OFF = 55
    TOO_FEW = 56
    EVEN_NUMBER = 57
    ONE_NODE = 58
    SHORT_TTL = 59
    ONE_HOST = 60
    VERSIONS = 61
    PLACEMENT = 62
    EXPOSED = 63
    SLOT = 64
    NO_CLUSTER = 65

    @property
    def text(self) -> str:
        return text(lib.redlock_reason_text(int(self)))


@dataclass(frozen=True)
class Holder:
    """One holder of a lock. `..._for` is since when, `remaining` until when, in seconds."""

    value: str
    label: str
    fingerprint: str  #: for break_lock(); only query() reports it
    held_for: Optional[float]
    held_at_least: bool  #: `held_for` is a lower bound
    votes: int  #: on how many nodes it was found
    remaining: Optional[float]  #: how long it stays on a majority of the nodes


@dataclass(frozen=True)
class Waiter:
    """One waiter in the queue of a lock."""

    name: str
    label: str
    waited_for: Optional[float]


@dataclass(frozen=True)
class NodeReport:
    """What one node replied in one operation."""

    address: str
    vote: Vote
    reason: Optional[Reason]  #: why it did not vote or answer; None if it did
    rtt: Optional[float]
    key_remaining: Optional[float]
    value: str  #: the value that is in the way; "" if there is none
    text: str  #: the server's or the system's words

    def __str__(self) -> str:
        return f"{self.address}: {self.vote.text}" + (f" ({self.text})" if self.text else "")


@dataclass(frozen=True)
class Report:
    """Node by node, what happened, in the order in which the nodes were configured."""

    nodes: Tuple[NodeReport, ...]
    quorum: int  #: how many votes a majority is
    quorum_index: int  #: of several quorums: which one
    quorum_name: str
    holder: Optional[Holder]  #: the holder that is, or was, in the way
    waiter_count: int

    def __str__(self) -> str:
        return "; ".join(map(str, self.nodes))


@dataclass(frozen=True)
class LockInfo:
    """What query() found. Advice, never a basis for acting: it is old when it arrives."""

    name: str
    held: bool
    kind: Optional[Kind]
    holder: Optional[Holder]  #: what most nodes have; None when no node has anything
    fence: int
    disagree: bool  #: the nodes that answered do not all report the same
    slots: int
    owner: str
    holder_count: int
    holders: Tuple[Holder, ...]  #: the first of them, one by one
    waiter_count: int
    waiters: Tuple[Waiter, ...]
    report: Optional[Report] = field(repr=False)


@dataclass(frozen=True)
class NodeInfo:
    """The state of one connection, without asking the node."""

    address: str
    state: str  #: "down", "connecting" or "up"
    reason: Optional[Reason]  #: why it is down, late or in quarantine; None if it is not
    text: str  #: the same in words, with the particulars
    tls: bool
    native: bool
    rtt: Optional[float]
    connects: int
    pending: int
    version: str
    quarantined: bool
    misplaced: bool  #: quarantined since it belongs to another set of nodes, or to none
    quarantine: Optional[float]
    clock_offset: Optional[float]
    answered: Optional[float]  #: seconds since its last reply
    quorum_index: int
    quorum_name: str
    #: "server", "failover" (another can take its place unseen) or "sentinel" (a group)
    deployment: str
    server: str  #: of a group: the one that most of its sentinels name
    term: Optional[int]  #: and its epoch


@dataclass(frozen=True)
class Check:
    """One line of an audit."""

    address: str
    name: str
    verdict: Verdict
    reason: Optional[Reason]  #: None with Verdict.OK
    text: str
    remedy: str
    quorum: str


@dataclass(frozen=True)
class Histogram:
    """Times that were measured, with the counts of the library's buckets."""

    count: int
    total: float
    buckets: Tuple[int, ...]


NODE_STATES = ("down", "connecting", "up")
DEPLOYMENTS = ("server", "failover", "sentinel", "cluster")


def text(pointer: Any) -> str:
    """A C string; "" for NULL. Names are bytes and need not be UTF-8."""
    if pointer == ffi.NULL:
        return ""
    raw: bytes = ffi.string(pointer)
    return raw.decode("utf-8", "surrogateescape")


def seconds(number: int, in_a_second: float = 1e3) -> Optional[float]:
    return None if number < 0 else number / in_a_second


def _reason(number: int) -> Optional[Reason]:
    return Reason(number) if number else None


def _holder_of(c: Any) -> Holder:
    return Holder(text(c.value), text(c.label), text(c.fingerprint), seconds(c.held_ms),
                  bool(c.held_at_least), c.votes, seconds(c.remaining_ms))


def _known_holder_of(c: Any) -> Optional[Holder]:
    holder = _holder_of(c)
    return holder if holder.value else None


def report_of(c: Any) -> Optional[Report]:
    if c == ffi.NULL:
        return None
    nodes = tuple(
        NodeReport(text(n.address), Vote(n.vote), _reason(n.reason), seconds(n.rtt_us, 1e6),
                   seconds(n.key_remaining_ms), text(n.value), text(n.text))
        for n in (c.node[i] for i in range(c.node_count)))
    return Report(nodes, c.quorum, c.quorum_index, text(c.quorum_name),
                  _known_holder_of(c.holder), c.waiter_count)


def info_of(name: str, c: Any, report: Optional[Report]) -> LockInfo:
    holders = tuple(_holder_of(c.holders[i]) for i in range(c.holders_shown))
    waiters = tuple(Waiter(text(w.name), text(w.label), seconds(w.waited_ms))
                    for w in (c.waiters[i] for i in range(c.waiters_shown)))
    return LockInfo(name, bool(c.held), None if c.kind < 0 else Kind(c.kind),
                    _known_holder_of(c.holder), c.fence, bool(c.disagree), c.slots, text(c.owner),
                    c.holder_count, holders, c.waiter_count, waiters, report)


def node_of(c: Any) -> NodeInfo:
    offset = None if c.clock_error_us < 0 else c.clock_offset_us / 1e6
    return NodeInfo(text(c.address), NODE_STATES[c.state], _reason(c.reason), text(c.text),
                    bool(c.tls), bool(c.native), seconds(c.rtt_us, 1e6), c.connects, c.pending,
                    text(c.version), bool(c.quarantined), bool(c.misplaced),
                    seconds(c.quarantine_ms), offset, seconds(c.answered_ms), c.quorum_index,
                    text(c.quorum_name), DEPLOYMENTS[c.deployment], text(c.server),
                    None if c.term < 0 else c.term)


def check_of(c: Any) -> Check:
    return Check(text(c.address), text(c.name), Verdict(c.verdict), _reason(c.reason),
                 text(c.text), text(c.remedy), text(c.quorum))


#: All of the library, by their names.
COUNTERS = [name for name, field in ffi.typeof("redlock_counters").fields
            if field.type.kind == "primitive" and name != "size"]


@dataclass(frozen=True)
class Stats:
    """What a client has done since it was opened; `waiting` and `held` are of this moment."""

    counters: Dict[str, int]
    wait: Histogram
    hold: Histogram

    def __getitem__(self, name: str) -> int:
        return self.counters[name]


def stats_of(c: Any) -> Stats:
    def histogram(h: Any) -> Histogram:
        buckets: List[int] = list(h.bucket)
        return Histogram(h.count, h.sum_us / 1e6, tuple(buckets))

    return Stats({name: getattr(c, name) for name in COUNTERS}, histogram(c.wait),
                 histogram(c.hold))
