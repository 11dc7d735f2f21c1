# SPDX-License-Identifier: BSD-2-Clause
"""Every example of README.md runs as it is written, and says nothing on standard error."""
import inspect
import os
import re
import subprocess
import unittest

import redlock_native as redlock
from redlock_native._errors import CLASSES
from support import PATIENCE_S, PYTHON

HERE = os.path.dirname(os.path.abspath(__file__))
README = os.path.join(HERE, "..", "README.md")
PROJECT = os.path.join(HERE, "..", "..", "..", "README.md")
TOUR = os.path.join(HERE, "..", "..", "..", "docs", "tour.md")
BLOCK = re.compile(r"(<!-- not run: (?P<why>[^\n]+) -->\n)?^```(?P<language>[a-z]+)\n(?P<text>.*?)^```$",
                   re.MULTILINE | re.DOTALL)


def defaults_of(function):
    return {name: parameter.default
            for name, parameter in inspect.signature(function).parameters.items()}


def row(words, own):
    """A row of the table of defaults."""
    waits, renews = "for ever" if own["wait"] is None else "no", "yes" if own["renew"] else "no"
    return (f"| Python {words} | {own['ttl']:.0f} s | {waits} | {renews} "
            f"| {'yes' if own['fenced'] else 'no'} |")


class Readme(unittest.TestCase):
    def test_examples(self):
        with open(README, encoding="utf-8") as file:
            blocks = list(BLOCK.finditer(file.read()))
        ran = 0
        for number, block in enumerate(blocks, 1):
            with self.subTest(block=number):
                if block["why"]:
                    continue
                self.assertEqual(block["language"], "python")
                self.run_block(block["text"])
                ran += 1
        self.assertGreaterEqual(ran, 6)

    def test_example_of_the_tour(self):
        with open(TOUR, encoding="utf-8") as file:
            blocks = [block["text"] for block in BLOCK.finditer(file.read())
                      if "import redlock_native" in block["text"]]
        self.assertEqual(len(blocks), 1)
        self.run_block(blocks[0])

    def run_block(self, text):
        done = subprocess.run([*PYTHON, "-c", text], text=True, capture_output=True,
                              timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        # A loss is logged: that example is about one.
        complaints = [line for line in done.stderr.splitlines() if "is lost" not in line]
        self.assertEqual(complaints, [])

    def test_defaults_are_those_of_the_table(self):
        for path in (README, PROJECT):
            with open(path, encoding="utf-8") as file:
                said = [line.strip() for line in file if line.startswith("| Python ")]
            for client in (redlock.AsyncClient, redlock.Client):
                body = defaults_of(client.lock)
                handle = {**body, **defaults_of(client.acquire)}
                self.assertEqual(said, [row("`with`, `async with`", body), row("`acquire()`", handle)])

    def test_every_error_is_in_the_table(self):
        with open(README, encoding="utf-8") as file:
            text = file.read()
        for code, error in CLASSES.items():
            self.assertIn(f"`{error.__name__}`", text)
            self.assertIn(f"`{code}`", text)
            self.assertIs(getattr(redlock, error.__name__), error)
