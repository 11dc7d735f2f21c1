# SPDX-License-Identifier: BSD-2-Clause
"""Debian's python3-redis. Its Lock is of one server. Two ways to use it:

--single    that Lock, on the first node alone: no quorum, no node may fail. Not a Redlock.
(default)   a Redlock made of it as its users make one: a Lock per node, tried one after the
            other, kept when a majority was had, else all given back and tried again.

--timeout-ms sets socket_timeout, without which a server that hangs is waited for without end.
"""
import json
import os
import random
import sys
import threading
import time

import driver
import redis

TTL_S = 10  # of every lock, as ours
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


class Run(driver.Counts):
    """Callers, one thread each, for so long."""

    over = False

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.open = [None] * len(self.done)

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
        if self.workload == "warm":
            for thread in threads:
                thread.join()
        waiting = self.open[0]
        if self.workload == "hung" and waiting:
            threads[0].join(max(0, waiting[1] + STUCK_S - time.monotonic()))
            self.stuck = waiting[0] if threads[0].is_alive() else None


def main():
    parser = driver.parser()
    parser.add_argument("--retry-ms", type=float, default=100)
    parser.add_argument("--timeout-ms", type=float)
    parser.add_argument("--single", action="store_true")
    options = parser.parse_args()
    timeout = options.timeout_ms / 1000 if options.timeout_ms else None
    servers = [redis.Redis(host=host, port=port, socket_timeout=timeout)
               for host, port in driver.addresses(options)]
    client = (Single if options.single else Quorum)(servers, options.retry_ms / 1000)
    Run(client, options.callers, "warm").run(driver.WARM_S)
    print("ready", flush=True)
    if not sys.stdin.readline():
        return
    run = Run(client, options.callers, options.workload)
    run.run(options.seconds)
    print(json.dumps(run.result()), flush=True)
    os._exit(0)  # threads that wait for a server would not end


main()
