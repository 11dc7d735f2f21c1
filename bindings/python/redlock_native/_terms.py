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
REQUEST_SIZE: int = ffi.sizeof("redlock_request")


def milliseconds(value: float, what: str) -> int:
    """Seconds as whole milliseconds, rounded up, so that a short time does not become none."""
    try:
        return math.ceil(value * 1e3 - 1e-6)
    except (TypeError, ValueError, OverflowError):
        raise InvalidRequest(f"{what} is a number of seconds, not {value!r}") from None


def wait_milliseconds(wait: Optional[float]) -> int:
    if wait is None:
        return int(lib.REDLOCK_WAIT_FOREVER)
    value = milliseconds(wait, "wait")
    if value < 0:
        raise InvalidRequest("wait is None (for ever), 0 (try once) or a number of seconds")
    return value


def encoded(name: Name) -> bytes:
    raw = name.encode("utf-8", "surrogateescape") if isinstance(name, str) else bytes(name)
    if not raw or b"\0" in raw:
        raise InvalidRequest("a lock name has at least one byte, and no zero byte")
    return raw


def c_text(value: Any, keep: List[Any]) -> Any:
    """A C string that lives as long as `keep`, of a text or a path; NULL for None."""
    if value is None:
        return ffi.NULL
    if isinstance(value, ffi.CData):
        return value  # it is one already
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
    """How a lock is requested: the arguments of client.lock(), as the library wants them."""

    __slots__ = ("keep", "name", "request", "ttl_ms")

    def __init__(self, names: Sequence[Name], *, ttl: float, wait: Optional[float] = 0,
                 kind: Kind = Kind.MUTEX, slots: int = 0, owner: Optional[str] = None,
                 renew: bool = False, fair: bool = False, fenced: bool = False,
                 keep: bool = False, bound: bool = False, places: bool = False, label: Any = None,
                 idempotency_key: Optional[str] = None, max_extensions: int = 0,
                 max_hold: Optional[float] = None, fence: Optional[int] = None) -> None:
        if not names:
            raise InvalidRequest("a lock has a name")
        self.keep: List[Any] = []  # what the request points to
        self.name = encoded(names[0])
        self.ttl_ms = milliseconds(ttl, "ttl")
        fields = {
            "size": REQUEST_SIZE, "kind": kind, "wait_ms": wait_milliseconds(wait),
            "flags": ((lib.REDLOCK_RENEW if renew else 0) | (lib.REDLOCK_FAIR if fair else 0)
                      | (lib.REDLOCK_FENCED if fenced else 0) | (lib.REDLOCK_KEEP if keep else 0)
                      | (lib.REDLOCK_BOUND if bound else 0)
                      | (lib.REDLOCK_PLACES if places else 0)),
            "slots": slots, "max_extensions": max_extensions, "fence": fence or 0,
            "label": c_text(label, self.keep), "owner": c_text(owner, self.keep),
            "idempotency_key": c_text(idempotency_key, self.keep),
            "more_name_count": len(names) - 1,
        }
        if max_hold is not None:
            fields["max_hold_ms"] = milliseconds(max_hold, "max_hold")
        if len(names) > 1:
            fields["more_names"] = c_texts([encoded(n) for n in names[1:]], self.keep)
        try:
            self.request = ffi.new("redlock_request *", fields)
        except (OverflowError, TypeError) as error:
            raise InvalidRequest(f"a number of this request makes no sense: {error}") from None

    def has(self, flag: int) -> bool:
        return bool(self.request.flags & flag)
