# SPDX-License-Identifier: BSD-2-Clause
"""failovers.py [FAILOVERS [NAMES]]: leaders die and stand still, and a register counts who acts.

For each name, three candidates: `redlock lead`, whose command sends the number of its term every 10 ms. Again
and again the leader is ended: killed (kill -9 of `redlock lead`), or stopped, with its command, until its
successor acts; then it goes on. The register refuses a term smaller than the largest it has seen, and counts.

Status 0: no leader that was killed acted after its successor did, what others did late was refused, and
each successor of a killed leader acted within TTL + 1 s. Inside `redlock dev`, with the command in
REDLOCK_COMMAND.
"""
import os
import random
import selectors
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

REDLOCK = os.environ["REDLOCK_COMMAND"]
TTL_S = 2
CANDIDATES = 3
PATIENCE_S = 60
ACTOR = """
import os, socket, sys, time
out = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
out.connect(sys.argv[1])
while True:
    out.send(f"{sys.argv[2]} {os.environ['REDLOCK_TERM']} {os.getppid()} {os.getpid()}".encode())
    time.sleep(0.01)
"""


def send(pid, number):
    """Is it there? A command that its `redlock lead` has ended by itself, on a busy machine, is no failure."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


class Office:
    """One name, its candidates, and what the register knows of it."""

    def __init__(self, name, path):
        self.command = [REDLOCK, "lead", "-q", "-t", f"{TTL_S}s", name, "--", sys.executable, "-c", ACTOR,
                        path, name]
        self.candidates = {}
        for _ in range(CANDIDATES):
            self.add()
        self.term = 0  # the largest that was admitted
        self.leader = ()  # pids of it
        self.ended = None  # when the leader was ended, and it is awaited that another acts
        self.stopped = ()
        self.since = time.monotonic()
        self.wait = random.uniform(0.1, 0.5)

    def add(self):
        process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.candidates[process.pid] = process

    def end_leader(self):
        self.ended = time.monotonic()
        if random.random() < 0.5:
            self.stopped = self.leader
            for pid in self.leader:
                send(pid, signal.SIGSTOP)
        else:
            self.stopped = ()
            os.kill(self.leader[0], signal.SIGKILL)
            self.candidates.pop(self.leader[0]).wait()
            self.add()

    def go_on(self, which):
        """True: all of them are there."""
        return all([send(pid, signal.SIGCONT) for pid in which])


class Register:
    def __init__(self, offices):
        self.offices = offices
        self.takeovers, self.pauses = [], 0
        self.refused, self.overlaps = 0, 0
        self.late_terms = set()  # of leaders that were stopped
        self.paused = {}  # by name and term: what goes on when the register has refused an act

    def take(self, message):
        name, *numbers = message.split()
        term, *leader = map(int, numbers)
        office, now = self.offices[name], time.monotonic()
        if term < office.term:
            self.refused += 1
            self.overlaps += (name, term) not in self.late_terms
            office.go_on(self.paused.pop((name, term), ()))
            return
        if term == office.term:
            return
        if office.ended is not None:
            if office.stopped:
                self.pauses += 1
                # The command first: it acts before `redlock lead`, which then ends it, goes on.
                lead, command = office.stopped
                self.paused[name, office.term] = (lead,)
                self.late_terms.add((name, office.term))
                if not office.go_on((command,)):
                    office.go_on(self.paused.pop((name, office.term)))
            else:
                self.takeovers.append(now - office.ended)
        office.term, office.leader, office.ended = term, tuple(leader), None
        office.since, office.wait = now, random.uniform(0.1, 0.5)

    def failovers(self):
        return len(self.takeovers) + self.pauses


def play(register, listener, wanted):
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    last = (0, time.monotonic())
    while register.failovers() < wanted:
        if selector.select(0.05):
            try:
                while True:
                    register.take(listener.recv(256).decode())
            except BlockingIOError:
                pass
        now = time.monotonic()
        for office in register.offices.values():
            if office.term and office.ended is None and now > office.since + office.wait:
                office.end_leader()
        if register.failovers() != last[0]:
            last = (register.failovers(), now)
        elif now > last[1] + PATIENCE_S:
            sys.exit("no failover for a minute")


def main():
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    names = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    seed = int(os.environ.get("SEED", random.randrange(1 << 32)))
    random.seed(seed)
    print(f"seed {seed}")
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "register")
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        listener.bind(path)
        listener.setblocking(False)
        register = Register({f"office-{k}": Office(f"office-{k}", path) for k in range(names)})
        try:
            play(register, listener, wanted)
        finally:
            for office in register.offices.values():
                for process in office.candidates.values():
                    process.kill()
                    process.wait()
    taken = sorted(register.takeovers)
    print(f"{register.failovers()} failovers: {len(taken)} leaders killed, {register.pauses} stopped and continued")
    print(f"the next one acted after {statistics.median(taken):.2f} s (median), "
          f"{taken[len(taken) * 99 // 100]:.2f} s (p99), {taken[-1]:.2f} s (longest); TTL {TTL_S} s")
    print(f"{register.refused} acts of deposed leaders came after one of their successor, and were refused; "
          f"{register.overlaps} were of leaders that had not been stopped")
    return 0 if register.overlaps == 0 and register.pauses and taken[-1] <= TTL_S + 1 else 1


if __name__ == "__main__":
    sys.exit(main())
