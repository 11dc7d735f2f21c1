# SPDX-License-Identifier: BSD-2-Clause
"""One exception for each error of the library. Each carries what every node replied."""
from typing import Dict, Optional, Type

from ._model import Report, text
from ._native import lib

CLASSES: "Dict[str, Type[Error]]" = {}  # by their codes


class Error(Exception):
    """The base of all of them.

    code    the library's word for it, "BUSY" and so on
    number  its number, negative
    detail  one sentence: what was wrong and what to do
    report  what every node replied, or None when nothing was sent
    """

    code = "UNKNOWN"

    def __init_subclass__(cls, *, code: Optional[str] = None) -> None:
        if code is not None:  # one of a program has that of its base
            cls.code = code
            CLASSES[code] = cls

    def __init__(self, detail: str = "", *, number: int = 0,
                 report: Optional[Report] = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.number = number
        self.report = report


class LockBusy(Error, code="BUSY"):
    """Held by another, and `wait` was 0. `report.holder` is the holder, as far as it is known."""


class NoQuorum(Error, code="NOQUORUM"):
    """Too few nodes could vote; `report` has what each did."""


class LockTimeout(Error, TimeoutError, code="TIMEOUT"):
    """Still held by another when the wait ended."""


class LockLost(Error, code="LOST"):
    """The lock ended before it was released: what it protects must not be touched any more."""


class LockExpired(LockLost, code="EXPIRED"):
    """The lock had ended when it was released; no other holder was seen."""


class Guarded(Error, code="GUARDED"):
    """Nodes in quarantine, young or suspect ones, prevent a quorum."""


class Canceled(Error, code="CANCELED"):
    """The client was closed while this was under way."""


class InvalidRequest(Error, ValueError, code="INVAL"):
    """An argument that makes no sense, or a call at the wrong time."""


class AuthenticationFailed(Error, code="AUTH"):
    """The nodes refuse the credentials, so that a majority is impossible."""


class ProtocolError(Error, code="PROTO"):
    """The nodes do not speak the Redis protocol."""


class OutOfMemory(Error, MemoryError, code="NOMEM"):
    """No memory was left."""


class SystemFailure(Error, code="SYSTEM"):
    """A system call failed."""


class Forked(Error, RuntimeError, code="FORKED"):
    """Used in a child of the process that opened it: a child opens its own client."""


class AlreadyYours(Error, code="YOURS"):
    """Held already under the idempotency key of this request."""


def error_of(number: int, detail: str, report: Optional[Report] = None) -> Error:
    """The exception for an error number of the library."""
    name = text(lib.redlock_error_name(number))
    words = detail or text(lib.redlock_strerror(number))
    return CLASSES.get(name, Error)(words, number=number, report=report)


def thread_error(number: int) -> Error:
    """The same for the last call of this thread."""
    return error_of(number, text(lib.redlock_detail()))
