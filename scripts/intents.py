#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The intents of the tests: what each of them is for, as it prints it.

    intents.py                  lists them: language, file, intent
    intents.py --check          and complains where a C or service test has no readable sentence
    intents.py --compare REV    which are gone since a commit, and which are new

Beside what is gone stands the nearest intent of now: moved, reworded, or merged into it.
"""
import argparse
import ast
import io
import re
import subprocess
import sys
import tarfile
from collections import namedtuple
from pathlib import Path

Intent = namedtuple("Intent", "language file name text")

C_CASE = re.compile(r'^CASE[_A-Z]*\((\w+)?\s*\w*,\s*((?:"(?:[^"\\]|\\.)*"\s*)*)', re.M)
C_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
JS_TEST = re.compile(r"^\s*(?:test|it)\(\s*(['\"`])(.*?)\1", re.M)
GO_TEST = re.compile(r"((?://[^\n]*\n)*)func (Test\w+)\(")

# What prints an intent in a bash test: the helpers of tests/support/assert.bash.
BASH_HELPERS = {"ok", "is", "that", "expect", "like", "unlike", "between"}
BASH_WORD = r"""("(?:[^"\\]|\\.)*"|'[^']*'|\$'(?:[^'\\]|\\.)*')"""
BASH_FUNCTION = re.compile(r"^\s*(\w+)\(\) \{(.*?)^\s*\}|^\s*(\w+)\(\) \{([^\n]*)\}", re.M | re.S)
RULES = (
    ("does not fit into a line", lambda text: len(text) > 88),
    ("begins in the middle",
     lambda text: re.match(r"(The same|And|But|So|Also|It|Its|They|Who) ", text)),
    ("has a subject that is not in the program",
     lambda text: re.search(r"nobody|somebody|anybody|everybody|whoever", text, re.I)),
    ("is not a sentence", lambda text: not text.endswith(".")),
)


def c_intents(file, text):
    for match in C_CASE.finditer(text):
        words = "".join(C_STRING.findall(match[2])).replace('\\"', '"')
        yield Intent("C", file, match[1], words)


def python_intents(file, text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name[:5] == "test_":
            words = ast.get_docstring(node) or node.name[5:].replace("_", " ")
            yield Intent("Python", file, node.name, " ".join(words.split()))


def bash_intents(file, text):
    helpers = set(BASH_HELPERS)
    for match in BASH_FUNCTION.finditer(text):
        if re.search(r'\b(%s) ["\']?\$\{?1\b' % "|".join(helpers), match[2] or match[4] or ""):
            helpers.add(match[1] or match[3])
    about = ""
    call = re.compile(r"(?:^|[;&|{]|\bthen|\bdo|\belse)\s*(%s) %s" % ("|".join(helpers), BASH_WORD))
    for line in text.splitlines():
        for match in call.finditer(line):
            words = match[2].lstrip("$")[1:-1]
            if words.startswith("$1"):
                continue
            if words.startswith(" "):
                words = "%s: %s" % (about, re.sub(r"^\s+(and )?", "", words))
            else:
                about = words
            yield Intent("bash", file, match[1], words)


def other_intents(file, text):
    for match in JS_TEST.finditer(text) if not file.endswith(".go") else ():
        yield Intent("JavaScript", file, "", match[2])
    for match in GO_TEST.finditer(text) if file.endswith(".go") else ():
        yield Intent("Go", file, match[2], re.sub(r"\s*//\s*", " ", match[1]).strip() or match[2])


def intents_of(file, text):
    name = file.rsplit("/", 1)[-1]
    if name.endswith(".c"):
        return c_intents(file, text)
    if name.startswith("test_") and name.endswith(".py"):
        return python_intents(file, text)
    if name.endswith((".sh", ".bash")) and "lib.bash" in text:
        return bash_intents(file, text)
    if name.endswith((".mjs", ".js", "_test.go")):
        return other_intents(file, text)
    return ()


ROOMS = ("tests", "lab", "bindings")
FORMER_ROOMS = ("sim", "chaos", "bench")


def of_tree(root):
    return [intent for room in ROOMS for path in sorted((Path(root) / room).rglob("*"))
            if path.is_file() and "node_modules" not in path.parts
            for intent in intents_of(str(path.relative_to(root)), path.read_text(errors="replace"))]


def of_commit(root, commit):
    archive = subprocess.run(["git", "-C", root, "archive", commit], capture_output=True, check=True)
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as tar:
        return [intent for entry in tar
                if entry.isfile() and entry.name.split("/")[0] in ROOMS + FORMER_ROOMS
                for intent in intents_of(entry.name,
                                         tar.extractfile(entry).read().decode(errors="replace"))]


def check(intents):
    """Complains on standard output; how often."""
    bad, first = 0, {}
    for intent in intents:
        if intent.language != "C" and "/service/test_" not in intent.file:
            continue
        wrong = [why for why, is_wrong in RULES if is_wrong(intent.text)]
        if intent.name is None:
            wrong.append("has its name on another line") # redlock_test() in CMake looks for it there
        if intent.text in first:
            wrong.append("says what %s says" % first[intent.text])
        first[intent.text] = intent.file
        for why in wrong:
            print("%s: %s: %s" % (intent.file, why, intent.text))
        bad += len(wrong)
    print(len(first), "intents")
    return bad if first else 1


def likeness(one, other):
    """How many of their words two intents share, from 0 to 1."""
    words, others = set(one.text.lower().split()), set(other.text.lower().split())
    return len(words & others) / max(1, len(words | others))


def compare(before, now):
    known, now_known = {i.text for i in before}, {i.text for i in now}
    gone = [intent for intent in before if intent.text not in now_known]
    new = [intent for intent in now if intent.text not in known]
    for intent in gone:
        print("gone  %s  %s  %s" % (intent.file, intent.name, intent.text))
        other = max(new, key=lambda each: likeness(intent, each), default=intent)
        if likeness(intent, other) > 0.4:
            print("  near  %s  %s  %s" % (other.file, other.name, other.text))
    for intent in new:
        print("new   %s  %s  %s" % (intent.file, intent.name, intent.text))
    print("%d intents before, %d now; %d gone, %d new" % (len(before), len(now), len(gone), len(new)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--root", default=str(Path(__file__).resolve().parent.parent))
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--compare", metavar="REV")
    options = parser.parse_args()
    intents = of_tree(options.root)
    if options.compare:
        compare(of_commit(options.root, options.compare), intents)
    elif options.check:
        sys.exit(check(intents) > 0)
    else:
        for intent in intents:
            print("%s  %s  %s" % (intent.language, intent.file, intent.text))


if __name__ == "__main__":
    main()
