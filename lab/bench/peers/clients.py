# SPDX-License-Identifier: BSD-2-Clause
"""Which clients are measured, with which workloads and settings, and how the others are installed."""
import json
import os
import shutil
import statistics
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
INSTALL_S = 180


@dataclass
class Case:
    """One client doing one workload, and what each round gave."""

    client: str
    kind: str  # floor, ours, peer; single: one server, so no peer
    command: list
    workload: str
    callers: int
    id: str = ""  # for the rows at the end
    note: str = ""
    each: bool = None  # one_name: callers have clients of their own, share one, or both are one
    rounds: list = field(default_factory=list)
    calls: dict = None  # system calls per cycle, by kind; counted apart, for that slows it

    def median(self, key):
        values = [r[key] for r in self.rounds if r.get(key) is not None]
        return statistics.median(values) if values else None

    def spread_percent(self):
        values = [r["per_s"] for r in self.rounds]
        middle = statistics.median(values) if values else 0
        return 100 * (max(values) - min(values)) / middle if middle else 0

    def stuck(self):
        return next((r["stuck"] for r in self.rounds if r.get("stuck")), None)


# Milliseconds between attempts for one_name, found with --tune: what serves the slowest of 16
# callers best, sharing a client and with a client each. The defaults are measured too; None:
# nothing was better.
RETRIES = {"node-redlock": (30, 30), "redis-semaphore": (None, 10), "python": 30, "single": 3,
           "python_aio": 30}


def ours(build):
    driver = [f"{build}/lab/bench/peers/redlock-peer", "--api"]
    one = lambda text, api, *more: (text, "ours", [*driver, api, *more])
    floor = ("floor: raw sockets, same commands", "floor", [*driver, "floor"])
    asynchronous = one("redlock, asynchronous", "async")
    blocking = one("redlock, blocking", "direct")
    threads = one("redlock, threads on one client, I/O thread", "thread")
    return [
        Case(*floor, "distinct", 1),
        Case(*asynchronous, "distinct", 1, "async_1"),
        Case(*blocking, "distinct", 1, "blocking_1"),
        Case(*floor, "distinct", 64),
        Case(*asynchronous, "distinct", 64, "async_64"),
        Case(*threads, "distinct", 64, "threads_64"),
        Case(*one("redlock, threads on one client", "direct"), "distinct", 64, "threads_64_direct"),
        Case(*one("redlock, one client, asynchronous", "async"), "one_name", 16, "one_async",
             each=False),
        Case(*one("redlock, one client, asynchronous, fair", "async", "--fair"), "one_name", 16,
             "one_async_fair", each=False),
        Case(*one("redlock, one client, threads", "thread"), "one_name", 16, "one_client",
             each=False),
        Case(*one("redlock, one client, threads, fair", "thread", "--fair"), "one_name", 16,
             "one_client_fair", each=False),
        Case(*one("redlock, a client each", "clients"), "one_name", 16, "clients", each=True),
        Case(*one("redlock, a client each, fair", "clients", "--fair"), "one_name", 16,
             "clients_fair", each=True),
        Case(*blocking, "hung", 1, "hung"),
    ]


def node_peer(label, driver, retries_ms, default_note):
    plain = (label, "peer", ["node", str(HERE / driver)])
    piped = (f"{label}, auto-pipelining", "peer", [*plain[2], "--auto-pipelining"])
    tuned = lambda ms, *more: [*plain[2], "--retry-ms", str(ms), *more]
    note = "the delay that serves the slowest caller best"
    shared_ms, each_ms = retries_ms
    cases = [
        Case(*plain, "distinct", 1),
        Case(*plain, "distinct", 64),
        Case(*piped, "distinct", 64, f"{driver}_piped_64"),
        Case(*plain, "one_name", 16, note=default_note, each=False),
        Case(f"{label}, a client each, {each_ms} ms", "peer", tuned(each_ms, "--client-each"),
             "one_name", 16, note=note, each=True),
        Case(*plain, "hung", 1, note="defaults"),
    ]
    if shared_ms is not None:
        cases.append(Case(f"{label}, retry {shared_ms} ms", "peer", tuned(shared_ms), "one_name",
                          16, note=note, each=False))
    return cases


def node_binding(build):
    """bindings/node as it stands in the build directory; nothing without Node."""
    package = Path(build).resolve() / "bindings/node/node_modules/redlock-native"
    if not (package / "build/redlock.node").exists() or not shutil.which("node"):
        return [], ["bindings/node: not built"]
    driver = ["env", f"REDLOCK_NATIVE={package}", "node", str(HERE / "ours-node.mjs")]
    label = "redlock in Node"
    return [
        Case(label, "binding", driver, "distinct", 1, "node_1"),
        Case(label, "binding", driver, "distinct", 64, "node_64"),
        Case(f"{label}, one client", "binding", driver, "one_name", 16, "node_one", each=False),
        Case(f"{label}, one client, fair", "binding", [*driver, "--fair"], "one_name", 16,
             "node_one_fair", each=False),
    ], []


def python_binding(build):
    """bindings/python as it stands in the build directory; nothing without it."""
    package = Path(build).resolve() / "bindings/python"
    python = next((p for p in ("python3", "/usr/bin/python3") if shutil.which(p) and subprocess.run(
        [p, "-c", "import redlock_native"], env={**os.environ, "PYTHONPATH": str(package)},
        capture_output=True, check=False).returncode == 0), None)
    if python is None:
        return [], ["bindings/python: not built"]
    driver = ["env", f"PYTHONPATH={package}", python, str(HERE / "ours_python.py")]
    label = "redlock in Python, asyncio"
    return [
        Case(label, "binding", driver, "distinct", 1, "python_1"),
        Case(label, "binding", driver, "distinct", 64, "python_64"),
        Case(f"{label}, one client", "binding", driver, "one_name", 16, "python_one", each=False),
        Case(f"{label}, one client, fair", "binding", [*driver, "--fair"], "one_name", 16,
             "python_one_fair", each=False),
    ], []


def python_aio_peer(python, version):
    """The Lock of redis-py with asyncio, one per server: all at once, and one after the other."""
    label = f"Redlock of python3-redis {version}, asyncio"
    driver = [python, str(HERE / "redis_py_aio.py")]
    retry_ms = RETRIES["python_aio"]
    cases = []
    for words, more in (("", []), (", one by one", ["--one-by-one"])):
        cases += [
            Case(label + words, "peer", [*driver, *more], "distinct", 1),
            Case(label + words, "peer", [*driver, *more], "distinct", 64, "python_aio" + words),
            Case(label + words, "peer", [*driver, *more, "--retry-ms", str(retry_ms)], "one_name",
                 16, note=f"retry after up to {retry_ms} ms", each=False),
        ]
    return cases


def python_peer(python, version):
    label = f"python3-redis {version}"
    quorum = (f"Redlock of {label}", "peer", [python, str(HERE / "redis_py.py")])
    single = (f"{label}, one server", "single", [*quorum[2], "--single"])
    timed = (f"{quorum[0]}, timeout 50 ms", "peer", [*quorum[2], "--timeout-ms", "50"])
    retry = lambda case, ms: (*case[:2], [*case[2], "--retry-ms", str(ms)])
    alone = "one server of five: no quorum, not a Redlock"
    return [
        Case(*quorum, "distinct", 1),
        Case(*quorum, "distinct", 64),
        Case(*single, "distinct", 1, note=alone),
        Case(*single, "distinct", 64, note=alone),
        Case(*retry(quorum, RETRIES["python"]), "one_name", 16,
             note=f"retry after up to {RETRIES['python']} ms"),
        Case(*retry(single, RETRIES["single"]), "one_name", 16,
             note=f"{alone}; retry after {RETRIES['single']} ms"),
        Case(*quorum, "hung", 1, note="defaults: no socket_timeout"),
        Case(*timed, "hung", 1),
    ]


def python_with_redis():
    for python in ("python3", "/usr/bin/python3"):
        asked = subprocess.run([python, "-c", "import redis; print(redis.__version__)"],
                               capture_output=True, text=True, check=False)
        if asked.returncode == 0:
            return python, asked.stdout.strip()
    return None, None


def install(directory):
    """The packages of package.json, at its versions, into directory. Says why if it cannot."""
    for program in ("node", "npm"):
        if not shutil.which(program):
            return f"no {program} here"
    directory.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        wanted, there = HERE / name, directory / name
        if wanted.exists() and not (there.exists() and there.read_bytes() == wanted.read_bytes()):
            shutil.rmtree(directory / "node_modules", ignore_errors=True)
            shutil.copy(wanted, there)
    if (directory / "node_modules" / ".package-lock.json").exists():
        return None
    try:
        done = subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--fetch-retries=1",
                               "--prefix", str(directory)],
                              capture_output=True, text=True, timeout=INSTALL_S, check=False)
    except subprocess.TimeoutExpired:
        return f"npm did not end within {INSTALL_S} s"
    return None if done.returncode == 0 else "npm could not install it (no network?)"


def all_clients(build, directory, with_bindings):
    """All cases, and a sentence for each peer that is missing."""
    cases, missing = ours(build), []
    problem = install(directory)
    versions = {}
    for package in () if problem else ("redlock", "redis-semaphore", "ioredis"):
        described = json.loads((directory / "node_modules" / package / "package.json").read_text())
        versions[package] = described["version"].lstrip("v")
    if problem:
        missing += [f"node-redlock: {problem}", f"redis-semaphore: {problem}"]
    else:
        cases += node_peer(f"node-redlock {versions['redlock']}", "node-redlock.mjs",
                           RETRIES["node-redlock"], "its default retry, 200 ms +- 100")
        cases += node_peer(f"redis-semaphore {versions['redis-semaphore']}", "redis-semaphore.mjs",
                           RETRIES["redis-semaphore"], "its default retry, 10 ms")
    for binding in (node_binding, python_binding) if with_bindings else ():
        found, absent = binding(build)
        cases += found
        missing += absent
    python, version = python_with_redis()
    if python:
        cases += python_peer(python, version)
        if with_bindings:
            cases += python_aio_peer(python, version)
    else:
        missing.append("python3-redis: not installed")
    return cases, missing, versions
