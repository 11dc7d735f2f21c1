# SPDX-License-Identifier: BSD-2-Clause
"""One exception for each error of the library. Each carries what every node said."""
from typing import Dict, Optional, Type

from ._model import Report, text
from ._native import lib


class Error(Exception):
    """The base of all of them.

    code    the library's word for it, "BUSY" and so on
    number  its number, negative
    detail  one sentence: what was wrong and what to do
    report  what every node said, or None when no node was asked
    """

    code = "UNKNOWN"

    def __init__(self, detail: str = "", *, number: int = 0,
                 report: Optional[Report] = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.number = number
        self.report = report


class LockBusy(Error):
    """Held by another, and `wait` was 0. `report.holder` is the holder, as far as it is known."""

    code = "BUSY"


class NoQuorum(Error):
    """Too few nodes could vote; `report` says what each did."""

    code = "NOQUORUM"


class LockTimeout(Error, TimeoutError):
    """Still held by another when the wait ended."""

    code = "TIMEOUT"


class LockLost(Error):
    """The lock ended before it was released: what it protects must not be touched any more."""

    code = "LOST"


class LockExpired(LockLost):
    """The lock had ended when it was released; no other holder was seen."""

    code = "EXPIRED"


class Guarded(Error):
    """Nodes in quarantine, young or suspect ones, prevent a quorum."""

    code = "GUARDED"


class Canceled(Error):
    """The client was closed while this was under way."""

    code = "CANCELED"


class InvalidRequest(Error, ValueError):
    """An argument that makes no sense, or a call at the wrong time."""

    code = "INVAL"


class AuthenticationFailed(Error):
    """The nodes refuse the credentials, so that a majority is impossible."""

    code = "AUTH"


class ProtocolError(Error):
    """The nodes do not speak the Redis protocol."""

    code = "PROTO"


class OutOfMemory(Error, MemoryError):
    """No memory was left."""

    code = "NOMEM"


class SystemFailure(Error):
    """A system call failed."""

    code = "SYSTEM"


class Forked(Error, RuntimeError):
    """Used in a child of the process that opened it: a child opens its own client."""

    code = "FORKED"


class AlreadyYours(Error):
    """Held already under the idempotency key of this request."""

    code = "YOURS"


CLASSES: Dict[str, Type[Error]] = {
    c.code: c for c in (LockBusy, NoQuorum, LockTimeout, LockLost, LockExpired, Guarded, Canceled,
                        InvalidRequest, AuthenticationFailed, ProtocolError, OutOfMemory,
                        SystemFailure, Forked, AlreadyYours)}


def error_of(number: int, detail: str, report: Optional[Report] = None) -> Error:
    """The exception for an error number of the library."""
    name = text(lib.redlock_error_name(number))
    words = detail or text(lib.redlock_strerror(number))
    return CLASSES.get(name, Error)(words, number=number, report=report)


def thread_error(number: int) -> Error:
    """The same for the last call of this thread."""
    return error_of(number, text(lib.redlock_detail()))
