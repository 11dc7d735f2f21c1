# SPDX-License-Identifier: BSD-2-Clause
# A lock for a Python program, through `redlock hold`; redlock-run(1) shows it as well.
import json, os, sys, threading
from subprocess import PIPE, Popen

lock = Popen(["redlock", "hold", "--json", "report"],
             stdin=PIPE, stdout=PIPE)
held = json.loads(lock.stdout.readline() or '{"ok": false}')
if not held["ok"]:
    sys.exit(held.get("message", "redlock was killed"))

def watch():  # end with the lock, or with redlock
    if b'"released"' not in lock.stdout.read():
        os._exit(76)
threading.Thread(target=watch, daemon=True).start()

print("ours, with token", held["fence"], flush=True)  # the work

lock.stdin.close()
sys.exit(lock.wait())
