# SPDX-License-Identifier: BSD-2-Clause
"""redlock in Python, with asyncio: bindings/python as its README says, one client for all tasks."""
import asyncio

import driver
import redlock_native as redlock

TTL_S = 10
WAIT_S = 5  # for the one name: far more than a turn takes


class Ours:
    def __init__(self, client, one_name, fair):
        self.client = client
        self.options = {"ttl": TTL_S, "wait": WAIT_S if one_name else 0, "renew": False,
                        "fair": fair}

    async def acquire(self, name):
        return await self.client.lock(name, **self.options).acquire()

    async def release(self, lock):
        await lock.release()


async def main():
    words = driver.parser()
    words.add_argument("--fair", action="store_true")
    options = words.parse_args()
    async with redlock.AsyncClient(options.nodes.split(",")) as client:
        ours = Ours(client, options.workload == "one_name", options.fair)
        await driver.drive(ours, options, redlock.Error)


asyncio.run(main())
