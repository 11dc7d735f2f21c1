# SPDX-License-Identifier: BSD-2-Clause
"""Threads of a client whose input and output the library's own thread does."""
import os
import queue
import threading
from typing import Any, Optional, Tuple

from ._core import Core, Notice, logger
from ._errors import thread_error
from ._native import ffi, lib

JOIN_S = 5.0  # for functions of the program that run in a thread of the client


class Reader:
    """Takes the events. It keeps the client in C, and not that of Python, alive.

    It sleeps without the interpreter's lock until there is one that Python is to get.
    """

    def __init__(self, core: Core, reference: Any, rings: bool) -> None:
        self._core = core
        self._reference = reference  # weak, to the client
        self._rings = rings  # it wakes threads that wait for a lock
        self._end, self._ender = os.pipe()
        self._thread = threading.Thread(target=self._run, name="redlock-events", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        core, event, more = self._core, ffi.new("redlock_event **"), 1
        while more == 1:
            more = lib.rlpy_listen(core.pointer, core.threads, self._end, self._rings, event)
            client = self._reference()
            if client is not None and more == 1:
                client._take(event[0])
            elif client is not None and more < 0:
                client._fail(thread_error(more))
            del client

    def close(self) -> None:
        """Takes what has happened, then closes the client. Functions of the program may call it."""
        core = self._core
        if core.is_open and not core.is_forked:
            os.write(self._ender, b".")
            if self._thread is not threading.current_thread():
                self._thread.join(JOIN_S)
        core.close()
        os.close(self._end)
        os.close(self._ender)


class Caller:
    """Calls functions of the program, one after the other, in a thread that the first one starts."""

    def __init__(self) -> None:
        self._calls: "queue.SimpleQueue[Optional[Tuple[Notice, Tuple[object, ...]]]]"
        self._calls = queue.SimpleQueue()  # None: the end
        self._starting = threading.RLock()
        self._thread: Optional[threading.Thread] = None

    def call(self, function: Notice, *arguments: object) -> None:
        self._calls.put((function, arguments))
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="redlock-calls",
                                                daemon=True)
                self._thread.start()

    def _run(self) -> None:
        for function, arguments in iter(self._calls.get, None):
            try:
                function(*arguments)
            except Exception:
                logger.exception("a function that was to learn about a lock failed")
            del function, arguments  # while it waits, it keeps nothing alive

    def close(self) -> None:
        """Makes the calls that are due. In a child there is no such thread."""
        self._calls.put(None)
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(JOIN_S)
