# SPDX-License-Identifier: BSD-2-Clause
"""Every example of README.md runs as it is written, and says nothing on standard error."""
import os
import re
import subprocess
import unittest

from support import PATIENCE_S, PYTHON

HERE = os.path.dirname(os.path.abspath(__file__))
README = os.path.join(HERE, "..", "README.md")
PROJECT = os.path.join(HERE, "..", "..", "..", "README.md")
BLOCK = re.compile(r"(<!-- not run: (?P<why>[^\n]+) -->\n)?^```(?P<language>[a-z]+)\n(?P<text>.*?)^```$",
                   re.MULTILINE | re.DOTALL)


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

    def test_example_of_the_project(self):
        with open(PROJECT, encoding="utf-8") as file:
            blocks = [block["text"] for block in BLOCK.finditer(file.read())
                      if "import redlock" in block["text"]]
        self.assertEqual(len(blocks), 1)
        self.run_block(blocks[0])

    def run_block(self, text):
        done = subprocess.run([*PYTHON, "-c", text], text=True, capture_output=True,
                              timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        # A loss is logged: that example is about one.
        complaints = [line for line in done.stderr.splitlines() if "is lost" not in line]
        self.assertEqual(complaints, [])

    def test_every_error_is_in_the_table(self):
        import redlock
        from redlock._errors import CLASSES

        with open(README, encoding="utf-8") as file:
            text = file.read()
        for code, error in CLASSES.items():
            self.assertIn(f"`{error.__name__}`", text)
            self.assertIn(f"`{code}`", text)
            self.assertIs(getattr(redlock, error.__name__), error)
