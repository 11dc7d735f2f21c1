# SPDX-License-Identifier: BSD-2-Clause
"""Draws what the benchmarks measured: docs/performance-*.svg, and the tables of the page.

Reads build/bench/bench.json (`make bench`), build/bench/peers.json (`make bench-peers`) and
build/bench/bindings.json (`make bench-bindings`). What was not measured is not drawn, and stays as it
was.
"""
import argparse
import json
from pathlib import Path

import tables
from svg import LETTER, WIDTH, Axes, Card, Linear, Log, short

LEFT, RIGHT = 62, WIDTH - 28
INK = {"floor": 0, "async": 1, "threads": 2, "blocking": 3}
WORDS = {"floor": "floor", "async": "asynchronous", "threads": "threads", "blocking": "blocking"}


def machine_words(machine):
    server, cores = machine.get("server", "servers"), machine.get("cores", "?")
    return f"{machine.get('nodes', 5)} x {server} and the client on {cores} cores"


def throughput(bench, path):
    """Cycles per second against callers."""
    rows = bench.get("callers")
    if not rows:
        return "no `callers`"
    by_api = {}
    for row in rows:
        if row.get("per_s") and row["callers"] >= 1:
            by_api.setdefault(row["api"], []).append((row["callers"], row["per_s"]))
    counts = sorted({callers for points in by_api.values() for callers, _ in points})
    if len(counts) < 2:
        return "fewer than two numbers of callers"
    card = Card(420, "Acquire and release, by the number of callers",
                f"Distinct names. {machine_words(bench['machine'])}")
    axes = Axes(card, (LEFT, 132, RIGHT, 362), Log(counts[0], counts[-1], counts),
                Linear(max(y for points in by_api.values() for _, y in points)))
    axes.draw("callers, or requests in flight", "cycles/s", x_text=lambda n: f"{n:g}")
    shown = [api for api in WORDS if api in by_api]
    card.legend(20, 82, [(WORDS[api], INK[api]) for api in shown])
    for api in shown:
        axes.curve(sorted(by_api[api]), INK[api])
    card.write(path)
    return None


def cumulated(histogram):
    """(us, percent of all below), and where half are. A cell counts from its `us` on."""
    cells = sorted(histogram, key=lambda cell: cell["us"])
    total = sum(cell["count"] for cell in cells)
    ends = [cell["us"] for cell in cells[1:]]
    ends.append(cells[-1]["us"] * (cells[-1]["us"] / cells[-2]["us"] if len(cells) > 1 else 1.1))
    seen, points, median = 0, [(max(cells[0]["us"], 1), 0)], None
    for cell, end in zip(cells, ends):
        if median is None and (seen + cell["count"]) * 2 >= total:
            median = cell["us"] + (end - cell["us"]) * (total / 2 - seen) / cell["count"]
        seen += cell["count"]
        points.append((max(end, 1), 100 * seen / total))
    return points, median


def hung(bench, path):
    """How long acquire takes, with all nodes well and with one that hangs."""
    measured = bench.get("hung") or {}
    curves = [(words, ink, *cumulated(measured[key]))
              for key, words, ink in (("healthy", "all nodes well", 1),
                                      ("one_hung", "one of five hung", 2))
              if measured.get(key)]
    if not curves:
        return "no `hung`"
    card = Card(410, "How long acquire takes when a node hangs",
                machine_words(bench["machine"]))
    lowest = min(points[0][0] for _, _, points, _ in curves)
    highest = max(next(x for x, y in points if y >= 99.9) for _, _, points, _ in curves)
    axes = Axes(card, (LEFT, 132, RIGHT, 352), Log(lowest, max(highest, lowest * 4)), Linear(100))
    axes.draw("time from the call to its return (0.1 % took longer than shown)",
              "share of acquires done", x_text=time_words, y_text=lambda p: f"{p:g} %")
    card.legend(20, 82, [(f"{words}, median {time_words(round(median))}", ink)
                         for words, ink, _, median in curves])
    for _, ink, points, _ in curves:
        axes.curve([(x, y) for x, y in points if x <= highest], ink, marks=False)
    card.write(path)
    return None


def time_words(us):
    return f"{us:g} µs" if us < 1000 else f"{us / 1000:g} ms" if us < 1e6 else f"{us / 1e6:g} s"


def held(bench, path):
    """What a held lock costs, in memory and in CPU."""
    rows = [row for row in bench.get("held") or [] if row.get("locks")]
    counts = sorted({row["locks"] for row in rows})
    if len(counts) < 2:
        return "fewer than two numbers of held locks"
    lives = sorted({row.get("ttl_ms", 0) for row in rows})
    words = "Held and renewed by one client"
    down = 24 if len(lives) > 1 else 0
    card = Card(346 + down, "What a held lock costs the client",
                words if down else f"{words}, TTL {lives[0] / 1000:g} s")
    if down:
        card.legend(20, 82, [(f"TTL {ms / 1000:g} s", 1 + i) for i, ms in enumerate(lives)])
    middle = WIDTH / 2
    for key, label, left, right in (
            ("bytes_per_lock", "memory, bytes per lock", LEFT, middle - 14),
            ("cpu_us_per_lock_s", "CPU, µs per lock and second", middle + 52, RIGHT)):
        points = {ms: sorted((row["locks"], row[key]) for row in rows
                             if row.get("ttl_ms", 0) == ms and row.get(key) is not None)
                  for ms in lives}
        highest = max((y for each in points.values() for _, y in each), default=0)
        if highest <= 0:
            continue
        axes = Axes(card, (left, 108 + down, right, 288 + down), Log(counts[0], counts[-1], counts),
                    Linear(highest, 4))
        axes.draw("locks held", label)
        for i, ms in enumerate(lives):
            if points[ms]:
                axes.curve(points[ms], 1 + i)
    card.write(path)
    return None


PEER_INK = {"floor": 0, "ours": 1, "peer": 2, "binding": 3, "single": 5}
PANELS = (("distinct", 1, "One caller, distinct names: cycles/s"),
          ("distinct", 64, "64 callers, distinct names: cycles/s"),
          ("one_name", 16, "16 callers, one name: acquisitions/s; solid: sixteen times the "
                           "slowest caller's"))
BAR, GAP, PANEL = 18, 7, 46


def evenly(row):
    """The rate, had every caller got as much as the slowest."""
    slowest = row.get("slowest_per_s")
    return row["per_s"] if slowest is None else min(row["per_s"], slowest * row["callers"])


def bindings(measured, path):
    """Bars: ours in other languages beside the clients there."""
    return peers(measured, path, "The library in Python and Node beside other clients")


def peers(measured, path, title="Other lock clients beside ours"):
    """Bars: other clients beside ours."""
    panels = []
    for workload, callers, words in PANELS:
        rows = [row for row in measured.get("peers", []) if row["workload"] == workload
                and row["callers"] == callers and row.get("per_s")]
        if rows:
            panels.append((words, sorted(rows, key=lambda row: -evenly(row))))
    if not panels:
        return "no peers were measured"
    height = 92 + sum(PANEL + len(rows) * (BAR + GAP) for _, rows in panels)
    card = Card(height, title,
                f"{machine_words(measured['machine'])}, medians of "
                f"{measured['machine'].get('rounds', '?')} interleaved rounds")
    kinds = [("ours", "redlock"), ("binding", "redlock in another language"), ("peer", "others"),
             ("floor", "floor"),
             ("single", "one server, no quorum")]
    there = {row["kind"] for _, rows in panels for row in rows}
    card.legend(20, 82, [(words, PEER_INK[kind]) for kind, words in kinds if kind in there],
                bars=True)
    left = min(390, 26 + max(len(row["client"]) for _, rows in panels for row in rows) * LETTER)
    y = 92
    for words, rows in panels:
        card.text(20, y + 28, words, css="faint")
        y += PANEL - 6
        unit = (RIGHT - left - 86) / max(row["per_s"] for row in rows)
        for row in rows:
            width, solid = row["per_s"] * unit, evenly(row) * unit
            words = f"{row['per_s']:,.0f}"
            if width - solid > 1:
                card.bar(left, y, width, BAR, PEER_INK[row["kind"]], 0.3)
                words += f" / {evenly(row):,.0f}"
            card.text(left - 8, y + 13.5, row["client"], "end")
            card.bar(left, y, solid, BAR, PEER_INK[row["kind"]])
            card.text(left + width + 7, y + 13.5, words, css="faint")
            y += BAR + GAP
        y += 6
    card.write(path)
    return None


def load(path):
    if not path.exists():
        print(f"plot.py: {path} is not there")
        return None
    return json.loads(path.read_text())


def main():
    parser = argparse.ArgumentParser(description="draws what the benchmarks measured")
    parser.add_argument("--bench", default="build/bench/bench.json", type=Path)
    parser.add_argument("--peers", default="build/bench/peers.json", type=Path)
    parser.add_argument("--bindings", default="build/bench/bindings.json", type=Path)
    parser.add_argument("--docs", default="docs", type=Path)
    options = parser.parse_args()
    bench, measured = load(options.bench), load(options.peers)
    languages = load(options.bindings)
    for name, data, draw in (("callers", bench, throughput), ("hung", bench, hung),
                             ("held", bench, held), ("peers", measured, peers),
                             ("bindings", languages, bindings)):
        path = options.docs / f"performance-{name}.svg"
        problem = "nothing was measured" if data is None else draw(data, path)
        print(f"skipped {path}: {problem}" if problem else f"wrote {path}")
    page = options.docs / "performance.md"
    if page.exists():
        changed = tables.rewrite(page, bench, measured, languages)
        print(f"wrote {page}: {', '.join(changed)}" if changed else f"left {page} as it was")


if __name__ == "__main__":
    main()
