# SPDX-License-Identifier: BSD-2-Clause
"""Peers side by side: other lock clients, ours and the floor, on the same servers.

`make bench-peers` starts five servers and this inside `redlock dev`. It installs the peers of
package.json into build/peers, runs every client with every workload in interleaved rounds, prints
tables of medians and writes build/bench/peers.json. What cannot be installed is named and left
out.

Workloads
    distinct    every caller acquires and releases a lock of its own, again and again
    one_name    all callers want the same lock and hold it for no time
    hung        one caller, as distinct, while one of the nodes accepts and never answers

To add a peer
    1. Write a driver, a program that is started with
           --nodes HOST:PORT,... --workload WORKLOAD --callers N --seconds S
       and whatever clients.py gives it. It connects, warms up for 0.3 s (not for the hung node:
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
    2. Add it to clients.py, its package to package.json and to scripts/deps.sh (purpose `peers`).
    3. Run it as its documentation says, and as fast as its documentation lets it. `run.py --tune`
       inside `redlock dev -c 5 --` tries delays between attempts; RETRIES there notes the outcome.
"""
import argparse
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import calls
from clients import all_clients
from outcome import STUCK_S, described, rows

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import tables  # noqa: E402: of all benchmarks

READY_S = 20  # for a driver to connect and warm up
GRACE_S = 5  # beyond what a driver should take
HUNG_ROUNDS = 3



class Servers:
    def __init__(self, redlock):
        words = os.environ.get("REDLOCK_NODES", "").replace(",", " ").split()
        if not words or "REDLOCK_DEV" not in os.environ:
            sys.exit("run.py: run this inside `redlock dev -c 5 --`, as `make bench-peers` does")
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



def follow(stream, lines):
    for line in stream:
        lines.put(line)
    lines.put("")


def measure(case, servers, seconds, environment, count_calls=False):
    """Runs the driver once. None with a message when it failed."""
    driver = subprocess.Popen(
        [*case.command, "--nodes", ",".join(servers.nodes), "--workload", case.workload,
         "--callers", str(case.callers), "--seconds", str(seconds)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    lines = queue.Queue()
    threading.Thread(target=follow, args=(driver.stdout, lines), daemon=True).start()
    hanging, strace = False, None
    try:
        if lines.get(timeout=READY_S).strip() != "ready":
            raise queue.Empty
        if case.workload == "hung":
            hanging = True
            servers.hang()
        strace = calls.Strace(driver.pid) if count_calls else None
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
        if strace:
            counted = strace.counts()
    if strace and counted:
        result["calls"] = calls.per_cycle(counted, result["cycles"])
    result["per_s"] = result["cycles"] / result["seconds"]
    if case.workload == "one_name" and result.get("most"):
        result["share"] = result["least"] / result["most"]
        result["slowest_per_s"] = result["least"] / result["seconds"]
    return result


def run_rounds(cases, servers, rounds, seconds, environment):
    """Every second round goes backwards, so that no client always runs after the same other."""
    for number in range(rounds):
        for case in cases if number % 2 == 0 else reversed(cases):
            if case.stuck():
                continue  # once is enough to know
            result = measure(case, servers, seconds, environment)
            if result:
                case.rounds.append({**result, "round": number})
        print(f"run.py: round {number + 1} of {rounds}", file=sys.stderr)


def processor_times():
    """Steal and all, in ticks, since boot."""
    ticks = [int(word) for word in Path("/proc/stat").read_text().split("\n")[0].split()[1:]]
    return ticks[7], sum(ticks[:8])


def count_calls(cases, servers, seconds, environment):
    """Once for each client with names of its own: what does a cycle ask of the kernel?"""
    for case in cases if calls.available() else ():
        if case.workload == "distinct" and case.kind != "single" and case.rounds:
            result = measure(case, servers, seconds, environment, count_calls=True)
            case.calls = result.get("calls") if result else None


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
    parser.add_argument("--only", help="this workload alone; nothing is judged by it")
    parser.add_argument("--bindings", action="store_true",
                        help="only what the other languages are judged by")
    parser.add_argument("--tune", action="store_true", help="try delays between attempts instead")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))

    servers = Servers(f"{options.build}/redlock")
    cases, missing, versions = all_clients(options.build, options.peers, options.bindings)
    cases = [c for c in cases if options.only in (None, c.workload)]
    if options.bindings:
        cases = [c for c in cases if c.workload != "hung" and c.kind not in ("floor", "single")
                 and (c.kind != "ours" or c.id in ("async_1", "async_64", "one_async"))]
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
    count_calls(cases, servers, options.seconds, environment)
    spreads = [c.spread_percent() for c in cases if c.kind == "floor" and c.rounds]
    verdicts = rows(cases, complete=not missing and not options.only)
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
    for table in (tables.peers_distinct, tables.peers_one_name, tables.peers_hung,
                  tables.peers_targets):
        print(table(answer), end="\n\n")
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
