# SPDX-License-Identifier: BSD-2-Clause
"""The tables of docs/performance.md, from what was measured.

A table stands between `<!-- table: NAME -->` and `<!-- end -->`; whatever was there goes. A table
whose part was not measured stays as it is.

    tables.py BENCH.json    prints that of `make bench`
"""
import json
import re
import sys
from pathlib import Path


def number(value, digits=0):
    return "" if value is None else f"{value:,.{digits}f}"


def figure(value):
    """Three digits, or all in front of the point; one where it is tiny."""
    if value is None or isinstance(value, str):
        return value or ""
    if abs(value) < 0.01:
        return f"{value:.1g}"
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f}"


def micros(us):
    if us is None:
        return ""
    return f"{us:,.0f} µs" if us < 1000 else f"{us / 1000:,.1f} ms"


def table(head, align, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "|".join(align) + "|"]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def met(row):
    return {True: "yes", False: "**no**"}.get(row.get("met"), "")


def unit(row):
    words = row.get("unit", "")
    return words.replace("us", "µs", 1) if words == "us" or words.startswith("us/") else words


def machine(data):
    m = data["machine"]
    kernel = ".".join(m.get("kernel", "").removeprefix("Linux ").split(".")[:2])
    words = (f"{m.get('cores')} cores, Linux {kernel}, {m.get('nodes')} x {m.get('server')}; "
             f"{m.get('rounds')} rounds of {m.get('seconds')} s; load "
             f"{number(m.get('load_before'), 1)} before and {number(m.get('load_after'), 1)} "
             f"after, {number(m.get('steal_percent'), 1)} % of the CPU time stolen by the host; "
             f"between rounds the floor itself spread over "
             f"{number(m.get('floor_spread_percent'))} %.")
    if m.get("node"):
        words += f" Node.js {m['node']}, ioredis {m['ioredis']}."
    return words


def bench(data):
    return machine(data) + "\n\n" + table(
        ("what", "ours", "", "compared with", "", "ratio", "target", "met", "spread"),
        ("---", "--:", "---", "---", "--:", "--:", "---", "---", "--:"),
        [(r["what"], figure(r.get("ours")) or "not measured", unit(r), r.get("baseline") or "",
          figure(r.get("baseline_value")), figure(r.get("ratio")), r.get("target") or "", met(r),
          f"{number(r.get('spread_percent'))} %" if r.get("spread_percent") is not None else "")
         for r in data["rows"]])


def callers(data):
    return table(
        ("API", "callers", "cycles/s", "acquire p50", "p99", "client CPU per cycle",
         "servers' CPU per cycle"),
        ("---", "--:", "--:", "--:", "--:", "--:", "--:"),
        [(r["api"], r["callers"], number(r["per_s"]), micros(r.get("p50_us")),
          micros(r.get("p99_us")),
          f"{figure(r['client_us'])} µs" if r.get("client_us") is not None else "",
          f"{figure(r['servers_us'])} µs" if r.get("servers_us") is not None else "")
         for r in data["callers"]])


def held(data):
    return table(
        ("locks held", "TTL", "memory per lock", "client CPU per lock and second",
         "renewals late, p99", "lost"),
        ("--:", "--:", "--:", "--:", "--:", "--:"),
        [(number(r["locks"]), f"{r['ttl_ms'] / 1000:g} s", f"{number(r['bytes_per_lock'])} bytes",
          f"{figure(r['cpu_us_per_lock_s'])} µs", f"{figure(r['late_p99_ms'])} ms", r["lost"])
         for r in data["held"]])


def of_workload(data, workload):
    return [r for r in data["peers"] if r["workload"] == workload]


def peers_distinct(data):
    rows = of_workload(data, "distinct")
    best = {}
    for r in rows:
        if r["kind"] == "peer" and r["per_s"]:
            best[r["callers"]] = max(best.get(r["callers"], 0), r["per_s"])
    times = lambda r: figure(r["per_s"] / best[r["callers"]]) if r["callers"] in best else ""
    return machine(data) + "\n\n" + table(
        ("client", "callers", "cycles/s", "times the best peer", "acquire p50", "p99",
         "client CPU per cycle", "servers' CPU per cycle"),
        ("---", "--:", "--:", "--:", "--:", "--:", "--:", "--:"),
        [(r["client"], r["callers"], number(r["per_s"]), times(r), micros(r["p50_us"]),
          micros(r["p99_us"]), f"{figure(r['client_us'])} µs", f"{figure(r['servers_us'])} µs")
         for r in sorted(rows, key=lambda r: (r["callers"], -r["per_s"]))])


def peers_calls(data):
    return table(
        ("client", "callers", "sends", "receives", "waits", "futexes"),
        ("---", "--:", "--:", "--:", "--:", "--:"),
        [(r["client"], r["callers"], *(figure(r["calls"][kind]) for kind in
                                       ("sends", "receives", "waits", "futexes")))
         for r in sorted(of_workload(data, "distinct"),
                         key=lambda r: (r["callers"], -r["per_s"])) if r.get("calls")])


def peers_one_name(data):
    return table(
        ("client", "acquisitions/s", "of the slowest caller", "slowest / fastest", "acquire p50",
         "p99", "servers' CPU each"),
        ("---", "--:", "--:", "--:", "--:", "--:", "--:"),
        [(r["client"], number(r["per_s"]), figure(r["slowest_per_s"]), figure(r["share"]),
          micros(r["p50_us"]), micros(r["p99_us"]), f"{number(r['servers_us'])} µs")
         for r in sorted(of_workload(data, "one_name"), key=lambda r: -(r["slowest_per_s"] or 0))])


def peers_hung(data):
    return table(
        ("client", "acquire p50", "p99", "note"), ("---", "--:", "--:", "---"),
        [(r["client"], micros(r["p50_us"]), micros(r["p99_us"]), r["note"])
         for r in of_workload(data, "hung")])


def peers_targets(data):
    return table(("what", "ratio", "target", "met"), ("---", "--:", "---", "---"),
                 [(r["what"], figure(r["ratio"]), r["target"] or "", met(r))
                  for r in data["rows"]])


def bindings_distinct(data):
    """With the picture, which is drawn from the same run."""
    return ("![the library in Python and Node beside other clients](performance-bindings.svg)\n\n"
            + peers_distinct(data))


def binding_targets(data):
    """Of all rows those about a binding: the others are judged by another table."""
    languages = [r for r in data["rows"] if "node" in r["id"] or "python" in r["id"]]
    return peers_targets({"rows": languages})


# name: (which file, which part of it must be there, how it is written)
TABLES = {
    "bench": (0, "rows", bench),
    "callers": (0, "callers", callers),
    "held": (0, "held", held),
    "peers-distinct": (1, "peers", peers_distinct),
    "peers-calls": (1, "peers", peers_calls),
    "peers-one-name": (1, "peers", peers_one_name),
    "peers-hung": (1, "peers", peers_hung),
    "peers-targets": (1, "rows", peers_targets),
    "bindings-distinct": (2, "peers", bindings_distinct),
    "bindings-one-name": (2, "peers", peers_one_name),
    "bindings-targets": (2, "rows", binding_targets),
}


def rewrite(page, *measured):
    """Puts what was measured between the markers. Which tables were written."""
    text, written = page.read_text(), []

    def replaced(match):
        name = match.group(1)
        if name not in TABLES:
            raise SystemExit(f"plot.py: {page} wants a table that is not made: {name}")
        which, part, make = TABLES[name]
        data = measured[which]
        if not data or not data.get(part):
            return match.group(0)
        written.append(name)
        return f"<!-- table: {name} -->\n\n{make(data)}\n\n<!-- end -->"

    text = re.sub(r"<!-- table: ([a-z-]+) -->\n.*?<!-- end -->", replaced, text, flags=re.S)
    page.write_text(text)
    return written


if __name__ == "__main__":
    measured = json.loads(Path(sys.argv[1]).read_text())
    print(bench(measured))
    for row in measured["rows"]:
        if row["note"]:
            print(f"{row['what']}: {row['note']}")
