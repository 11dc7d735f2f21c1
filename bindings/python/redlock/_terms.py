# SPDX-License-Identifier: BSD-2-Clause
"""From Python's values to those of the library: names, times, nodes, the terms of a lock."""
import math
import os
import re
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from ._errors import InvalidRequest
from ._model import Kind
from ._native import ffi, lib

#: None: the machine's configuration. A mapping: several quorums by their names.
Nodes = Union[None, str, Sequence[str], Mapping[str, Sequence[str]]]
Name = Union[str, bytes]

DEFAULT_TTL = 30.0


def milliseconds(value: float, what: str) -> int:
    """Seconds as whole milliseconds, rounded up, so that a short time does not become none."""
    try:
        return math.ceil(value * 1e3 - 1e-6)
    except (TypeError, ValueError, OverflowError):
        raise InvalidRequest(f"{what} is a number of seconds, not {value!r}") from None


def wait_milliseconds(wait: Optional[float]) -> int:
    if wait is None:
        forever: int = lib.REDLOCK_WAIT_FOREVER
        return forever
    value = milliseconds(wait, "wait")
    if value < 0:
        raise InvalidRequest("wait is None (for ever), 0 (try once) or a number of seconds")
    return value


def encoded(name: Name) -> bytes:
    raw = name.encode("utf-8", "surrogateescape") if isinstance(name, str) else bytes(name)
    if not raw or b"\0" in raw:
        raise InvalidRequest("a lock name has at least one byte, and no zero byte")
    return raw


def c_text(value: Union[None, str, bytes, "os.PathLike[str]"], keep: List[Any]) -> Any:
    """A C string that lives as long as `keep`; NULL for None."""
    if value is None:
        return ffi.NULL
    raw = os.fsencode(value)
    if b"\0" in raw:
        raise InvalidRequest("a text for the library has no zero byte")
    keep.append(ffi.new("char[]", raw))
    return keep[-1]


def c_texts(values: Sequence[Union[str, bytes]], keep: List[Any]) -> Any:
    keep.append(ffi.new("char *[]", [c_text(v, keep) for v in values]))
    return keep[-1]


def split_nodes(words: str) -> Union[List[str], Dict[str, List[str]]]:
    """As REDLOCK_NODES has them: "a,b,c", or "east=a,b,c;west=d,e,f"."""
    listed = [[w for w in re.split(r"[,\s]+", part) if w] for part in words.split(";")]
    quorums: Dict[str, List[str]] = {}
    for urls in listed:
        named = re.match(r"([a-z0-9._-]+)=(.+)", urls[0]) if urls else None
        if named:
            quorums[named[1]] = [named[2], *urls[1:]]
    if not quorums and len(listed) == 1:
        return listed[0]
    if len(quorums) != len([urls for urls in listed if urls]):
        raise InvalidRequest("nodes: with several quorums each has a name of its own: "
                             "'east=a,b,c;west=d,e,f'")
    return quorums


def fill_nodes(options: Any, nodes: Nodes, keep: List[Any]) -> None:
    if nodes is None:
        return
    given = split_nodes(nodes) if isinstance(nodes, str) else nodes
    if not given:
        raise InvalidRequest("nodes is empty; None takes those of REDLOCK_NODES or redlock.conf")
    if not isinstance(given, Mapping):
        options.nodes = c_texts(given, keep)
        options.node_count = len(given)
        return
    quorums = ffi.new("redlock_quorum[]", len(given))
    keep.append(quorums)
    for quorum, (name, urls) in zip(quorums, given.items()):
        quorum.name = c_text(name, keep)
        quorum.nodes = c_texts(urls, keep)
        quorum.node_count = len(urls)
    options.quorums = quorums
    options.quorum_count = len(given)


class Terms:
    """How a lock is asked for: the arguments of client.lock(), as the library wants them."""

    __slots__ = ("flags", "keep", "more", "name", "names", "request", "ttl_ms", "wait_ms")

    def __init__(self, names: Sequence[Name], ttl: float, wait: Optional[float], flags: int) -> None:
        self.names = names
        self.name = encoded(names[0])
        self.ttl_ms = milliseconds(ttl, "ttl")
        self.wait_ms = wait_milliseconds(wait)
        self.flags = flags
        self.request: Any = ffi.NULL
        self.keep: List[Any] = []
        if len(names) > 1:
            more = [encoded(n) for n in names[1:]]
            self.set(more_names=c_texts(more, self.keep), more_name_count=len(more))

    def set(self, **fields: Any) -> None:
        if not self.request:
            self.request = ffi.new("redlock_request *")
        for field, value in fields.items():
            try:
                setattr(self.request, field, value)
            except (OverflowError, TypeError):
                raise InvalidRequest(f"{field}: {value!r} is out of range") from None

    def set_text(self, field: str, value: Optional[str]) -> None:
        if value is not None:
            self.set(**{field: c_text(value, self.keep)})


def terms_of(names: Sequence[Name], *, ttl: float, wait: Optional[float], kind: Kind, slots: int,
             owner: Optional[str], renew: bool, fair: bool, fence: bool, keep: bool, bound: bool,
             label: Optional[str], tag: Optional[str], max_extensions: int,
             max_hold: Optional[float]) -> Terms:
    flags = ((lib.REDLOCK_RENEW if renew else 0) | (lib.REDLOCK_FAIR if fair else 0)
             | (lib.REDLOCK_FENCED if fence else 0) | (lib.REDLOCK_KEEP if keep else 0)
             | (lib.REDLOCK_BOUND if bound else 0))
    terms = Terms(names, ttl, wait, flags)
    if kind or slots:
        terms.set(kind=int(kind), slots=slots)
    if max_extensions:
        terms.set(max_extensions=max_extensions)
    if max_hold is not None:
        terms.set(max_hold_ms=milliseconds(max_hold, "max_hold"))
    terms.set_text("owner", owner)
    terms.set_text("label", label)
    terms.set_text("tag", tag)
    return terms
