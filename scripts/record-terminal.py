#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Records the terminal of README.md: scripts/record-terminal.py REDLOCK > docs/terminal.svg

Runs the commands below for real, on terminals of their own, against the servers of `redlock dev`.
The two machines are namespaces of this one, with their own host names.
"""
import fcntl, os, pty, re, select, signal, struct, subprocess, sys, tempfile, termios, time
from xml.sax.saxutils import escape

COLUMNS = 100
LIMIT_S = 60  # for any one thing to happen

# Where it is typed, the command, what its terminal shows before the next one is typed.
STEPS = (
    ("alice@web1", "redlock run deploy -- ./deploy.sh  # on one machine", "deploying"),
    ("bob@web2", "redlock run -n deploy -- ./deploy.sh  # on another: do not wait", None),
    ("bob@web2", "redlock dev kill 1; redlock dev hang 2  # two of five servers fail", None),
    ("bob@web2", "redlock list", None),
    ("bob@web2", "redlock run report -- echo it still works", None),
    ("bob@web2", "redlock run -w 5m deploy -- ./deploy.sh  # wait", r"in line.*more"),
)
DEPLOY = "#!/bin/sh\necho deploying\nexec sleep 1000\n"


class Terminal:
    """A command on a terminal, as the user at the host typed it."""

    def __init__(self, place, command):
        user, host = place.split("@")
        self.text = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ["LOGNAME"] = user
            os.environ["TERM"] = "xterm"
            os.execvp("unshare", ["unshare", "--user", "--map-root-user", "--uts", "sh", "-c",
                                  'hostname "$0"; exec bash -c "$1"', host, command])
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))

    def read(self, until):
        """Until the text is there; without one, until the command has ended."""
        deadline = time.monotonic() + LIMIT_S
        while not (until and re.search(until, self.screen())):
            if not select.select([self.fd], [], [], max(0, deadline - time.monotonic()))[0]:
                sys.exit(f"nothing more came after: {self.text}")
            try:
                self.text += os.read(self.fd, 4096).decode()
            except OSError:  # the last process has closed the terminal
                if until:
                    sys.exit(f"it ended: {self.text}")
                return

    def screen(self):
        """What is on it: a carriage return writes a line anew."""
        lines = re.sub("\r+\n", "\n", self.text).rstrip("\n").split("\n")
        return "\n".join(re.sub(r"\x1b\[K", "", line.rstrip("\r").split("\r")[-1]) for line in lines)

    def end(self):
        os.kill(self.pid, signal.SIGTERM)
        os.waitpid(self.pid, 0)


def record():
    """A list of lines, each a list of (class, text)."""
    shown, running, before = [], [], STEPS[0][0]
    for place, command, until in STEPS:
        if place != before:
            shown.append([])
        before = place
        code, hash, remark = command.partition("  #")
        shown.append([("prompt", f"{place}$ "), ("", code), ("remark", hash + remark)])
        terminal = Terminal(place, command)
        running.append(terminal)
        terminal.read(until)
        for line in terminal.screen().split("\n"):
            runs, style = [], ""
            for part in re.split(r"(\x1b\[\d*m)", line):
                if part.startswith("\x1b"):
                    style = "c" + part[2:-1] if part[2:-1] not in ("", "0") else ""
                else:
                    runs.append((style, part))
            shown.append(runs)
        if until is None:
            running.remove(terminal)
            os.waitpid(terminal.pid, 0)
        else:
            time.sleep(1.2)  # so that it has been held for a while when the next one looks
    for terminal in reversed(running):
        terminal.end()
    return shown


SIZE, WIDTH, HEIGHT, PAD = 13, 7.8, 19, 16  # of the text, a letter, a line, the border
STYLE = """
text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#e6edf3}
.card{fill:#0d1117;stroke:#3d444d}.prompt{fill:#3fb950}.remark{fill:#9198a1}
.c31{fill:#ff7b72}.c32{fill:#3fb950}.c33{fill:#d29922}.c1{font-weight:600}.c2{fill:#9198a1}
"""


def draw(lines):
    width, height = round(COLUMNS * WIDTH + 2 * PAD), len(lines) * HEIGHT + 2 * PAD
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
           f'viewBox="0 0 {width} {height}" role="img">')
    yield "<title>redlock on two machines, with two of five servers failing</title>"
    yield f"<style>{STYLE}</style>"
    yield f'<rect class="card" x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="8"/>'
    for number, line in enumerate(lines):
        column = 0
        for style, text in line:
            # A blank counts for the width as well, but is not drawn.
            lead = len(text) - len(text.lstrip())
            word = text.strip()
            if word:
                yield (f'<text class="{style}" x="{PAD + (column + lead) * WIDTH:.1f}" '
                       f'y="{PAD + number * HEIGHT + SIZE}" textLength="{len(word) * WIDTH:.1f}" '
                       f'lengthAdjust="spacingAndGlyphs" xml:space="preserve">{escape(word)}</text>')
            column += len(text)
    yield "</svg>"


def main():
    if len(sys.argv) == 2:  # starts itself again, among servers
        redlock = os.path.abspath(sys.argv[1])
        os.environ["PATH"] = os.path.dirname(redlock) + ":" + os.environ["PATH"]
        command = [redlock, "dev", "--", sys.executable, os.path.abspath(__file__), "--inside", redlock]
        sys.exit(subprocess.run(command).returncode)
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        with open("deploy.sh", "w") as file:
            file.write(DEPLOY)
        os.chmod("deploy.sh", 0o755)
        print("\n".join(draw(record())))
        os.chdir("/")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main()
