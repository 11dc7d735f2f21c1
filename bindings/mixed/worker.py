# SPDX-License-Identifier: BSD-2-Clause
"""worker.py LOG COUNT: the part of Python in the mixed test; run.sh says what a worker does."""
import os
import sys
import time

import redlock_native as redlock

SURE_S = 2.5  # with less than this left a worker writes nothing
log, left = sys.argv[1], int(sys.argv[2])


def write_next(lock):
    with open(log, encoding="ascii") as lines:
        words = (lines.read().splitlines() or ["0"])[-1].split()
    time.sleep(0.001)  # in which another would be seen
    if lock.remaining < SURE_S:
        return 0
    with open(log, "ab", buffering=0) as out:
        out.write(f"{int(words[0]) + 1} {lock.fence} python {os.getpid()}\n".encode())
    return 1


with redlock.Client() as client:
    while left > 0:
        with client.lock("mixed", ttl=5, wait=60, fenced=True) as lock:
            left -= write_next(lock)
