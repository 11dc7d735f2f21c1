# SPDX-License-Identifier: BSD-2-Clause
"""The label of locks that are given none: user@host:pid (program), as the command `redlock` has it."""
import os
import pwd
import socket
import sys

from ._native import lib


def _user() -> str:
    """From the environment first: a directory service may take long to answer, or not at all."""
    name = os.environ.get("LOGNAME") or os.environ.get("USER")
    if name:
        return name
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def _program() -> str:
    path = sys.argv[0] if getattr(sys, "argv", None) else ""
    if os.path.basename(path) == "__main__.py":  # python -m PACKAGE
        path = os.path.dirname(path)
    elif path in ("", "-", "-c", "-m"):
        path = sys.executable
    return os.path.basename(path) or "python"


def _printable(part: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in part)


def default_label() -> str:
    """It fits: the longest part is cut, and what identifies the process, its number, never is."""
    parts = [_printable(p) for p in (_user(), socket.gethostname().split(".")[0], _program())]
    while True:
        label = f"{parts[0]}@{parts[1]}:{os.getpid()} ({parts[2]})"
        if len(label.encode()) <= lib.REDLOCK_LABEL_MAX:
            return label
        longest = max(range(len(parts)), key=lambda i: len(parts[i].encode()))
        parts[longest] = parts[longest][:-1]
