# SPDX-License-Identifier: BSD-2-Clause
"""A distributed lock over independent Redis or Valkey servers.

    async with redlock_native.AsyncClient() as client:
        async with client.lock("report", ttl=30) as lock:
            ...

    with redlock_native.Client() as client:
        with client.lock("report"):
            ...

AsyncClient is for asyncio, Client for threads. All times are seconds. Without nodes, both use those
of REDLOCK_NODES or redlock.conf, as the command `redlock` does.
"""
from ._aio import AsyncClient
from ._aio_lock import AsyncLock
from ._errors import (AlreadyYours, AuthenticationFailed, Canceled, Error, Forked, Guarded,
                      InvalidRequest, LockBusy, LockExpired, LockLost, LockTimeout, NoQuorum,
                      OutOfMemory, ProtocolError, SystemFailure)
from ._model import (Check, Histogram, Holder, Kind, LockInfo, NodeInfo, NodeReport, Reason, Report,
                     State, Stats, Verdict, Vote, Waiter, text as _text)
from ._native import lib as _lib
from ._once import SKIPPED, Skipped
from ._sync import Client
from ._sync_lock import Lock

#: The version of the C library in use, which is that of this package.
__version__: str = _text(_lib.redlock_version())

__all__ = [
    "AlreadyYours", "AsyncClient", "AsyncLock", "AuthenticationFailed", "Canceled", "Check",
    "Client", "Error", "Forked", "Guarded", "Histogram", "Holder", "InvalidRequest", "Kind",
    "Lock", "LockBusy", "LockExpired", "LockInfo", "LockLost", "LockTimeout", "NoQuorum",
    "NodeInfo", "NodeReport", "OutOfMemory", "ProtocolError", "Reason", "Report", "SKIPPED",
    "Skipped", "State", "Stats", "SystemFailure", "Verdict", "Vote", "Waiter",
]
