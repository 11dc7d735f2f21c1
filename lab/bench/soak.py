# SPDX-License-Identifier: BSD-2-Clause
"""Draws what a soak sampled: memory, descriptors and CPU of the processes that lived for long.

soak.py SAMPLES.csv PICTURE.svg
"""
import csv
import sys
from pathlib import Path

from svg import WIDTH, Axes, Card, Linear, short

LEFT, RIGHT, HEIGHT, STEP = 62, WIDTH - 28, 150, 250
POINTS = 180  # of a curve, at most

# One process for each kind of line: its words in the file, those of the legend.
SHOWN = (("library client 1", "library client"), ("redlockd 1", "redlockd"),
         ("redlock lead", "redlock lead"), ("redlock top", "redlock top"),
         ("HTTP client 5", "HTTP client"), ("server", "server, longest life"))


def read(path):
    """{process: [(seconds, resident KiB, descriptors, CPU ms)]} with one pid each, the longest."""
    lives = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            if row["cpu_ms"] is None:
                continue  # cut off by the end of the run
            lives.setdefault((row["process"], row["pid"]), []).append(
                (float(row["at_s"]), int(row["rss_kib"]), int(row["descriptors"]),
                 int(row["cpu_ms"])))
    longest = {}
    for (process, _), samples in lives.items():
        kind = "server" if process.startswith("server") else process
        if len(samples) > len(longest.get(kind, ())):
            longest[kind] = samples
    return longest


def thin(points):
    step = max(1, len(points) // POINTS)
    return points[::step]


def cpu(samples):
    """Percent of a core between samples that are far enough apart to tell."""
    apart = thin(samples)[::3]
    return [(b[0], (b[3] - a[3]) / 10 / (b[0] - a[0])) for a, b in zip(apart, apart[1:])
            if b[0] > a[0]]


def draw(longest, path):
    shown = [(longest[key], words, ink) for ink, (key, words) in enumerate(SHOWN)
             if key in longest]
    end_s = max(samples[-1][0] for samples, _, _ in shown)
    unit, name = (3600, "hours") if end_s >= 4 * 3600 else (60, "minutes")
    card = Card(122 + 3 * STEP, "A soak: what its processes keep, and what they cost",
                f"{end_s / 60:.3g} minutes of faults, one process of each kind")
    half = len(shown) // 2
    card.legend(20, 82, [(words, ink) for _, words, ink in shown[:half]])
    card.legend(20, 104, [(words, ink) for _, words, ink in shown[half:]])
    panels = (("resident memory, MiB", [[(t, rss / 1024) for t, rss, _, _ in thin(s)]
                                        for s, _, _ in shown]),
              ("descriptors", [[(t, fds) for t, _, fds, _ in thin(s)] for s, _, _ in shown]),
              ("CPU, percent of a core", [cpu(s) for s, _, _ in shown]))
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


if __name__ == "__main__":
    draw(read(sys.argv[1]), Path(sys.argv[2]))
