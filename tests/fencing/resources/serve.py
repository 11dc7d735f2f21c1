# SPDX-License-Identifier: BSD-2-Clause
"""serve.py wsgi|asgi FILE: one number over HTTP, behind the middleware of fencing/ at /fenced and without
at /plain. Prints its port, and serves until its input ends."""
import asyncio
import os
import socketserver
import sys
import threading
import wsgiref.simple_server

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../fencing"))
import redlock_fence  # noqa: E402

number = b"0"


def answer_to(method, body):
    global number
    if method == "PUT":
        number = body
    return number


class Wsgi(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
    daemon_threads = True


class Quiet(wsgiref.simple_server.WSGIRequestHandler):
    def log_message(self, *_):
        pass


def wsgi_app(environ, start_response):
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [answer_to(environ["REQUEST_METHOD"], body)]


def by_path(plain, fenced):
    def app(environ, start_response):
        chosen = fenced if environ["PATH_INFO"] == "/fenced" else plain
        return chosen(environ, start_response)

    return app


async def asgi_app(scope, receive, send):
    body = (await receive())["body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": answer_to(scope["method"], body)})


def asgi_as_wsgi(app):
    """A server for an ASGI application, on a loop of its own."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()

    def call(environ, start_response):
        body, parts = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0)), []
        headers = [(name[5:].replace("_", "-").lower().encode(), value.encode("latin-1"))
                   for name, value in environ.items() if name.startswith("HTTP_")]
        scope = {"type": "http", "method": environ["REQUEST_METHOD"], "headers": headers}

        async def receive():
            return {"type": "http.request", "body": body}

        async def send(message):
            parts.append(message)

        asyncio.run_coroutine_threadsafe(app(scope, receive, send), loop).result()
        start_response(f"{parts[0]['status']} as the application says", [])
        return [part["body"] for part in parts[1:]]

    return call


def main():
    kind, file = sys.argv[1:]
    if kind == "wsgi":
        app = by_path(wsgi_app, redlock_fence.wsgi(wsgi_app, file))
    else:
        app = by_path(asgi_as_wsgi(asgi_app), asgi_as_wsgi(redlock_fence.asgi(asgi_app, file)))
    server = wsgiref.simple_server.make_server("127.0.0.1", 0, app, Wsgi, Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
