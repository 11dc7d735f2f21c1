# SPDX-License-Identifier: BSD-2-Clause
"""Debian's python3-redis with asyncio: a Redlock made of its Lock, one per server.

All are tried at once (--one-by-one: one after the other), kept when a majority was had, else given
back and tried again after up to --retry-ms.
"""
import asyncio
import random
import time

import driver
import redis.asyncio as redis

TTL_S = 10


class Quorum:
    def __init__(self, servers, retry_s, one_by_one):
        self.servers = servers
        self.retry_s = retry_s
        self.one_by_one = one_by_one

    async def _all(self, calls):
        if self.one_by_one:
            return [await call for call in calls]
        return await asyncio.gather(*calls)

    async def _try(self, lock):
        try:
            return await lock.acquire(blocking=False)
        except redis.RedisError:
            return False

    async def acquire(self, name):
        while True:
            started = time.monotonic()
            locks = [server.lock(name, timeout=TTL_S, thread_local=False) for server in self.servers]
            had = await self._all([self._try(lock) for lock in locks])
            locks = [lock for lock, got in zip(locks, had) if got]
            if len(locks) > len(self.servers) // 2 and time.monotonic() - started < TTL_S * 0.99:
                return locks
            await self.release(locks)
            await asyncio.sleep(random.uniform(0, self.retry_s))

    async def _give_back(self, lock):
        try:
            await lock.release()
        except redis.RedisError:
            pass

    async def release(self, locks):
        await self._all([self._give_back(lock) for lock in locks])


async def main():
    words = driver.parser()
    words.add_argument("--retry-ms", type=float, default=100)
    words.add_argument("--one-by-one", action="store_true")
    options = words.parse_args()
    servers = [redis.Redis(host=host, port=port) for host, port in driver.addresses(options)]
    client = Quorum(servers, options.retry_ms / 1000, options.one_by_one)
    await driver.drive(client, options, redis.RedisError)
    for server in servers:
        await server.close()


asyncio.run(main())
