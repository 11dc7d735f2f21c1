# SPDX-License-Identifier: BSD-2-Clause
"""run.py [--updates N] [--registers N] [--cost] KIND PLACE...: paused holders at a resource.

For each PLACE, a register. Its holders add one to a number: they read, and write what they have read plus
one. Of every two holders the first is stopped (SIGSTOP) between the two, until its lock has expired and the
second one is at work; then it goes on, and writes. Three times: without a check, with one at the
write alone, and with one at the read as well. Updates that were confirmed and are not in the number are
lost. Status 0: some were lost in each of the first two, and none in the third.

Inside `redlock dev`, with the command in REDLOCK_COMMAND.
"""
import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
REDLOCK = os.environ["REDLOCK_COMMAND"]
PAUSED_TTL = "2s"
HALFWAY = ("sqlite", "postgresql", "mariadb")  # can be stopped within a transaction


class Holder:
    """A process of holder.py."""

    def __init__(self, kind, place):
        self.process = subprocess.Popen([sys.executable, "-B", os.path.join(HERE, "holder.py"), kind, place],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.answer()

    def send(self, *words):
        print(*words, file=self.process.stdin, flush=True)

    def answer(self):
        line = self.process.stdout.readline().strip()
        if not line:
            sys.exit("a holder has ended")
        return line

    def ask(self, *words):
        self.send(*words)
        return self.answer()

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WNOWAIT)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Lock:
    def __init__(self, name, ttl):
        done = subprocess.run([REDLOCK, "lock", "--json", "-q", "-w", "2m", "-t", ttl, name], check=True,
                              stdout=subprocess.PIPE)
        said = json.loads(done.stdout)
        self.name, self.token, self.value = name, said["fence"], said["value"]

    def release(self):
        subprocess.run([REDLOCK, "unlock", self.name, self.value], check=False,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Register:
    """One number and its two holders, which take turns in being stopped."""

    def __init__(self, kind, place, mode):
        subprocess.run([sys.executable, "-B", os.path.join(HERE, "holder.py"), kind, place, "set-up"],
                       check=True)
        self.kind, self.place, self.mode = kind, place, mode
        self.name = f"{kind}-{mode}-{os.path.basename(place)}"
        self.first, self.second = Holder(kind, place), Holder(kind, place)
        self.confirmed = self.refused = 0
        self.clock = 1

    def tokens(self, lock):
        """Of a read and of a write."""
        return {"unchecked": (0, 0), "writes": (0, lock.token), "checked": (lock.token,) * 2}[self.mode]

    def note(self, answer):
        self.confirmed += answer == "written"
        self.refused += answer == "refused"

    def update(self, holder, lock, times):
        read, write = self.tokens(lock)
        for _ in range(times):
            self.note(holder.ask("write", write, int(holder.ask("read", read)) + 1))

    def pause(self, round_number):
        """The first holder stops in the middle of an update; its lock goes on to its end."""
        lock = Lock(self.name, PAUSED_TTL)
        read, write = self.tokens(lock)
        self.halfway = self.kind in HALFWAY and round_number % 3 == 2
        if self.halfway:
            self.first.ask("both", write)
        else:
            number = int(self.first.ask("read", read))
        self.first.stop()
        if self.halfway:
            self.first.send("go on")
        else:
            self.first.send("write", write, number + 1)

    def succeed(self, round_number, updates):
        """The second holder works, and the first one goes on: before the second one's write, or after it."""
        lock = Lock(self.name, "1m")
        read, write = self.tokens(lock)
        before = round_number % 3 == 0
        if self.halfway or before:
            self.second.send("read", read)
            if self.halfway:
                self.first.go_on()
            number = int(self.second.answer())
            if before:
                self.first.go_on()
            self.note(self.first.answer())
            self.note(self.second.ask("write", write, number + 1))
            self.update(self.second, lock, updates)
        else:
            self.update(self.second, lock, updates)
            self.first.go_on()
            self.note(self.first.answer())
            self.update(self.second, lock, 1)
        lock.release()
        self.first, self.second = self.second, self.first

    def end(self):
        """How many confirmed updates are missing."""
        lost = self.confirmed - int(self.first.ask("read", 0))
        self.first.close()
        self.second.close()
        return lost


def play(kind, places, mode, updates, rounds):
    registers = [Register(kind, place, mode) for place in places]
    each = max(1, updates // (len(places) * rounds))
    for round_number in range(rounds):
        for register in registers:
            register.pause(round_number)
        for register in registers:
            register.succeed(round_number, each)
    lost = sum(register.end() for register in registers)
    confirmed = sum(register.confirmed for register in registers)
    refused = sum(register.refused for register in registers)
    print(f"{kind:20} {mode:10} {rounds * len(places):4} holders paused {confirmed:6} updates confirmed "
          f"{refused:4} refused {lost:4} lost", flush=True)
    return confirmed, refused, lost


def show_cost(kind, place, count=20, turns=200):
    """The time of writes with the check, as a multiple of that of writes without it: short turns, and of each pair
    now the one and now the other first, so that both meet the same machine."""
    holder, ratios = Holder(kind, place), []
    token = Lock(f"{kind}-cost", "1m").token
    for turn in range(turns):
        order = (0, token) if turn % 2 else (token, 0)
        took = {which: float(holder.ask("time", which, count)) for which in order}
        ratios.append(took[token] / took[0])
    holder.close()
    low, middle, high = statistics.quantiles(ratios)
    print(f"{kind:20} cost       {middle:.2f} of the time of a write without the check (quartiles {low:.2f}, {high:.2f})",
          flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--updates", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cost", action="store_true")
    parser.add_argument("kind")
    parser.add_argument("places", nargs="+")
    asked = parser.parse_args()
    began = time.monotonic()
    wrong = []
    for mode in "unchecked", "writes", "checked":
        updates = asked.updates if mode == "checked" else min(asked.updates, 60)
        rounds = asked.rounds if mode == "checked" else min(asked.rounds, 3)
        confirmed, refused, lost = play(asked.kind, asked.places, mode, updates, rounds)
        if mode == "checked" and (lost or not refused or confirmed < updates):
            wrong.append(mode)
        if mode != "checked" and not lost:
            wrong.append(mode)
    if asked.cost:
        show_cost(asked.kind, asked.places[0])
    print(f"{asked.kind:20} {time.monotonic() - began:.0f} s{': NOT AS IT SHOULD BE: ' if wrong else ''}"
          f"{' '.join(wrong)}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
