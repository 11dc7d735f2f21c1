#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The table of docs/servers.md, from the results that scripts/matrix.sh has left.

matrix.py RESULTS PAGE        writes the table and the lists below it between their marks
matrix.py --one RESULTS NAME  prints what came of one server
matrix.py --failed FILE       a regular expression for the tests that failed
matrix.py --left-out NAME BUILD
                              one for the tests that are left out on a server (scripts/matrix.skips)
"""
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

BEGIN, END = "<!-- matrix: begin -->\n", "<!-- matrix: end -->\n"


def cases(path):
    """{test: (passed, failed or skipped, what it printed)}"""
    found = {}
    for case in xml.parse(path).getroot().iter("testcase"):
        text = case.findtext("system-out") or ""
        result = "passed"
        if case.find("failure") is not None:
            result = "failed"
        elif case.find("skipped") is not None or case.get("status") != "run":
            result = "skipped"
        found[case.get("name")] = (result, text)
    return found


def reason(text):
    """The sentence of a test that was skipped."""
    for line in text.splitlines():
        match = re.search(r"(?:# )?skip(?:ped)?[: -]+(.*)", line, re.I)
        if match and match.group(1).strip():
            return match.group(1).strip()
    reasons = [line[2:] for line in text.splitlines() if line.startswith("# ")]
    return reasons[0] if reasons else "no reason given"


class Server:
    def __init__(self, results, name):
        self.name = name
        self.version = version((results / f"{name}.version").read_text())
        self.commit = (results / f"{name}.commit").read_text().strip()
        found = cases(results / f"{name}.xml")
        again = results / f"{name}.again"
        alone = cases(again) if again.exists() else {}
        self.left_out = rules(name)
        found = {n: r for n, r in found.items()
                 if not any(re.search(e, n) for e, _ in self.left_out)}
        self.passed = sorted(n for n, (r, _) in found.items() if r == "passed")
        self.skipped = {n: reason(t) for n, (r, t) in sorted(found.items()) if r == "skipped"}
        failed = sorted(n for n, (r, _) in found.items() if r == "failed")
        self.alone = [n for n in failed if alone.get(n, ("failed",))[0] == "passed"]
        self.failed = [n for n in failed if n not in self.alone]


def rules(server):
    """(regular expression, reason) for what is left out on a server."""
    found = []
    for line in Path(__file__).with_name("matrix.skips").read_text().splitlines():
        if not line.startswith("#"):
            servers, expression, why = re.fullmatch(r"(.*?) \| (.*) \| (.*)", line).groups()
            if server in servers.split():
                found.append((expression, why))
    return found


def version(text):
    match = re.search(r"(\w+) server v=([\d.]+)", text, re.I)
    return f"{match.group(1).capitalize()} {match.group(2)}" if match else text.strip()


def table(servers):
    lines = ["| server | version | passed | passed only alone | skipped | failed | commit |",
             "|---|---|---|---|---|---|---|"]
    for s in servers:
        words = "all of these, one for each node" if s.name == "mixed" else s.version
        lines.append(f"| `{s.name}` | {words} | {len(s.passed)} | {len(s.alone)} | "
                     f"{len(s.skipped)} | {len(s.failed)} | {s.commit} |")
    return lines


def by_reason(servers):
    """Which test is skipped where, and why: one row for each reason."""
    reasons = {}
    for s in servers:
        for name, why in s.skipped.items():
            reasons.setdefault((name, why), []).append(s.name)
    if not reasons:
        return ["", "No test was skipped."]
    lines = ["", "| skipped | on | because |", "|---|---|---|"]
    for (name, why), where in sorted(reasons.items()):
        on = "all" if len(where) == len(servers) else ", ".join(where)
        lines.append(f"| `{name}` | {on} | {why.replace('|', '/')} |")
    return lines


def left_out(servers):
    reasons = {}
    for s in servers:
        for expression, why in s.left_out:
            reasons.setdefault((expression, why), []).append(s.name)
    if not reasons:
        return []
    lines = ["", "Left out, because the test needs what the server has not:", ""]
    for (expression, why), where in reasons.items():
        words = expression.strip("^$").replace("\\.", ".").replace(".*", "*")
        lines.append(f"- {', '.join(where)}: {why}: `{words}`")
    return lines


def named(servers, attribute, head):
    lines = []
    for s in servers:
        if getattr(s, attribute):
            lines.append(f"- {s.name}: " + ", ".join(f"`{n}`" for n in getattr(s, attribute)))
    return ["", head, "", *lines] if lines else []


def main():
    if sys.argv[1] == "--left-out":
        # Name by name: what ctest understands has few parentheses.
        known = json.loads(subprocess.run(
            ["ctest", "--test-dir", sys.argv[3], "--show-only=json-v1"], check=True,
            capture_output=True, text=True).stdout)
        names = [t["name"] for t in known["tests"]
                 if any(re.search(e, t["name"]) for e, _ in rules(sys.argv[2]))]
        print("|".join(f"^{re.escape(n)}$" for n in names) or "^$")
        return
    if sys.argv[1] == "--failed":
        names = [n for n, (r, _) in cases(sys.argv[2]).items() if r == "failed"]
        print("^(" + "|".join(re.escape(n) for n in names) + ")$")
        return
    if sys.argv[1] == "--one":
        s = Server(Path(sys.argv[2]), sys.argv[3])
        print(f"{s.name} ({s.version}): {len(s.passed)} passed, {len(s.alone)} only alone, "
              f"{len(s.skipped)} skipped, {len(s.failed)} failed")
        for name in s.failed:
            print(f"  failed: {name}")
        return
    results, page = Path(sys.argv[1]), Path(sys.argv[2])
    order = Path(__file__).with_name("servers.sh").read_text()
    servers = [Server(results, p.stem) for p in results.glob("*.xml")]
    servers.sort(key=lambda s: order.find(f"\n{s.name} ") % 10**6)
    lines = [*table(servers), *left_out(servers), *by_reason(servers),
             *named(servers, "alone", "Failed beside others, and passed alone (a busy machine):"),
             *named(servers, "failed", "Failed:")]
    text = page.read_text()
    head, rest = text.split(BEGIN)
    page.write_text(head + BEGIN + "\n".join(lines) + "\n" + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
