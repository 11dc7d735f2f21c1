# SPDX-License-Identifier: BSD-2-Clause
"""A program with types, for mypy --strict: what users write is what the package declares."""
import asyncio
import threading
from typing import List, Optional, Union

import redlock_native as redlock


async def with_asyncio() -> None:
    async with redlock.AsyncClient(["redis://a", "redis://b"], node_timeout=0.5) as client:
        async with client.lock("x", ttl=30, wait=None, on_lost="event") as lock:
            left: float = lock.remaining
            token: Optional[int] = lock.fence
            event: asyncio.Event = lock.lost
            print(left, token, event, lock.state is redlock.State.HELD)
        handle: redlock.AsyncLock = await client.acquire("x", fenced=True)
        await handle.release()
        info: redlock.LockInfo = await client.query("x")
        names: List[str] = await client.list()
        print(info.holders[0].fingerprint, names, [node.misplaced for node in client.nodes()])

        @client.once("job", every=60)
        async def job(number: int) -> str:
            return str(number)

        outcome: Union[str, redlock.Skipped] = await job(1)

        async def work(lock: redlock.AsyncLock) -> int:
            return lock.fence or 0

        term: int = await client.lead("scheduler", work, fair=True)
        print(term)
        print(outcome)


def with_threads() -> None:
    def on_lost(lock: redlock.Lock) -> None:
        print(lock.name)

    try:
        with redlock.Client({"east": ["a"], "west": ["b"]}) as client:
            with client.lock("x", "y", on_lost=on_lost) as lock:
                event: threading.Event = lock.lost
                lock.extend(3.5)
                print(event)
    except redlock.Error as error:
        report: Optional[redlock.Report] = error.report
        votes = [node.vote for node in report.nodes] if report else []
        print(error.code, votes.count(redlock.Vote.GRANTED))
