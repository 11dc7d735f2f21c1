# SPDX-License-Identifier: BSD-2-Clause
"""What the nodes can be queried for: how the library is called, and what becomes of its answer."""
from dataclasses import dataclass
from typing import Any, Callable, Generic, List, Optional, Tuple, TypeVar, Union

from ._errors import Error
from ._model import Check, LockInfo, Report, check_of, info_of, report_of, text
from ._native import lib
from ._terms import Name, encoded, milliseconds

T = TypeVar("T")


@dataclass(frozen=True)
class Job(Generic[T]):
    """A request to the nodes, not sent yet. `read` makes a redlock_answer a value of Python."""

    start: Callable[..., int]
    arguments: Tuple[Any, ...]
    read: Callable[[Any], T]
    quorum: Optional[int] = None  #: which one alone; None: the whole client


def answer_of(result: Union[T, Error]) -> T:
    """What the future of a job has in the end."""
    if isinstance(result, Error):
        raise result
    return result


def query(name: Name) -> Job[LockInfo]:
    raw = encoded(name)

    def read(answer: Any) -> LockInfo:
        return info_of(raw.decode("utf-8", "surrogateescape"), answer.info,
                       report_of(answer.report))

    return Job(lib.redlock_start_query, (raw,), read)


def list_names(quorum: Optional[int]) -> Job[List[str]]:
    def read(answer: Any) -> List[str]:
        return [text(answer.names[i]) for i in range(answer.name_count)]

    return Job(lib.redlock_start_list, (), read, quorum)


def _report(answer: Any) -> Optional[Report]:
    return report_of(answer.report)


def break_lock(name: Name, fingerprint: str) -> Job[Optional[Report]]:
    return Job(lib.redlock_start_break, (encoded(name), fingerprint.encode()), _report)


def release_by_key(name: Name, idempotency_key: str) -> Job[Optional[Report]]:
    return Job(lib.redlock_start_release_by_key, (encoded(name), idempotency_key.encode()),
               _report)


def ping(quorum: Optional[int]) -> Job[Optional[Report]]:
    return Job(lib.redlock_start_ping, (), _report, quorum)


def replicate(quorum: Optional[int]) -> Job[Optional[Report]]:
    return Job(lib.redlock_start_replicate, (), _report, quorum)


def init(quorum: Optional[int]) -> Job[Optional[Report]]:
    return Job(lib.redlock_start_admit, (), _report, quorum)


def audit(ttl: float) -> Job[List[Check]]:
    def read(answer: Any) -> List[Check]:
        return [check_of(answer.checks[i]) for i in range(answer.check_count)]

    return Job(lib.redlock_start_audit, (milliseconds(ttl, "ttl"),), read)
