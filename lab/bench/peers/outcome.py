# SPDX-License-Identifier: BSD-2-Clause
"""From the rounds of all cases to medians, ratios and verdicts."""
import statistics

STUCK_S = 5  # a call with a hung node that took longer counts as one that never returns
TARGET_THREADS = 4.0
TARGET_ONE_NAME = 3.0
TARGET_SHARE = 0.9
TARGET_NODE_64 = 3.0  # times node-redlock with auto-pipelining
TARGET_NODE_P50 = 1.5  # of the library's
TARGET_PYTHON_64 = 8.0  # times the Lock of redis-py with asyncio, one per server
TARGET_PYTHON_P50 = 2.0  # of the library's


def ratio(a, b, key):
    """The median of the rounds' own ratios: the two of a round stood next to each other."""
    others = {r["round"]: r.get(key) for r in b.rounds}
    each = [r[key] / others[r["round"]] for r in a.rounds
            if r.get(key) is not None and others.get(r["round"])]
    return statistics.median(each) if each else None


def best_peer(cases, workload, callers, key, each=None):
    """The best of those that are arranged alike: see Case.each."""
    peers = [c for c in cases if c.kind == "peer" and c.workload == workload
             and c.callers == callers and c.median(key) is not None
             and (each is None or c.each is None or c.each == each)]
    return max(peers, key=lambda c: c.median(key), default=None)


def rows(cases, complete):
    """Ours over the best peer, and what was aimed at; judged only where no peer is missing."""
    by_id = {c.id: c for c in cases if c.id and c.rounds}
    result = []

    def row(name, id, key, what, target):
        case = by_id.get(id)
        best = case and best_peer(cases, case.workload, case.callers, key, case.each)
        if not best:
            return
        value = ratio(case, best, key) if best.median(key) else None
        if value is None:  # the best of them got nothing in the time: no number is the answer
            met = case.median(key) > 0
            what += "; every peer left it with nothing"
        else:
            met = value >= target if target else None
            what += f"; best peer: {best.client}"
        result.append({"id": name, "what": what, "ratio": value and round(value, 3),
                       "target": target and f">= {target:g}", "met": met if complete else None})

    row("peer_blocking_1", "blocking_1", "per_s", "blocking, one caller", None)
    row("peer_async_64", "async_64", "per_s", "asynchronous, 64 in flight", None)
    row("peer_threads_64", "threads_64", "per_s", "64 threads on one client, I/O thread",
        TARGET_THREADS)
    row("peer_threads_64_direct", "threads_64_direct", "per_s",
        "64 threads on one client, without I/O thread", None)
    for id, shape in (("one_async", "one client, asynchronous"),
                    ("one_client", "one client, threads"), ("clients", "a client each")):
        row(f"peer_{id}", id, "per_s", f"16 callers on one name, {shape}: all acquisitions",
            TARGET_ONE_NAME)
        row(f"peer_{id}_slowest", id, "slowest_per_s",
            f"16 callers on one name, {shape}: those of the slowest caller", TARGET_ONE_NAME)
    for id, language in (("node_one", "Node"), ("python_one", "Python")):
        row(f"peer_{id}_slowest", id, "slowest_per_s",
            f"16 callers on one name in {language}: those of the slowest caller", TARGET_ONE_NAME)
    result += binding_rows(by_id, complete)
    for id, shape in (("one_async_fair", "one client, asynchronous"),
                    ("one_client_fair", "one client, threads"),
                    ("clients_fair", "a client each"), ("node_one_fair", "one client in Node"),
                    ("python_one_fair", "one client in Python")):
        share = by_id[id].median("share") if id in by_id else None
        if share is not None:
            result.append({"id": f"share_{id}", "what": f"slowest over fastest of 16, {shape}, fair",
                           "ratio": round(share, 3), "target": f">= {TARGET_SHARE:g}",
                           "met": share >= TARGET_SHARE})
    return result


def binding_rows(by_id, complete):
    """The languages beside what is theirs to beat, and beside the library itself."""
    result = []

    def row(name, id, other, key, what, target, least):
        if id not in by_id or other not in by_id:
            return
        value = ratio(by_id[id], by_id[other], key)
        met = value is not None and (value >= target if least else value <= target)
        result.append({"id": name, "what": what, "ratio": value and round(value, 3),
                       "target": f"{'>=' if least else '<='} {target:g}",
                       "met": met if complete else None})

    row("node_64", "node_64", "node-redlock.mjs_piped_64", "per_s",
        "64 callers in Node over node-redlock with auto-pipelining", TARGET_NODE_64, True)
    row("node_p50", "node_1", "async_1", "p50_us",
        "one caller in Node, p50 of acquire over the library's", TARGET_NODE_P50, False)
    theirs = [id for id in by_id if id.startswith("python_aio")]
    row("python_64", "python_64", max(theirs, key=lambda id: by_id[id].median("per_s"), default=""),
        "per_s", "64 tasks in Python over the better of two Redlocks of redis-py's asyncio Lock",
        TARGET_PYTHON_64, True)
    row("python_p50", "python_1", "async_1", "p50_us",
        "one task in Python, p50 of acquire over the library's", TARGET_PYTHON_P50, False)
    return result


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
            "calls": case.calls, "spread_percent": round(case.spread_percent(), 1),
            "note": "; ".join(notes)}
