# SPDX-License-Identifier: BSD-2-Clause
"""What 16 clients with connections of their own cost on one name, before and after a change.

    redlock dev -c 5 -- python3 -B lab/bench/turns.py BEFORE AFTER      (`make bench-turns BEFORE=DIR`)

BEFORE and AFTER are build directories with a libredlock.so each. The redlock-bench of AFTER measures
both, in rounds that take turns, so that what else the machine does hits both alike. On a busy machine
only the CPU times mean something. Which calls are made is counted by `ctest -V -R cost.handover`.
"""
import argparse
import json
import os
import subprocess
from pathlib import Path
from statistics import median


def measure(after, library, seconds):
    """One round of the part `crowd`: the row of 16 callers with a client each."""
    out = after / "bench" / "turns.json"
    run = subprocess.run(
        [after / "bench" / "redlock-bench", "--only", "crowd", "--rounds", "1",
         "--seconds", str(seconds), "--json", out],
        env=dict(os.environ, LD_LIBRARY_PATH=str(library)), stdout=subprocess.DEVNULL, check=False)
    if run.returncode != 0:
        raise SystemExit(f"turns.py: redlock-bench failed with the library of {library}")
    return next(row for row in json.loads(out.read_text())["rows"] if row["id"] == "crowd_16")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=2)
    options = parser.parse_args()
    before, after = options.before.resolve(), options.after.resolve()
    for library in (before, after):
        if not (library / "libredlock.so").exists():
            parser.error(f"there is no {library}/libredlock.so: name a build directory")
    rows = {before: [], after: []}
    for i in range(options.rounds):
        for library in (before, after) if i % 2 == 0 else (after, before):
            rows[library].append(measure(after, library, options.seconds))
    print(f"16 clients on one name, medians of {options.rounds} rounds in turn")
    print(f"{'':20} {'before':>10} {'after':>10} {'after/before':>14}")
    for field, what in (("ours", "acquisitions/s"), ("servers_us", "servers' CPU, us"),
                        ("client_us", "clients' CPU, us")):
        old, new = (median(row[field] for row in rows[side]) for side in (before, after))
        print(f"{what:20} {old:10,.0f} {new:10,.0f} {new / old:14.2f}")


if __name__ == "__main__":
    main()
