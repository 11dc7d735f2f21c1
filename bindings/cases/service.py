# SPDX-License-Identifier: BSD-2-Clause
"""Plays the group `service` of cases.json over HTTP: service.py NAME=WAY=PROGRAM... CASES REDLOCKD service.

PROGRAM COMMAND... holds a lock while COMMAND runs, as those of examples/service do. In it stand {url}, or {service}
and {name}; the environment has TTL and TTL_MS, TOKEN and TOKEN_FILE. WAY is how it holds: lease or stream.
Each program plays all cases at the same time as the others, on replicas and names of its own.
"""
import hashlib
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

PATIENCE_S = 40
AGAIN_S = 0.02
# Tells its fence and its process, and ends when its standard input does.
WORK = 'echo "${FENCE:-${REDLOCK_FENCE:-0}} $$" >"$TOLD.new"; mv "$TOLD.new" "$TOLD"; cat >/dev/null'
FIELDS = {
    "acquire": {"lock", "name", "ttl_ms"}, "start": {"lock", "name", "ttl_ms"}, "outcome": {"lock", "may_refuse"},
    "release": {"lock", "may_refuse"}, "lost": {"lock"}, "state": {"lock", "is"}, "fences": {"locks"}, "pass": {"ms"},
    "query": {"name", "held", "holders", "waiters"}, "break": {"name"}, "daemon": {"do_what"},
    "lose_answer": {"method"}, "cut": set(),
}


class Wrong(Exception):
    """Something else happened than the table says."""


def eventually(what, look):
    end = time.monotonic() + PATIENCE_S
    while not look():
        if time.monotonic() > end:
            raise Wrong(f"it never came that {what}")
        time.sleep(AGAIN_S)


class Relay:
    """Between client and daemon: hands on what comes, and can swallow an answer or cut all connections."""

    def __init__(self, address, target):
        self.target, self.lost_method, self.open = target, None, set()
        if isinstance(address, str):
            self.listener = socket.socket(socket.AF_UNIX)
        else:
            self.listener = socket.socket()
        self.listener.bind(address)
        self.listener.listen(100)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            client = self.listener.accept()[0]
            threading.Thread(target=self.carry, args=(client,), daemon=True).start()

    def carry(self, client):
        server = socket.socket(socket.AF_UNIX)
        pair = (client, server)
        self.open.add(pair)
        state = {"swallow": False}
        try:
            server.connect(self.target)
            threading.Thread(target=self.pump, args=(server, client, pair, state, False), daemon=True).start()
            self.pump(client, server, pair, state, True)
        except OSError:
            self.end(pair)

    def pump(self, source, sink, pair, state, asks):
        try:
            while data := source.recv(65536):
                if asks and self.lost_method and data.startswith(self.lost_method):
                    self.lost_method, state["swallow"] = None, True
                elif not asks and state["swallow"]:
                    break  # the answer has come, and gets no further
                sink.sendall(data)
        except OSError:
            pass
        self.end(pair)

    def end(self, pair):
        self.open.discard(pair)
        for one in pair:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            one.close()


class Daemon:
    """A replica, started again at the same place."""

    def __init__(self, redlockd, path, tokens):
        self.words = [redlockd, "--drain", "30", "--listen", f"unix:{path}", "--tokens", tokens,
                      "--allow", "token:player * acquire,read",
                      "--allow", f"uid:{os.getuid()} * acquire,read,break,admin"]
        self.path = path
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.words, stderr=subprocess.DEVNULL)
        eventually("redlockd is ready", lambda: self.ask("GET", "/readyz")[0] == 200)

    def act(self, what):
        if what == "kill":
            self.process.kill()
            self.process.wait()
        elif what == "stop":
            self.process.terminate()
            self.process.wait(PATIENCE_S)
        elif what == "start":
            self.start()
        else:
            self.process.send_signal({"hang": signal.SIGSTOP, "resume": signal.SIGCONT}[what])

    def ask(self, method, path, body=""):
        """Status and JSON; 0: no answer."""
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(20)
                connection.connect(self.path)
                connection.sendall(f"{method} {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Type: "
                                   f"application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
                answer = b"".join(iter(lambda: connection.recv(65536), b""))
            head, _, text = answer.partition(b"\r\n\r\n")
            return int(head.split()[1]), json.loads(text)
        except (OSError, ValueError, IndexError):
            return 0, {}


class World:
    """What one program plays with. The second replica is for looking and breaking alone."""

    def __init__(self, name, way, program, redlockd, directory):
        self.name, self.way, self.program, self.locks, self.directory = name, way, program, {}, directory
        os.mkdir(directory)
        self.daemon = Daemon(redlockd, f"{directory}/daemon", f"{directory}/../tokens")
        self.observer = Daemon(redlockd, f"{directory}/observer", f"{directory}/../tokens")
        if way == "stream":
            self.relay, self.address = Relay(f"{directory}/relay", self.daemon.path), f"unix:{directory}/relay"
        else:
            self.relay = Relay(("127.0.0.1", 0), self.daemon.path)
            self.address = f"http://127.0.0.1:{self.relay.listener.getsockname()[1]}"

    def path(self, step):
        return f"{self.name}/{step['name']}"

    def begin(self, step):
        url = f"{self.address}/v1/locks/{self.path(step)}"
        words = [word.format(service=self.address, name=self.path(step), url=url)
                 for word in shlex.split(self.program)]
        told = f"{self.directory}/{step['lock']}-{time.monotonic_ns()}"
        process = subprocess.Popen(
            words + ["bash", "-c", WORK], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=open(f"{told}.err", "wb"), env={**os.environ, "TTL_MS": str(step.get("ttl_ms", 60000)), "TOLD": told,
                                                  "TTL": f"{step.get('ttl_ms', 60000)}ms"})
        self.locks[step["lock"]] = {"process": process, "told": told, "fence": 0, "pid": 0}

    def outcome(self, step):
        lock = self.locks[step["lock"]]
        eventually(f"{step['lock']} is held, or refused",
                   lambda: os.path.exists(lock["told"]) or lock["process"].poll() is not None)
        if not os.path.exists(lock["told"]):
            if step.get("may_refuse") and lock["process"].returncode == 75:
                return
            raise Wrong(f"it ended with {lock['process'].returncode}: {open(lock['told'] + '.err').read()}")
        lock["fence"], lock["pid"] = map(int, open(lock["told"]).read().split())

    def status(self, lock):
        try:
            return lock["process"].wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise Wrong("it does not end") from None

    def play(self, step):
        kind, lock = step["do"], self.locks.get(step.get("lock"))
        if kind in ("acquire", "start"):
            self.begin(step)
        if kind in ("acquire", "outcome"):
            self.outcome(step)
        elif kind == "release":
            lock["process"].stdin.close()
            if self.status(lock) not in ((0, 75) if step.get("may_refuse") else (0,)):
                raise Wrong(f"released with {lock['process'].returncode}: {open(lock['told'] + '.err').read()}")
        elif kind == "lost":
            if self.status(lock) != 76:
                raise Wrong(f"it ended with {lock['process'].returncode}")
            eventually("its command was killed", lambda: not os.path.exists(f"/proc/{lock['pid']}"))
        elif kind == "state":
            if (step["is"] == "held") != (lock["process"].poll() is None):
                raise Wrong(f"its status is {lock['process'].poll()}: {open(lock['told'] + '.err').read()}")
        elif kind == "fences":
            fences = [self.locks[name]["fence"] for name in step["locks"]]
            if fences != sorted(set(fences)) or fences[0] <= 0:
                raise Wrong(f"the fences are {fences}")
        elif kind == "query":
            wanted = {key: step[field] for field, key in (("held", "held"), ("holders", "holder_count"),
                                                          ("waiters", "waiters")) if field in step}

            def as_wanted():
                said = self.observer.ask("GET", f"/v1/locks/{self.path(step)}")[1]
                return all(said.get(key) == value for key, value in wanted.items())
            eventually(f"{step['name']} is {wanted}", as_wanted)
        elif kind == "break":
            def was_broken():
                holders = self.observer.ask("GET", f"/v1/locks/{self.path(step)}")[1].get("holders")
                body = json.dumps({"fingerprint": holders[0]["fingerprint"]}) if holders else ""
                return holders and self.observer.ask("POST", f"/v1/breaks/{self.path(step)}", body)[0] == 200
            eventually(f"{step['name']} was broken", was_broken)
        elif kind == "daemon":
            self.daemon.act(step["do_what"])
        elif kind == "lose_answer":
            self.relay.lost_method = step["method"].encode()
        elif kind == "cut":
            for pair in list(self.relay.open):
                self.relay.end(pair)
        elif kind == "pass":
            time.sleep(step["ms"] / 1e3)

    def end(self):
        for lock in self.locks.values():
            if lock["process"].poll() is None:
                lock["process"].stdin.close()
                self.status(lock)
        self.locks = {}


def play_all(world, cases, said):
    for case in cases:
        if case.get("way", world.way) != world.way:
            continue
        at = None
        try:
            for at in case["steps"]:
                if set(at) - FIELDS.get(at["do"], set()) - {"do"} or at["do"] not in FIELDS:
                    raise Wrong("this player does not know the step or a field")
                world.play(at)
            said.append(f"ok - {world.name}: {case['intent']}")
        except (Wrong, OSError, KeyError, IndexError) as wrong:
            said.append(f"not ok - {world.name}: {case['intent']}\n#   {case['name']}, {json.dumps(at)}: {wrong!r}")
        print(said[-1], flush=True)
        world.end()


def main(*words):
    *programs, table, redlockd, group = words
    with open(table, encoding="utf-8") as file:
        cases = json.load(file)["groups"][group]
    with tempfile.TemporaryDirectory() as directory:
        token = "a-token-of-this-player"
        os.environ.update(TOKEN=token, TOKEN_FILE=f"{directory}/token")
        with open(f"{directory}/token", "w", encoding="ascii") as file:
            file.write(token)
        with open(f"{directory}/tokens", "w", encoding="ascii") as file:
            file.write(f"player {hashlib.sha256(token.encode()).hexdigest()}\n")
        worlds = [World(*program.split("=", 2), redlockd, f"{directory}/{index}")
                  for index, program in enumerate(programs)]
        said = [[] for _ in worlds]
        threads = [threading.Thread(target=play_all, args=(world, cases, out)) for world, out in zip(worlds, said)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for world in worlds:
            world.daemon.act("kill")
            world.observer.act("kill")
    return any(line.startswith("not ok") for out in said for line in out) or not all(said)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
