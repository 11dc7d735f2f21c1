# SPDX-License-Identifier: BSD-2-Clause
# A lock for a Python program, through `redlock hold`; redlock(1) shows it as well.
import json, os, subprocess, sys, threading

lock = subprocess.Popen(["redlock", "hold", "--json", "report"], text=True,
                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
held = json.loads(lock.stdout.readline() or '{"ok": false, "message": "redlock was killed"}')
if not held["ok"]:
    sys.exit(held["message"])

def watch():  # a lock that is lost, or a redlock that is killed, ends this program
    if '"released"' not in lock.stdout.read():
        os._exit(76)
threading.Thread(target=watch, daemon=True).start()

print("ours, with token", held["fence"], flush=True)  # the work

lock.stdin.close()
sys.exit(lock.wait())
