# SPDX-License-Identifier: BSD-2-Clause
"""What the drivers in Python share: arguments, callers, and the line of JSON (run.py says which)."""
import argparse
import asyncio
import json
import os
import sys
import time

WARM_S = 0.3


def parser():
    words = argparse.ArgumentParser()
    words.add_argument("--nodes", required=True)
    words.add_argument("--workload", required=True)
    words.add_argument("--callers", type=int, default=1)
    words.add_argument("--seconds", type=float, default=1)
    return words


def addresses(options):
    for node in options.nodes.split(","):
        host, port = node.rsplit(":", 1)
        yield host, int(port)


class Counts:
    """What callers have counted."""

    def __init__(self, client, callers, workload):
        self.client = client
        self.workload = workload
        self.process = os.getpid()
        self.done = [0] * callers
        self.took = [[] for _ in range(callers)]
        self.failures = [0] * callers
        self.stuck = None

    def name(self, number, serial):
        if self.workload == "one_name":
            return f"bench-{self.process}"
        return f"bench-{self.process}-{self.workload}-{number}-{serial}"

    def result(self):
        cycles = sum(self.done)
        took = sorted(us for each in self.took for us in each)
        quantile = lambda q: took[min(len(took) - 1, int(len(took) * q))] if took else None
        return {"cycles": cycles, "least": min(self.done), "most": max(self.done),
                "failures": sum(self.failures), "seconds": self.seconds, "p50_us": quantile(0.5),
                "p99_us": quantile(0.99), "client_us": self.cpu_us / max(1, cycles),
                "stuck": self.stuck}


class Run(Counts):
    """Callers, one task each, for so long."""

    def __init__(self, client, options, workload, failure):
        super().__init__(client, options.callers, workload)
        self.failure = failure

    async def caller(self, number):
        serial = 0
        while time.monotonic() < self.end:
            serial += 1
            started = time.monotonic()
            try:
                lock = await self.client.acquire(self.name(number, serial))
                if time.monotonic() < self.end:
                    self.took[number].append((time.monotonic() - started) * 1e6)
                await self.client.release(lock)
                if time.monotonic() < self.end:
                    self.done[number] += 1
            except self.failure:
                self.failures[number] += 1

    async def run(self, seconds):
        cpu = time.process_time()
        started = time.monotonic()
        self.end = started + seconds
        tasks = [asyncio.create_task(self.caller(i)) for i in range(len(self.done))]
        await asyncio.sleep(seconds)
        self.cpu_us = (time.process_time() - cpu) * 1e6
        self.seconds = time.monotonic() - started
        await asyncio.wait(tasks)


async def drive(client, options, failure):
    """Warms up, says so, waits for the line, and measures."""
    await Run(client, options, "warm", failure).run(WARM_S)
    print("ready", flush=True)
    if not await asyncio.to_thread(sys.stdin.readline):
        return
    run = Run(client, options, options.workload, failure)
    await run.run(options.seconds)
    print(json.dumps(run.result()), flush=True)
