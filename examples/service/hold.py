#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""hold.py URL COMMAND...: runs COMMAND while it holds the lock URL (http://HOST:PORT/v1/locks/NAME) of redlockd.
The status is that of COMMAND; 75: not acquired; 76: lost, and COMMAND was killed. TOKEN is the bearer token."""
import http.client, json, os, secrets, signal, subprocess, sys, threading, time
from urllib.parse import urlsplit

url, ttl = urlsplit(sys.argv[1]), int(os.environ.get("TTL_MS", 30000))
headers = {"Lease-Id": secrets.token_hex(16), "Content-Type": "application/json",
           "Authorization": "Bearer " + os.environ.get("TOKEN", "")}

clock, clocks = threading.Lock(), [time.monotonic(), time.time(), 0]

def now():
    """Milliseconds that have passed, or more: from one look to the next the larger of the monotonic clock, which
    may stand still in suspend, and the wall clock, which can be set back."""
    with clock:
        mono, wall = time.monotonic(), time.time()
        clocks[:] = mono, wall, clocks[2] + max(mono - clocks[0], wall - clocks[1]) * 1000
        return clocks[2]

def ask(method, seconds=5.0, body=None):
    """What was answered, with its deadline; {} if nothing was, or by something that is not redlockd."""
    connection, sent = http.client.HTTPConnection(url.netloc, timeout=seconds), now()
    try:
        connection.request(method, url.path, json.dumps(body) if body else None, headers)
        reply = json.loads(connection.getresponse().read())
        return {**reply, "until": sent + reply.get("after_ms", 0) + reply.get("remaining_ms", 0)}  # from the sending
    except (OSError, http.client.HTTPException, ValueError, TypeError):
        return {}
    finally:
        connection.close()

def stop(why):
    os.killpg(work.pid, signal.SIGKILL)  # no SIGTERM: the deadline is near
    print("hold.py: lost:", why, file=sys.stderr, flush=True)
    os._exit(76)

def watch():  # beside the renewals, which may take their time
    while work.poll() is None:
        if now() >= held["until"] - 100:
            stop("no answer before the deadline")
        time.sleep(0.05)

renew_at = now() + ttl / 3
held = ask("PUT", 60, {"ttl_ms": ttl, "wait_ms": 20000, "fenced": True, "label": "hold.py"})
if "grant" not in held:
    print("hold.py:", held.get("detail", "no answer"), file=sys.stderr)
    ask("DELETE")  # refused, or granted in an answer that was lost: this id is not used again
    sys.exit(75)
headers["Grant"] = held["grant"]
work = subprocess.Popen(sys.argv[2:], start_new_session=True,  # its resource refuses a smaller fence
                        env={**os.environ, "FENCE": str(held["fence"])})
threading.Thread(target=watch, daemon=True).start()
while work.poll() is None:
    if renew_at <= now() < held["until"] - 100:
        renew_at = now() + ttl / 20  # 503, another's answer or none: the old deadline stands, request again
        reply = ask("POST", 5, {"ttl_ms": ttl})
        if "grant" in reply:
            held, renew_at = reply, now() + ttl / 3
        elif reply.get("code") in ("LOST", "EXPIRED", "ENDED"):
            stop(reply["detail"])
    time.sleep(0.02)
ask("DELETE")
sys.exit(work.returncode if work.returncode >= 0 else 128 - work.returncode)
