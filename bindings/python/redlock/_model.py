# SPDX-License-Identifier: BSD-2-Clause
"""What the nodes said, as Python objects. Times are seconds; None: unknown, or there is none."""
import enum
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Tuple

from ._native import ffi, lib


class Kind(enum.IntEnum):
    """What a lock excludes. All kinds of one name exclude each other."""

    MUTEX = 0  #: one holder
    SHARED = 1  #: many readers, never together with the holder of a mutex
    REENTRANT = 2  #: one owner, any number of holds
    SEMAPHORE = 3  #: at most `slots` holders


class State(enum.IntEnum):
    """What became of a lock, by the local clock."""

    IDLE = 0  #: not acquired yet, or adopted and not extended yet
    HELD = 1  #: certainly ours
    JEOPARDY = 2  #: still ours, but the last renewal failed
    LOST = 3  #: was ours and ended before it was released
    RELEASED = 4


class Vote(enum.IntEnum):
    """What one node did for one operation; `text` says it in words."""

    NONE = 0  #: the operation did not involve this node (yet)
    PENDING = 1  #: asked, and the operation was decided without it
    GRANTED = 2
    TAKEN = 3  #: by another
    MISSING = 4  #: the key is gone
    TIMEDOUT = 5
    REFUSED = 6
    UNREACHABLE = 7
    AUTH = 8
    PROTO = 9
    LOADING = 10
    READONLY = 11
    ERROR = 12
    GUARDED = 13  #: in quarantine

    @property
    def text(self) -> str:
        return text(lib.redlock_vote_text(int(self)))


class Verdict(enum.IntEnum):
    """What an audit thinks of one thing."""

    OK = 0
    WARN = 1  #: works, but an assumption of the algorithm is at risk
    FAIL = 2  #: mutual exclusion or availability is broken
    UNKNOWN = 3  #: the server does not tell


@dataclass(frozen=True)
class Holder:
    """One holder of a lock."""

    value: str
    label: str
    mark: str  #: for break_lock(); told by query() only
    held: Optional[float]
    held_at_least: bool  #: `held` is a lower bound
    votes: int  #: on how many nodes it was found
    ttl: Optional[float]


@dataclass(frozen=True)
class Waiter:
    """One waiter in the queue of a lock."""

    name: str
    label: str
    waited: Optional[float]


@dataclass(frozen=True)
class NodeReport:
    """What one node said in one operation."""

    address: str
    vote: Vote
    rtt: Optional[float]
    key_ttl: Optional[float]
    holder: str  #: the value that is in the way; "" if there is none
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
    waiters: int

    def __str__(self) -> str:
        return "; ".join(map(str, self.nodes))


@dataclass(frozen=True)
class LockInfo:
    """What query() found. Advice, never a basis for acting: it is old when it arrives."""

    name: str
    held: bool
    votes: int
    holder: str
    label: str
    held_for: Optional[float]
    held_at_least: bool
    ttl: Optional[float]
    fence: int
    kind: Optional[Kind]
    disagree: bool  #: the nodes that answered do not all say the same
    holder_count: int
    slots: int
    owner: str
    waiter_count: int
    holders: Tuple[Holder, ...]  #: the first of them, one by one
    waiters: Tuple[Waiter, ...]
    report: Optional[Report] = field(repr=False)


@dataclass(frozen=True)
class NodeInfo:
    """The state of one connection, without asking the node."""

    address: str
    state: str  #: "down", "connecting" or "up"
    tls: bool
    native: bool
    rtt: Optional[float]
    connects: int
    pending: int
    version: str
    text: str
    quarantined: bool
    quarantine: Optional[float]
    clock_offset: Optional[float]
    quorum_index: int
    quorum_name: str


@dataclass(frozen=True)
class Check:
    """One line of an audit."""

    address: str
    name: str
    verdict: Verdict
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


def text(pointer: Any) -> str:
    """A C string; "" for NULL. Names are bytes and need not be UTF-8."""
    if pointer == ffi.NULL:
        return ""
    raw: bytes = ffi.string(pointer)
    return raw.decode("utf-8", "surrogateescape")


def seconds(milliseconds: int) -> Optional[float]:
    return None if milliseconds < 0 else milliseconds / 1e3


def _microseconds(value: int) -> Optional[float]:
    return None if value < 0 else value / 1e6


def holder_of(c: Any) -> Holder:
    return Holder(text(c.value), text(c.label), text(c.mark), seconds(c.held_ms),
                  bool(c.held_at_least), c.votes, seconds(c.ttl_ms))


def report_of(c: Any) -> Optional[Report]:
    if c == ffi.NULL:
        return None
    nodes = tuple(
        NodeReport(text(n.address), Vote(n.vote), _microseconds(n.rtt_us), seconds(n.key_ttl_ms),
                   text(n.holder), text(n.text))
        for n in (c.node[i] for i in range(c.node_count)))
    holder = holder_of(c.holder)
    return Report(nodes, c.quorum, c.quorum_index, text(c.quorum_name),
                  holder if holder.value else None, c.waiters)


def info_of(name: str, c: Any, report: Optional[Report]) -> LockInfo:
    holders = tuple(holder_of(c.shown_holder[i]) for i in range(c.shown_holder_count))
    waiters = tuple(Waiter(text(w.name), text(w.label), seconds(w.waited_ms))
                    for w in (c.shown_waiter[i] for i in range(c.shown_waiter_count)))
    return LockInfo(name, bool(c.held), c.votes, text(c.holder), text(c.label),
                    seconds(c.held_ms), bool(c.held_at_least), seconds(c.ttl_ms), c.fence,
                    None if c.kind < 0 else Kind(c.kind), bool(c.disagree), c.holder_count,
                    c.slots, text(c.owner), c.waiters, holders, waiters, report)


def node_of(c: Any) -> NodeInfo:
    offset = None if c.clock_error_us < 0 else c.clock_offset_us / 1e6
    return NodeInfo(text(c.address), NODE_STATES[c.state], bool(c.tls), bool(c.native),
                    _microseconds(c.rtt_us), c.connects, c.pending, text(c.version), text(c.text),
                    bool(c.quarantined), seconds(c.quarantine_ms), offset, c.quorum_index,
                    text(c.quorum_name))


def check_of(c: Any) -> Check:
    return Check(text(c.address), text(c.name), Verdict(c.verdict), text(c.text), text(c.remedy),
                 text(c.quorum))


COUNTERS = ("acquired", "refused_busy", "refused_timeout", "refused_noquorum", "refused_guarded",
            "refused_canceled", "refused_other", "late", "adopted", "renewed", "renewals_failed",
            "released", "releases_failed", "left", "lost_expired", "lost_missing", "lost_doubt",
            "waiting", "held")


@dataclass(frozen=True)
class Stats:
    """What a client has done since it was opened; `waiting` and `held` tell of this moment."""

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
