# SPDX-License-Identifier: BSD-2-Clause
"""A soak: samples what every process of it keeps and costs, judges that, and draws it.

    soak.py [--leaks] DIR PROGRAM...    DIR gets samples.csv and soak.svg, and report.txt more lines
    soak.py --judge DIR                 the samples that are there

Ends with 1 if PROGRAM does not end well, a process grew, or was not reaped when it had ended. With --leaks
one is planted: then with 1 if none grew.
"""
import argparse
import csv
import os
import subprocess
import sys
import time
from collections import namedtuple
from itertools import groupby
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench"))

from svg import WIDTH, Axes, Card, Linear, short  # noqa: E402: it is beside the benchmarks

SAMPLES = 720  # about so many of each process, however long it takes
GAP_SAMPLES = 6  # a busy machine may delay one, but not so many
LEAST_SAMPLES = 8
MEMORY_KIB_PER_HOUR = 1024  # what may be added in an hour between the two medians,
MEMORY_KIB = 512  # and in any case: allocators round up
DESCRIPTORS_PER_HOUR = 4  # a leak of one per fault would be hundreds
DESCRIPTORS = 8  # connections of short-lived clients, at the moment of a sample
ZOMBIE_S = 30

Sample = namedtuple("Sample", "at_s pid process state rss_kib pss_kib descriptors cpu_ms")
Growth = namedtuple("Growth", "process minutes rss_kib pss_kib descriptors cpu_percent grew")
Verdict = namedtuple("Verdict", "judged lives zombies")

LEFT, RIGHT, HEIGHT, STEP = 62, WIDTH - 28, 150, 250
POINTS = 180  # of a curve, at most

# One process for each kind of line: how its name begins, the words of the legend.
SHOWN = (("library", "library client"), ("redlockd", "redlockd"),
         ("redlock lead", "redlock lead"), ("redlock top", "redlock top"),
         ("HTTP", "HTTP client"), ("redis-server", "server"))


def sample(pid, at_s):
    """None: the process is gone."""
    try:
        name, rest = Path(f"/proc/{pid}/stat").read_text().split("(", 1)[1].rsplit(") ", 1)
        if name == "redlock":  # the command: which subcommand?
            words = Path(f"/proc/{pid}/cmdline").read_text().replace(",", " ").split("\0")
            name = " ".join(words[:2]) + (" --service" if "--service" in words else "")
    except OSError:
        return None
    rest, pss_kib, descriptors = rest.split(), 0, 0
    try:
        descriptors = len(os.listdir(f"/proc/{pid}/fd"))
        pss_kib = next(int(line.split()[1]) for line in open(f"/proc/{pid}/smaps_rollup")
                       if line.startswith("Pss:"))
    except (OSError, StopIteration):
        pass  # it has ended
    ticks = int(rest[11]) + int(rest[12])
    return Sample(round(at_s, 1), pid, name, rest[0],
                  int(rest[21]) * os.sysconf("SC_PAGESIZE") // 1024, pss_kib, descriptors,
                  ticks * 1000 // os.sysconf("SC_CLK_TCK"))


def name_of(pid):
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def tree(pid):
    """The process and all below it."""
    yield pid
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            below = children.read_text().split()
        except OSError:
            continue
        for child in below:
            yield from tree(int(child))


def run(path, program):
    """Samples it until it ends; its status."""
    every_s = max(1, int(os.environ.get("CHAOS_SECONDS", 3600)) / SAMPLES)
    with open(path, "w", newline="") as file, subprocess.Popen(program) as child:
        out = csv.writer(file)
        out.writerow(Sample._fields)
        start = due = time.monotonic()
        while child.poll() is None:
            # The rig is below the runner of the case, which is left with orphans that it reaps late.
            rig = next((pid for pid in tree(child.pid) if name_of(pid) == "rig"), None)
            taken = [sample(pid, time.monotonic() - start) for pid in list(tree(rig))] if rig else ()
            out.writerows(filter(None, taken))
            file.flush()
            due = max(due + every_s, time.monotonic())
            try:
                child.wait(due - time.monotonic())
            except subprocess.TimeoutExpired:
                pass
    return child.returncode


def read(path):
    with open(path, newline="") as file:
        return [Sample(float(row[0]), int(row[1]), row[2], row[3], *map(int, row[4:]))
                for row in list(csv.reader(file))[1:]]


def lives_of(samples):
    """The samples of each process. One that is missing for a while is another with its number."""
    identity = lambda s: (s.pid, s.process)
    groups = [list(group) for _, group in groupby(sorted(samples, key=lambda s: (*identity(s), s.at_s)),
                                                  identity)]
    end_s = max((s.at_s for s in samples), default=0)
    gap_s = GAP_SAMPLES * end_s / (max([2, *map(len, groups)]) - 1)
    for group in groups:
        life = group[:1]
        for before, after in zip(group, group[1:]):
            if after.at_s - before.at_s > gap_s or after.cpu_ms < before.cpu_ms:
                yield life
                life = []
            life.append(after)
        yield life


def has_zombie(life):
    since_s = None
    for s in life:
        since_s = None if s.state != "Z" else s.at_s if since_s is None else since_s
        if since_s is not None and s.at_s - since_s >= ZOMBIE_S:
            return True
    return False


def growth_of(life):
    """The medians of the second quarter of its life and of the last."""
    quarter = len(life) // 4
    parts = life[quarter:2 * quarter], life[-quarter:]
    medians = lambda field: [sorted(getattr(s, field) for s in part)[quarter // 2] for part in parts]
    seconds = life[-1].at_s - life[0].at_s
    hours = seconds / 2 / 3600  # between the middles of the quarters
    rss, descriptors = medians("rss_kib"), medians("descriptors")
    grew = [words for words, (first, last), per_hour, least in
            (("MEMORY", rss, MEMORY_KIB_PER_HOUR, MEMORY_KIB),
             ("DESCRIPTORS", descriptors, DESCRIPTORS_PER_HOUR, DESCRIPTORS))
            if last - first > per_hour * hours + least]
    return Growth(life[0].process, seconds / 60, rss, medians("pss_kib"), descriptors,
                  (life[-1].cpu_ms - life[0].cpu_ms) / 10 / seconds, grew)


def judge(samples):
    """Of each process that lived for at least half of the time."""
    lives = list(lives_of(samples))
    end_s = max((s.at_s for s in samples), default=0)
    judged = [growth_of(life) for life in lives if len(life) >= LEAST_SAMPLES
              and life[-1].at_s - life[0].at_s >= end_s / 2]
    return Verdict(sorted(judged), len(lives), sum(map(has_zombie, lives)))


def lines_of(verdict, is_good):
    yield f"  {'process':24} {'minutes':>7}  {'resident KiB':>15}  {'proportional':>15}  " \
          f"{'descriptors':>11}  {'CPU':>6}"
    for g in verdict.judged:
        yield "  %-24s %7.1f  %6d > %6d  %6d > %6d  %4d > %4d  %4.1f %%%s" % (
            g.process, g.minutes, *g.rss_kib, *g.pss_kib, *g.descriptors, g.cpu_percent,
            "".join(f"  {what} GREW" for what in g.grew))
    yield "  %-26s%d processes, %d of them for half of the time: %d grew; %d zombies" % (
        f"verdict: {'good' if is_good else 'BAD'}", verdict.lives, len(verdict.judged),
        sum(bool(g.grew) for g in verdict.judged), verdict.zombies)


def thin(points):
    return points[::max(1, len(points) // POINTS)]


def cpu(life):
    """Percent of a core between samples that are far enough apart to measure it."""
    apart = thin(life)[::3]
    return [(b.at_s, (b.cpu_ms - a.cpu_ms) / 10 / (b.at_s - a.at_s))
            for a, b in zip(apart, apart[1:]) if b.at_s > a.at_s]


def draw(samples, path):
    """The longest life of each kind."""
    longest = {}
    for life in lives_of(samples):
        for begin, words in SHOWN:
            if life[0].process.startswith(begin) and len(life) > len(longest.get(words, ())):
                longest[words] = life
                break
    shown = [(longest[words], words, ink) for ink, (_, words) in enumerate(SHOWN)
             if words in longest]
    end_s = max(s.at_s for s in samples)
    unit, name = (3600, "hours") if end_s >= 4 * 3600 else (60, "minutes")
    card = Card(122 + 3 * STEP, "A soak: what its processes keep, and what they cost",
                f"{end_s / 60:.3g} minutes of faults, one process of each kind")
    half = len(shown) // 2
    card.legend(20, 82, [(words, ink) for _, words, ink in shown[:half]])
    card.legend(20, 104, [(words, ink) for _, words, ink in shown[half:]])
    panels = (("resident memory, MiB", [[(s.at_s, s.rss_kib / 1024) for s in thin(life)]
                                        for life, _, _ in shown]),
              ("descriptors", [[(s.at_s, s.descriptors) for s in thin(life)] for life, _, _ in shown]),
              ("CPU, percent of a core", [cpu(life) for life, _, _ in shown]))
    for number, (label, curves) in enumerate(panels):
        top = 150 + number * STEP
        highest = max((y for curve in curves for _, y in curve), default=1)
        axes = Axes(card, (LEFT, top, RIGHT, top + HEIGHT), Linear(end_s / unit),
                    Linear(max(highest, 0.1)))
        axes.draw(name, label, y_text=lambda v: f"{v:g}" if v < 1000 else short(v))
        for curve, (_, _, ink) in zip(curves, shown):
            if curve:
                axes.curve([(t / unit, y) for t, y in curve], ink, marks=False)
    card.write(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--leaks", action="store_true", help="a leak is planted, and must be found")
    parser.add_argument("--judge", action="store_true", help="what was sampled before")
    parser.add_argument("dir", type=Path)
    parser.add_argument("program", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    path = options.dir / "samples.csv"
    status = 0 if options.judge else run(path, options.program)
    samples = read(path)
    verdict = judge(samples)
    grew = any(g.grew for g in verdict.judged)
    is_good = status == 0 and verdict.judged and not grew and not verdict.zombies
    text = "\n".join(lines_of(verdict, is_good))
    print(text, flush=True)
    if not options.judge:
        with open(options.dir / "report.txt", "a") as report:
            print(text, file=report)
    draw(samples, options.dir / "soak.svg")
    sys.exit(not (status == 0 and grew if options.leaks else is_good))


if __name__ == "__main__":
    main()
