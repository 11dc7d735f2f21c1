# SPDX-License-Identifier: BSD-2-Clause
"""Fencing for an HTTP service in Python: redlock_fence.wsgi(app, "orders") or .asgi(app, "orders").

What the service changes is protected by a lock, and its holders send their fencing token with
every request, also with one that only reads what they will decide by:

    Redlock-Fence: 1763500000000042

A request of an earlier holder is answered 412, one that may change something and has no token 428.
Requests with a token run one after another, in all threads and processes that name the same file;
the largest token is kept in orders.fence, on the disk before the request runs. `redlock fence` and
the middlewares for Node and Go keep the same file.

Where the counter of a lock is lost, it starts again from the clock of the nodes in microseconds, above
all tokens before: nothing is to be done. If these clocks were set back, every holder is refused:
when none is at work, remove orders.fence.
"""
import asyncio
import fcntl
import os
import re

RECORD = 42  # the token twice: half of a record is none
PLACES = (0, 4096)  # a crash spoils the record that is being written, at most
SAFE = ("GET", "HEAD", "OPTIONS", "TRACE")


class Refused(Exception):
    """Status and reason of the answer."""


def _sync(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _admit(fd, path, token):
    records = [os.pread(fd, RECORD, place) for place in PLACES]
    whole = [re.fullmatch(rb"([0-9]{20}) \1\n", record) for record in records]
    tokens = [int(match[1]) if match else 0 for match in whole]
    largest = max(tokens)
    if any(re.search(rb"[^0-9 \n\0]", r) for r in records) or not largest and all(records):
        raise OSError(f"{path} is damaged or no token file")
    if token < largest:
        raise Refused("412 Precondition Failed", f"a later holder has come, with token {largest}")
    if token > largest:
        place = PLACES[tokens.index(min(tokens))]
        if os.pwrite(fd, b"%020d %020d\n" % (token, token), place) != RECORD:
            raise OSError(f"{path} cannot be written")
    os.fsync(fd)
    if not records[0]:
        _sync(os.path.dirname(os.path.abspath(path)))


def turn(file, token):
    """A descriptor; other holders wait until it is closed. Raises Refused."""
    path = os.fspath(file) + ".fence"
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        _admit(fd, path, token)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _token(header, method):
    """None: a request without a token that only reads."""
    if header is None and method in SAFE:
        return None
    if header is None:
        raise Refused("428 Precondition Required", "the header Redlock-Fence is missing")
    if not re.fullmatch("[0-9]{1,16}", header) or not 0 < int(header) < 2 ** 53:
        raise Refused("400 Bad Request", "Redlock-Fence is no fencing token")
    return int(header)


def wsgi(app, file):
    def fenced(environ, start_response):
        fd = None
        try:
            token = _token(environ.get("HTTP_REDLOCK_FENCE"), environ["REQUEST_METHOD"])
            if token is None:
                return app(environ, start_response)
            fd = turn(file, token)
            answer = app(environ, start_response)
            try:
                return list(answer)  # all that it does belongs to its turn
            finally:
                getattr(answer, "close", lambda: None)()
        except Refused as refused:
            status, reason = refused.args
            start_response(status, [("Content-Type", "text/plain")])
            return [reason.encode() + b"\n"]
        finally:
            if fd is not None:
                os.close(fd)

    return fenced


async def _turn(file, token):
    waiting = asyncio.ensure_future(asyncio.to_thread(turn, file, token))
    try:
        return await asyncio.shield(waiting)
    except asyncio.CancelledError:  # the thread goes on until it has its turn
        waiting.add_done_callback(lambda ended: ended.exception() or os.close(ended.result()))
        raise


def asgi(app, file):
    first_of_process = asyncio.Lock()  # so that one thread at most waits for other processes

    async def fenced(scope, receive, send):
        if scope["type"] != "http":
            return await app(scope, receive, send)
        header = dict(scope["headers"]).get(b"redlock-fence")
        answer = []

        async def keep(message):
            answer.append(message)

        try:
            token = _token(header and header.decode("latin-1"), scope["method"])
            if token is None:
                return await app(scope, receive, send)
            async with first_of_process:
                fd = await _turn(file, token)
                try:
                    await app(scope, receive, keep)
                finally:
                    os.close(fd)
        except Refused as refused:
            status, reason = refused.args
            answer = [{"type": "http.response.start", "status": int(status[:3]),
                       "headers": [(b"content-type", b"text/plain")]},
                      {"type": "http.response.body", "body": reason.encode() + b"\n"}]
        for message in answer:
            await send(message)

    return fenced
