# SPDX-License-Identifier: BSD-2-Clause
"""Peers side by side: other lock clients, ours and the floor, on the same servers.

`make bench-peers` starts five servers and this inside `redlock dev`. It installs the peers of
package.json into build/peers, runs every client with every workload in interleaved rounds, prints
a table of medians and writes build/bench/peers.json. What cannot be installed is named and left
out.

Workloads
    distinct    every caller acquires and releases a lock of its own, again and again
    one_name    all callers want the same lock and hold it for no time
    hung        one caller, as distinct, while one of the nodes accepts and never answers

To add a peer
    1. Write a driver, a program that is started with
           --nodes HOST:PORT,... --workload WORKLOAD --callers N --seconds S
       and whatever CLIENTS below gives it. It connects, warms up for 0.3 s (not for the hung node:
       that hangs later), prints `ready`, and waits for a line. Then it lets N callers loop for S
       seconds, and prints one line of JSON:
           cycles      acquired and released within the time
           least, most cycles of the caller that got least, and most
           failures    acquires or releases that failed
           seconds     how long it really was
           p50_us, p99_us   of acquire, from the call to its return
           client_us   CPU of the driver per cycle
           stuck       hung only: "acquire" or "release" if that had not returned after 5 s
       In JavaScript, harness.mjs does all this: a driver gives acquire() and release().
    2. Add it to CLIENTS, its package to package.json and to scripts/deps.sh (purpose `peers`).
    3. Run it as its documentation says, and as fast as its documentation lets it. `run.py --tune`
       inside `redlock dev -n 5 --` tries delays between attempts; RETRIES notes the outcome.
"""
import argparse
import json
import os
import queue
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
READY_S = 20  # for a driver to connect and warm up
STUCK_S = 5  # for a call with a hung node
GRACE_S = 5  # beyond what a driver should take
INSTALL_S = 180
HUNG_ROUNDS = 3
TARGET_THREADS = 4.0
TARGET_ONE_NAME = 3.0
TARGET_SHARE = 0.9


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
    rounds: list = field(default_factory=list)

    def median(self, key):
        values = [r[key] for r in self.rounds if r.get(key) is not None]
        return statistics.median(values) if values else None

    def spread_percent(self):
        values = [r["per_s"] for r in self.rounds]
        middle = statistics.median(values) if values else 0
        return 100 * (max(values) - min(values)) / middle if middle else 0

    def stuck(self):
        return next((r["stuck"] for r in self.rounds if r.get("stuck")), None)


# ---- who is measured -------------------------------------------------------------------------

# Milliseconds between attempts for one_name, found with --tune: what serves the slowest of 16
# callers best. The defaults are measured too; None: nothing was better.
RETRIES = {"node-redlock": 30, "redis-semaphore": None, "python": 30, "single": 3}


def ours(build):
    driver = [f"{build}/bench/redlock-peer", "--api"]
    one = lambda text, api, *more: (text, "ours", [*driver, api, *more])
    floor = ("floor: raw sockets, same commands", "floor", [f"{build}/bench/redlock-peer-floor"])
    asynchronous = one("redlock, asynchronous", "async")
    blocking = one("redlock, blocking", "direct")
    threads = one("redlock, threads on one client, I/O thread", "thread")
    return [
        Case(*floor, "distinct", 1),
        Case(*asynchronous, "distinct", 1),
        Case(*blocking, "distinct", 1, "blocking_1"),
        Case(*floor, "distinct", 64),
        Case(*asynchronous, "distinct", 64, "async_64"),
        Case(*threads, "distinct", 64, "threads_64"),
        Case(*one("redlock, threads on one client", "direct"), "distinct", 64, "threads_64_direct"),
        Case(*one("redlock, one client", "thread"), "one_name", 16, "one_client"),
        Case(*one("redlock, one client, fair", "thread", "--fair"), "one_name", 16,
             "one_client_fair"),
        Case(*one("redlock, a client each", "clients"), "one_name", 16, "clients"),
        Case(*one("redlock, a client each, fair", "clients", "--fair"), "one_name", 16,
             "clients_fair"),
        Case(*blocking, "hung", 1, "hung"),
    ]


def node_peer(label, driver, retry_ms, default_note):
    plain = (label, "peer", ["node", str(HERE / driver)])
    piped = (f"{label}, auto-pipelining", "peer", [*plain[2], "--auto-pipelining"])
    tuned = (f"{label}, retry {retry_ms} ms", "peer", [*plain[2], "--retry-ms", str(retry_ms)])
    cases = [
        Case(*plain, "distinct", 1),
        Case(*plain, "distinct", 64),
        Case(*piped, "distinct", 64),
        Case(*plain, "one_name", 16, note=default_note),
        Case(*plain, "hung", 1, note="defaults"),
    ]
    if retry_ms is not None:
        cases.append(Case(*tuned, "one_name", 16,
                          note="the delay that serves the slowest caller best"))
    return cases


def python_peer(python, version):
    label = f"python3-redis {version}"
    quorum = (f"Redlock of {label} Locks", "peer", [python, str(HERE / "redis_py.py")])
    single = (f"{label} Lock, one server", "single", [*quorum[2], "--single"])
    timed = (f"{quorum[0]}, timeout 50 ms", "peer", [*quorum[2], "--timeout-ms", "50"])
    retry = lambda case, ms: (f"{case[0]}, retry {ms} ms", case[1],
                              [*case[2], "--retry-ms", str(ms)])
    alone = "one server of five: no quorum, not a Redlock"
    return [
        Case(*quorum, "distinct", 1),
        Case(*quorum, "distinct", 64),
        Case(*single, "distinct", 1, note=alone),
        Case(*single, "distinct", 64, note=alone),
        Case(*retry(quorum, RETRIES["python"]), "one_name", 16),
        Case(*retry(single, RETRIES["single"]), "one_name", 16, note=alone),
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
        done = subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--prefix", str(directory)],
                              capture_output=True, text=True, timeout=INSTALL_S, check=False)
    except subprocess.TimeoutExpired:
        return f"npm did not end within {INSTALL_S} s"
    return None if done.returncode == 0 else "npm could not install it (no network?)"


def everybody(build, directory):
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
    python, version = python_with_redis()
    if python:
        cases += python_peer(python, version)
    else:
        missing.append("python3-redis: not installed")
    return cases, missing, versions


# ---- the servers -----------------------------------------------------------------------------


class Servers:
    def __init__(self, redlock):
        words = os.environ.get("REDLOCK_NODES", "").replace(",", " ").split()
        if not words or "REDLOCK_DEV" not in os.environ:
            sys.exit("run.py: run this inside `redlock dev -n 5 --`, as `make bench-peers` does")
        self.redlock = redlock
        self.nodes = [word.removeprefix("redis://") for word in words]
        info = [self.ask(i, "INFO server") for i in range(len(self.nodes))]
        self.pids = [int(text.split("process_id:")[1].split()[0]) for text in info]
        self.version = info[0].split("redis_version:")[1].split()[0]
        self.name = "valkey" if "valkey_version" in info[0] else "redis"

    def ask(self, number, command):
        host, port = self.nodes[number].rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=GRACE_S) as s:
            s.sendall(command.encode() + b"\r\n")
            head, _, rest = s.recv(65536).partition(b"\r\n")
            while head.startswith(b"$") and len(rest) < int(head[1:]):
                rest += s.recv(65536)
            return rest.decode() if head.startswith(b"$") else head.decode()

    def cpu_us(self):
        """CPU of all servers so far: of their main threads, which do the work."""
        return sum(int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])
                   for pid in self.pids) / 1e3

    def _dev(self, verb):
        subprocess.run([self.redlock, "dev", verb, str(len(self.nodes))], check=True,
                       stdout=subprocess.DEVNULL, timeout=GRACE_S)

    def hang(self):
        self._dev("hang")

    def resume(self):
        self._dev("resume")
        self.ask(len(self.nodes) - 1, "PING")


# ---- one measurement -------------------------------------------------------------------------


def follow(stream, lines):
    for line in stream:
        lines.put(line)
    lines.put("")


def measure(case, servers, seconds, environment):
    """Runs the driver once. None with a message when it failed."""
    driver = subprocess.Popen(
        [*case.command, "--nodes", ",".join(servers.nodes), "--workload", case.workload,
         "--callers", str(case.callers), "--seconds", str(seconds)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    lines = queue.Queue()
    threading.Thread(target=follow, args=(driver.stdout, lines), daemon=True).start()
    hanging = False
    try:
        if lines.get(timeout=READY_S).strip() != "ready":
            raise queue.Empty
        if case.workload == "hung":
            hanging = True
            servers.hang()
        before_us = servers.cpu_us()
        driver.stdin.write("go\n")
        driver.stdin.flush()
        result = json.loads(lines.get(timeout=seconds + STUCK_S + GRACE_S))
        result.setdefault("servers_us", (servers.cpu_us() - before_us) / max(1, result["cycles"]))
    except (queue.Empty, json.JSONDecodeError, BrokenPipeError):
        print(f"run.py: {case.client}, {case.workload}: no result", file=sys.stderr)
        return None
    finally:
        if hanging:
            servers.resume()
        driver.stdin.close()
        try:
            driver.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            driver.kill()
            driver.wait()
    result["per_s"] = result["cycles"] / result["seconds"]
    if case.workload == "one_name" and result.get("most"):
        result["share"] = result["least"] / result["most"]
        result["slowest_per_s"] = result["least"] / result["seconds"]
    return result


def run_rounds(cases, servers, rounds, seconds, environment):
    """Every second round goes backwards, so that nobody always runs after the same one."""
    for number in range(rounds):
        for case in cases if number % 2 == 0 else reversed(cases):
            if case.stuck():
                continue  # once is enough to know
            result = measure(case, servers, seconds, environment)
            if result:
                case.rounds.append(result)
        print(f"run.py: round {number + 1} of {rounds}", file=sys.stderr)


# ---- what came out ---------------------------------------------------------------------------


def ratio(a, b, key):
    """The median of the rounds' own ratios: the two of a round stood next to each other."""
    pairs = [(x.get(key), y.get(key)) for x, y in zip(a.rounds, b.rounds)]
    each = [x / y for x, y in pairs if x is not None and y]
    return statistics.median(each) if each else None


def best_peer(cases, workload, callers, key):
    peers = [c for c in cases if c.kind == "peer" and c.workload == workload
             and c.callers == callers and c.median(key)]
    return max(peers, key=lambda c: c.median(key), default=None)


def rows(cases):
    """Ours over the best peer, and what was aimed at."""
    by_id = {c.id: c for c in cases if c.id and c.rounds}
    result = []

    def row(name, id, key, what, target):
        case = by_id.get(id)
        best = case and best_peer(cases, case.workload, case.callers, key)
        value = best and ratio(case, best, key)
        if value is not None:
            result.append({"id": name, "what": f"{what}; best peer: {best.client}",
                           "ratio": round(value, 3), "target": target and f">= {target:g}",
                           "met": value >= target if target else None})

    row("peer_blocking_1", "blocking_1", "per_s", "blocking, one caller", None)
    row("peer_async_64", "async_64", "per_s", "asynchronous, 64 in flight", None)
    row("peer_threads_64", "threads_64", "per_s", "64 threads on one client, I/O thread",
        TARGET_THREADS)
    row("peer_threads_64_direct", "threads_64_direct", "per_s",
        "64 threads on one client, without I/O thread", TARGET_THREADS)
    for id, who in (("one_client", "one client"), ("clients", "a client each")):
        row(f"peer_{id}", id, "per_s", f"16 callers on one name, {who}: all acquisitions",
            TARGET_ONE_NAME)
        row(f"peer_{id}_slowest", id, "slowest_per_s",
            f"16 callers on one name, {who}: those of the slowest caller", TARGET_ONE_NAME)
    for id, who in (("one_client_fair", "one client"), ("clients_fair", "a client each")):
        share = by_id[id].median("share") if id in by_id else None
        if share is not None:
            result.append({"id": f"share_{id}", "what": f"slowest over fastest of 16, {who}, fair",
                           "ratio": round(share, 3), "target": f">= {TARGET_SHARE:g}",
                           "met": share >= TARGET_SHARE})
    return result


def number(value, digits=0):
    return "-" if value is None else f"{value:,.{digits}f}"


def print_table(cases):
    titles = {"distinct": "distinct names, cycles/s", "one_name": "one name, acquisitions/s",
              "hung": "one of the nodes hung, distinct names, cycles/s"}
    groups = dict.fromkeys((c.workload, c.callers) for c in cases if c.rounds)
    for workload, callers in sorted(groups, key=lambda g: (list(titles).index(g[0]), g[1])):
        group = [c for c in cases if (c.workload, c.callers) == (workload, callers) and c.rounds]
        best = best_peer(cases, workload, callers, "per_s")
        print(f"\n{titles[workload]}, {callers} caller{'s' if callers > 1 else ''}")
        print(f"{'':52}{'per s':>9}{'x best':>8}{'p50 us':>10}{'p99 us':>10}{'slowest':>9}"
              f"{'share':>7}{'client us':>11}{'servers us':>11}{'spread':>8}")
        for c in group:
            if c.stuck():
                print(f"{c.client:52}{c.stuck()} never returned within {STUCK_S} s")
                continue
            times = ratio(c, best, "per_s") if best else None
            print(f"{c.client:52}{number(c.median('per_s')):>9}{number(times, 2):>8}"
                  f"{number(c.median('p50_us')):>10}{number(c.median('p99_us')):>10}"
                  f"{number(c.median('slowest_per_s')):>9}{number(c.median('share'), 2):>7}"
                  f"{number(c.median('client_us'), 1):>11}{number(c.median('servers_us'), 1):>11}"
                  f"{c.spread_percent():>7.0f}%")


def described(case):
    rounded = lambda key, digits=1: (None if case.median(key) is None
                                     else round(case.median(key), digits))
    stuck = case.stuck()
    notes = [case.note] if case.note else []
    if stuck:
        notes.append(f"{stuck} never returned within {STUCK_S} s")
    return {"client": case.client, "kind": case.kind, "workload": case.workload,
            "callers": case.callers, "per_s": None if stuck else rounded("per_s"),
            "p50_us": None if stuck == "acquire" else rounded("p50_us"),
            "p99_us": None if stuck == "acquire" else rounded("p99_us"),
            "share": rounded("share", 3), "slowest_per_s": rounded("slowest_per_s"),
            "client_us": None if stuck else rounded("client_us"),
            "servers_us": None if stuck else rounded("servers_us"),
            "failures": sum(r["failures"] for r in case.rounds),
            "spread_percent": round(case.spread_percent(), 1), "note": "; ".join(notes)}


def processor_times():
    """Steal and all, in ticks, since boot."""
    ticks = [int(word) for word in Path("/proc/stat").read_text().split("\n")[0].split()[1:]]
    return ticks[7], sum(ticks[:8])


def tune(cases, servers, seconds, environment):
    """Which delay between attempts serves 16 callers best?"""
    bases = {}
    for case in cases:
        if case.workload == "one_name" and case.kind in ("peer", "single"):
            end = case.command.index("--retry-ms") if "--retry-ms" in case.command else None
            bases.setdefault(tuple(case.command[:end]), case)
    for base, case in bases.items():
        variants = [[]]
        if "node" in base:
            variants += [["--auto-pipelining"], ["--client-each"]]
        for more in variants:
            for ms in (0, 1, 3, 10, 30, 100):
                case.command = [*base, "--retry-ms", str(ms), *more]
                r = measure(case, servers, seconds, environment)
                if r:
                    print(f"{case.client.split(', retry')[0]:44}{' '.join(more):19}{ms:4} ms"
                          f"{r['per_s']:8,.0f}/s  slowest {r.get('slowest_per_s', 0):6,.1f}/s  "
                          f"share {r.get('share', 0):.2f}  p99 {r['p99_us'] / 1e3:,.0f} ms")


def main():
    parser = argparse.ArgumentParser(description="measures lock clients side by side")
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--peers", default="build/peers", type=Path)
    parser.add_argument("--out", default="build/bench/peers.json", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--tune", action="store_true", help="try delays between attempts instead")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))

    servers = Servers(f"{options.build}/redlock")
    cases, missing, versions = everybody(options.build, options.peers)
    for sentence in missing:
        print(f"run.py: left out: {sentence}")
    environment = {**os.environ, "PEERS_DIR": str(options.peers.resolve())}
    if options.tune:
        tune(cases, servers, options.seconds, environment)
        return
    load_before, (steal, ticks) = os.getloadavg()[0], processor_times()
    run_rounds([c for c in cases if c.workload != "hung"], servers, options.rounds,
               options.seconds, environment)
    run_rounds([c for c in cases if c.workload == "hung"], servers,
               min(HUNG_ROUNDS, options.rounds), options.seconds, environment)
    steal_after, ticks_after = processor_times()
    spreads = [c.spread_percent() for c in cases if c.kind == "floor" and c.rounds]
    verdicts = rows(cases)
    print_table(cases)
    print()
    for row in verdicts:
        met = {True: "met", False: "NOT MET", None: ""}[row["met"]]
        print(f"{row['what']:100}{row['ratio']:8.2f}  {row['target'] or '':7} {met}")
    answer = {
        "machine": {"cores": os.cpu_count(), "kernel": os.uname().release,
                    "load_before": round(load_before, 2),
                    "load_after": round(os.getloadavg()[0], 2),
                    "steal_percent": round(100 * (steal_after - steal)
                                           / max(1, ticks_after - ticks), 2),
                    "server": f"{servers.name} {servers.version}", "nodes": len(servers.nodes),
                    "rounds": options.rounds, "seconds": options.seconds,
                    "floor_spread_percent": round(max(spreads, default=0), 1),
                    "node": subprocess.run(["node", "--version"], capture_output=True, text=True,
                                           check=False).stdout.strip() if versions else "",
                    "ioredis": versions.get("ioredis", "")},
        "peers": [described(c) for c in cases if c.rounds],
        "missing": missing,
        "rows": verdicts,
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(answer, indent=1) + "\n")
    print(f"\nwrote {options.out}")


if __name__ == "__main__":
    main()
