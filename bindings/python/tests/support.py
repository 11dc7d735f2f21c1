# SPDX-License-Identifier: BSD-2-Clause
"""What the tests share. They run inside `redlock dev -c 3 --`, which names its nodes."""
import asyncio
import gc
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
import unittest

import redlock_native as redlock
from redlock_native._core import ClientBase, LockBase

PATIENCE_S = 60  # for what must happen, on any machine
REDLOCK = os.environ.get("REDLOCK_COMMAND", "redlock")
NODES = [word.removeprefix("redis://") for word in os.environ["REDLOCK_NODES"].split(",")]

# Not -X dev: asyncio would print how slow a busy machine is.
PYTHON = [sys.executable, "-B", "-X", "faulthandler", "-W", "always"]

_serial = 0


def fresh(word="x"):
    """A name that no other test uses."""
    global _serial
    _serial += 1
    return f"python-{os.getpid()}-{_serial}-{word}"


def ask(node, *words):
    """One command to one node, outside of the library: its reply as text."""
    host, port = NODES[node].rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as s:
        parts = [f"*{len(words)}\r\n"] + [f"${len(w.encode())}\r\n{w}\r\n" for w in words]
        s.sendall("".join(parts).encode())
        head, _, rest = s.recv(65536).partition(b"\r\n")
        return (rest if head.startswith(b"$") and head != b"$-1" else head).decode().strip()


def nodes_with(name):
    """How many nodes have a key for this lock."""
    return sum(ask(n, "EXISTS", f"redlock:{name}") == ":1" for n in range(len(NODES)))


def delete_everywhere(name):
    """Takes a lock away from its holder, behind the library's back."""
    for n in range(len(NODES)):
        ask(n, "DEL", f"redlock:{name}")


def dev(*words):
    """`redlock dev kill 1` and so on."""
    subprocess.run([REDLOCK, "dev", *map(str, words)], check=True, stdout=subprocess.DEVNULL,
                   timeout=PATIENCE_S)


def until(condition, what="it"):
    """Waits for what must happen."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not happen within {PATIENCE_S} s")
        time.sleep(0.01)


async def async_until(condition, what="it"):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not happen within {PATIENCE_S} s")
        await asyncio.sleep(0.01)


def operations():
    """Handles of the library that Python still has, and what its clients wait for."""
    gc.collect()
    found = gc.get_objects()
    return (sum(bool(o._slot[0]) for o in found if isinstance(o, LockBase))
            + sum(len(o._pending) + len(o._reads) for o in found if isinstance(o, ClientBase)))


def start(code, *arguments):
    """A program of its own, with what it prints on its standard output."""
    return subprocess.Popen(
        [*PYTHON, "-c", textwrap.dedent(code), *arguments],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(code, *arguments):
    """The same, to its end: status, standard output, standard error."""
    program = start(code, *arguments)
    try:
        out, err = program.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        program.send_signal(signal.SIGABRT)  # faulthandler shows where it hangs
        out, err = program.communicate(timeout=PATIENCE_S)
        raise AssertionError(f"the program hangs:\n{err}") from None
    return program.returncode, out, err


class Case(unittest.TestCase):
    """Nothing of the library is left when a test has ended."""

    def setUp(self):
        self.before = operations()
        self.addCleanup(self.nothing_left)

    def nothing_left(self):
        self.assertEqual(operations(), self.before, "handles are left")


class AsyncCase(unittest.IsolatedAsyncioTestCase):
    """The same with a client for the test's loop, and all that the loop complained of."""

    client_options = {}

    async def asyncSetUp(self):
        self.before = operations()
        self.complaints = []
        asyncio.get_running_loop().set_exception_handler(
            lambda _, context: self.complaints.append(context))
        asyncio.get_running_loop().slow_callback_duration = PATIENCE_S
        self.client = redlock.AsyncClient(**self.client_options)

    async def asyncTearDown(self):
        await self.client.close()
        self.assertEqual(operations(), self.before, "handles are left")
        self.assertEqual(self.complaints, [])

    async def free(self, name):
        """The lock can be taken: nothing of an earlier holder is left."""
        async with self.client.lock(name, wait=PATIENCE_S):
            pass
