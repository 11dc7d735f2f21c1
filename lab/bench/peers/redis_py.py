# SPDX-License-Identifier: BSD-2-Clause
"""Debian's python3-redis. Its Lock is of one server. Two ways to use it:

--single    that Lock, on the first node alone: no quorum, no node may fail. Not a Redlock.
(default)   a Redlock made of it as its users make one: a Lock per node, tried one after the
            other, kept when a majority was had, else all given back and tried again.

--timeout-ms sets socket_timeout, without which a server that hangs is waited for without end.
"""
import argparse
import json
import os
import random
import sys
import threading
import time

import redis

TTL_S = 10  # of every lock, as ours
WARM_S = 0.3
STUCK_S = 5  # a call that takes longer counts as one that never returns


class Single:
    """The Lock of redis-py, on one server."""

    def __init__(self, servers, retry_s):
        self.server = servers[0]
        self.retry_s = retry_s

    def acquire(self, name):
        lock = self.server.lock(name, timeout=TTL_S, sleep=self.retry_s, thread_local=False)
        lock.acquire()
        return [lock]

    def release(self, locks):
        for lock in locks:
            lock.release()


class Quorum:
    """A majority of such Locks."""

    def __init__(self, servers, retry_s):
        self.servers = servers
        self.retry_s = retry_s

    def _attempt(self, name):
        had = []
        for server in self.servers:
            lock = server.lock(name, timeout=TTL_S, thread_local=False)
            try:
                if lock.acquire(blocking=False):
                    had.append(lock)
            except redis.RedisError:
                pass
        return had

    def acquire(self, name):
        while True:
            started = time.monotonic()
            had = self._attempt(name)
            if len(had) > len(self.servers) // 2 and time.monotonic() - started < TTL_S * 0.99:
                return had
            self.release(had)
            time.sleep(random.uniform(0, self.retry_s))

    def release(self, locks):
        for lock in locks:
            try:
                lock.release()
            except redis.RedisError:
                pass


class Run:
    """Callers, one thread each, for so long; and what they counted."""

    def __init__(self, client, callers, workload):
        self.client = client
        self.workload = workload
        self.process = os.getpid()
        self.over = False
        self.done = [0] * callers
        self.took = [[] for _ in range(callers)]
        self.open = [None] * callers
        self.failures = [0] * callers

    def name(self, number, serial):
        if self.workload == "one_name":
            return f"bench-{self.process}"
        return f"bench-{self.process}-{self.workload}-{number}-{serial}"

    def caller(self, number):
        serial = 0
        while not self.over:
            serial += 1
            started = time.monotonic()
            try:
                self.open[number] = ("acquire", started)
                locks = self.client.acquire(self.name(number, serial))
                if not self.over or self.workload == "hung":
                    self.took[number].append((time.monotonic() - started) * 1e6)
                self.open[number] = ("release", time.monotonic())
                self.client.release(locks)
                if not self.over:
                    self.done[number] += 1
            except redis.RedisError:
                self.failures[number] += 1
            self.open[number] = None

    def run(self, seconds):
        threads = [
            threading.Thread(target=self.caller, args=(i,), daemon=True)
            for i in range(len(self.done))
        ]
        cpu = time.process_time()
        started = time.monotonic()
        for thread in threads:
            thread.start()
        time.sleep(seconds)
        self.cpu_us = (time.process_time() - cpu) * 1e6
        self.seconds = time.monotonic() - started
        self.over = True
        self.stuck = None
        if self.workload == "warm":
            for thread in threads:
                thread.join()
        waiting = self.open[0]
        if self.workload == "hung" and waiting:
            threads[0].join(max(0, waiting[1] + STUCK_S - time.monotonic()))
            self.stuck = waiting[0] if threads[0].is_alive() else None

    def result(self):
        cycles = sum(self.done)
        took = sorted(us for each in self.took for us in each)
        quantile = lambda q: took[min(len(took) - 1, int(len(took) * q))] if took else None
        return {
            "cycles": cycles,
            "least": min(self.done),
            "most": max(self.done),
            "failures": sum(self.failures),
            "seconds": self.seconds,
            "p50_us": quantile(0.5),
            "p99_us": quantile(0.99),
            "client_us": self.cpu_us / max(1, cycles),
            "stuck": self.stuck,
        }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", required=True)
    parser.add_argument("--workload", required=True)
    parser.add_argument("--callers", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--retry-ms", type=float, default=100)
    parser.add_argument("--timeout-ms", type=float)
    parser.add_argument("--single", action="store_true")
    options = parser.parse_args()
    servers = []
    for node in options.nodes.split(","):
        host, port = node.rsplit(":", 1)
        timeout = options.timeout_ms / 1000 if options.timeout_ms else None
        servers.append(redis.Redis(host=host, port=int(port), socket_timeout=timeout))
    client = (Single if options.single else Quorum)(servers, options.retry_ms / 1000)
    Run(client, options.callers, "warm").run(WARM_S)
    print("ready", flush=True)
    if not sys.stdin.readline():
        return
    run = Run(client, options.callers, options.workload)
    run.run(options.seconds)
    print(json.dumps(run.result()), flush=True)
    os._exit(0)  # threads that wait for a server would not end


main()
