#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""walk.py lock|put [FILES ROOMS]: the way of a lock through src/, or of a PUT through redlockd/.

Builds the tree into build/walk so that every function reports its entry (scripts/walk_record.c). Then
    lock  makes uncontended blocking cycles of acquire and release (scripts/walk.c), five nodes;
    put   sends PUTs of a free lock to a warm redlockd, one node, each from the reading of its bytes
          to the end of its exchange.
Prints the files and functions in the order of their first call, a new line for every change of file,
and the hops: how often file and room change in that order, and over all calls as they were made (of
a cycle, in the mean).
The other rooms of the tree (for put: src/) are left out, and so are the tools of src/base/, which know
nothing of locks; for put also the loop itself, which calls what is ready whatever that is, and what not
every one of the PUTs had: another part was due then. What is left out stands in the last line.
With FILES and ROOMS it fails if there are more files, or more changes of room by first calls.
"""
import mmap
import os
import struct
import subprocess
import sys
import tempfile
import time

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.dont_write_bytecode = True
sys.path.insert(0, "tests/service")
from client import Client  # noqa: E402: the rig of redlockd's tests

BUILD = "build/walk"
RECORDER = os.path.abspath(f"{BUILD}/walk_record.so")
WIDTH = 92
HEAD = 3 * 8  # is_on, count, base
WARM_UP_CYCLES = 20
CYCLES = 100  # as in walk.c
PUTS = 5
TREE_OF = {"lock": "src", "put": "redlockd"}
LEFT_OUT = {"lock": (), "put": ("system/loop.c",)}
TOOLS = "src/base/"


def run(*command, **options):
    return subprocess.run(command, check=True, **options)


def build(way):
    targets = ["redlock", "redlock_static" if way == "lock" else "redlockd"]
    cc = os.environ.get("CC", "cc")
    run("cmake", "-S", ".", "-B", BUILD, "-DCMAKE_BUILD_TYPE=Debug", "-DREDLOCK_WERROR=OFF",
        "-DCMAKE_C_FLAGS=-O0 -gdwarf-4 -finstrument-functions", stdout=subprocess.DEVNULL)
    run("cmake", "--build", BUILD, "--parallel", os.environ.get("JOBS", "2"), "--target", *targets,
        stdout=subprocess.DEVNULL)
    run(cc, "-shared", "-fPIC", "-o", RECORDER, "scripts/walk_record.c", "-ldl", "-lpthread")
    if way == "lock":
        run(cc, "-gdwarf-4", "-Iinclude", "-o", f"{BUILD}/cycles", "scripts/walk.c",
            f"{BUILD}/libredlock.a", "-lssl", "-lcrypto", "-lpthread")


def expect(status, answer):
    if answer.status != status:
        raise SystemExit(f"walk: {answer}")
    return answer


def wait_until_idle(memory):
    """The turn of the loop that has sent the answer ends a little later."""
    before = None
    while memory[8:16] != before:
        before = memory[8:16]
        time.sleep(0.1)


def end_recording(memory):
    """A 0 behind its calls."""
    count = int.from_bytes(memory[8:16], sys.byteorder)
    memory[8:16] = (count + 1).to_bytes(8, sys.byteorder)


def drive_put(file):
    """Inside of `redlock dev`: starts the daemon, and records PUTs, each with what was called."""
    with tempfile.TemporaryDirectory() as directory:
        path = f"{directory}/redlockd.sock"
        daemon = subprocess.Popen([f"{BUILD}/redlockd", "--listen", f"unix:{path}"],
                                  stderr=subprocess.PIPE, text=True,
                                  env=dict(os.environ, LD_PRELOAD=RECORDER, WALK_FILE=file))
        try:
            for line in daemon.stderr:
                if "listening" in line:
                    break
            client = Client(path, keep=True)
            for _ in range(WARM_UP_CYCLES):
                expect(204, client.release(expect(201, client.acquire("walk", ttl_ms=10000))))
            with open(file, "r+b") as recorded, mmap.mmap(recorded.fileno(), 0) as memory:
                for _ in range(PUTS):
                    memory[0] = 1
                    held = expect(201, client.acquire("walk", ttl_ms=10000))
                    wait_until_idle(memory)
                    memory[0] = 0
                    end_recording(memory)
                    expect(204, client.release(held))
        finally:
            daemon.terminate()
            daemon.communicate()


def record(way, file):
    if way == "put":
        run(f"{BUILD}/redlock", "dev", "-c", "1", "--", sys.executable, __file__, "drive-put", file)
        return f"{BUILD}/redlockd"
    run(f"{BUILD}/redlock", "dev", "-c", "5", "--", "env", f"LD_PRELOAD={RECORDER}",
        f"WALK_FILE={file}", f"{BUILD}/cycles")
    return f"{BUILD}/cycles"


def recordings(entered):
    """Each ends with a 0, if there are several."""
    one = []
    for at in entered:
        if at:
            one.append(at)
        else:
            yield one
            one = []
    if one:
        yield one


def calls(program, file, way):
    """(file, function) of every call into a .c file of the tree, in order, of the first recording:
    of what all of them have. And which files on that way are left out: of the tree, and tools."""
    with open(file, "rb") as recorded:
        _, count, base = struct.unpack("=3Q", recorded.read(HEAD))
        entered = struct.unpack(f"={count}Q", recorded.read(8 * count))
    known = list(dict.fromkeys(at for at in entered if at))
    lines = run("addr2line", "-f", "-e", program, input="".join(f"{at - base:#x}\n" for at in known),
                text=True, stdout=subprocess.PIPE).stdout.splitlines()
    place, left_out = {}, {}
    for i, at in enumerate(known):
        path = os.path.relpath(lines[2 * i + 1].split(":")[0])
        tree, _, inside = path.partition("/")
        if tree == TREE_OF[way] and path.endswith(".c") and inside not in LEFT_OUT[way] and \
                not path.startswith(TOOLS):
            place[at] = (inside, lines[2 * i])
        elif path.endswith(".c") and (tree == TREE_OF[way] or path.startswith(TOOLS)):
            left_out[at] = path
    each = list(recordings(entered))
    common = set.intersection(*map(set, each))
    return ([place[at] for at in each[0] if at in common and at in place],
            sorted({left_out[at] for at in common if at in left_out}))


def changes(values):
    values = list(values)
    return sum(a != b for a, b in zip(values, values[1:]))


def room_of(path):
    return path.partition("/")[0]


def show(way):
    last, width = None, 0
    for path, function in way:
        if path != last:
            print(f"\n{path}" if last else path, end="")
            last, width = path, WIDTH
        if width + 1 + len(function) > WIDTH:
            print("\n   ", end="")
            width = 4
        print(f" {function}", end="")
        width += 1 + len(function)
    print("\n")
    for room in dict.fromkeys(room_of(path) for path, _ in way):
        inside = [(path, function) for path, function in way if room_of(path) == room]
        print(f"{room:10} {len({path for path, _ in inside}):2} files {len(inside):4} functions")
    print(f"{'together':10} {len({path for path, _ in way}):2} files {len(way):4} functions")


def main():
    way = sys.argv[1] if len(sys.argv) > 1 else "lock"
    if way == "drive-put":
        drive_put(sys.argv[2])
        return
    if way not in TREE_OF:
        raise SystemExit(__doc__)
    build(way)
    file = os.path.abspath(f"{BUILD}/calls")
    if os.path.exists(file):
        os.remove(file)
    every, left_out = calls(record(way, file), file, way)
    first = list(dict.fromkeys(every))
    show(first)
    hops = []
    for name, sequence in (("first calls", first), ("all calls", every)):
        files = changes(path for path, _ in sequence)
        hops.append(changes(room_of(path) for path, _ in sequence))
        ways = CYCLES if way == "lock" and sequence is every else 1
        print(f"hops, {name + ':':13} {files // ways:4} changes of file {hops[-1] // ways:4} of room")
    if left_out:
        print("not counted:", *left_out)
    for what, found, most in zip(("files", "changes of room, by first calls"),
                                 (len({path for path, _ in first}), hops[0]), map(int, sys.argv[2:])):
        if found > most:
            raise SystemExit(f"walk: {found} {what}, at most {most} were to be")


main()
