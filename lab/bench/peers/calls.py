# SPDX-License-Identifier: BSD-2-Clause
"""System calls per cycle, counted by strace while a driver runs: why one client is cheap."""
import shutil
import signal
import subprocess
import tempfile

ATTACH_S = 5
KINDS = {
    "sends": ("sendto", "sendmsg", "write", "writev"),
    "receives": ("recvfrom", "recvmsg", "read", "readv"),
    "waits": ("epoll_wait", "epoll_pwait", "poll", "ppoll", "select", "pselect6"),
    "futexes": ("futex",),
}


class Strace:
    """Counts the calls of a process, all its threads, from now until it ends."""

    def __init__(self, pid):
        self.out = tempfile.NamedTemporaryFile(mode="r")
        self.process = subprocess.Popen(
            ["strace", "-c", "-f", "-o", self.out.name, "-p", str(pid)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        # It says when it is attached, or why it cannot be.
        self.attached = "attached" in self.process.stderr.readline()

    def counts(self):
        """Calls by name; the traced process has ended."""
        try:
            self.process.wait(ATTACH_S)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(ATTACH_S)
        found = {}
        for line in self.out.read().splitlines():
            words = line.split()
            if len(words) >= 5 and words[3].isdigit() and words[-1] != "total":
                found[words[-1]] = int(words[3])
        self.out.close()
        return found

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(ATTACH_S)


def available():
    return shutil.which("strace") is not None


def per_cycle(found, cycles):
    """Calls of each kind for one cycle."""
    return {kind: round(sum(found.get(name, 0) for name in names) / max(1, cycles), 2)
            for kind, names in KINDS.items()}
