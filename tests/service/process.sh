#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The process: its command line and file, what it tells systemd, inherited sockets, signals.
. "$(dirname "$0")/lib.bash" "$@"
needs curl python3 openssl

# ---- command line and file ----

try "$redlockd" --help
expect '--help' 0
like '   names the options' "$out" '--listen ADDRESS'
unlike '   fits 80 columns' "$out" '.{81}'
try "$redlockd" --version
like '--version' "$out" '^redlockd [0-9]+\.[0-9]+\.[0-9]+$'
try "$redlockd" --nonsense
expect 'an option that does not exist' 64 '--nonsense: there is no such option; try --help'
try "$redlockd" --lisen unix:/a
expect '   and what was meant' 64 '--lisen: there is no such option; did you mean --listen\?'
try "$redlockd" --listen
expect 'an option without its value' 64 '--listen: a value is missing'
try "$redlockd"
expect 'nothing to listen on' 78 'nothing to listen on: give --listen'
try "$redlockd" --listen 0.0.0.0:0
expect 'plain TCP beyond loopback' 78 'plain TCP is for loopback'
try "$redlockd" --check --listen 0.0.0.0:0 --insecure yes
expect '   is allowed on request' 0
try "$redlockd" --check --listen localhost:1
expect 'a host name is no address' 78 'neither unix:/path nor ADDRESS:PORT'
try "$redlockd" --check --listen tls:127.0.0.1:0
expect 'TLS without a certificate' 78 'needs tls-cert'
try "$redlockd" --check --listen tls:127.0.0.1:0 --tls-cert /nonexistent
expect 'a certificate that cannot be read' 78 'cannot read the TLS certificate file /nonexistent'
try "$redlockd" --listen unix:relative
expect 'a socket needs an absolute path' 78 'absolute path'
try env -u REDLOCK_NODES "$redlockd" --check --listen "unix:$socket"
expect 'no nodes are named anywhere' 78 'node'
try env -u REDLOCK_NODES "$redlockd" --listen "unix:$socket"
expect '   it does not start, either' 78 'node'
echo 'nodes = 127.0.0.1:1' >"$tmp/nodes"
try env -u REDLOCK_NODES "$redlockd" --check --listen "unix:$socket" --quorum-config "$tmp/nodes"
expect '   a file names them' 0
try env -u REDLOCK_NODES "$redlockd" --check --listen "unix:$socket" --quorum-config "$tmp/missing"
expect '   a file that is not there' 78 'missing'
try "$redlockd" --check --listen "unix:$socket" --drift-ppm 600000
expect 'a drift beyond reason' 78 'drift-ppm: is a number from 0 to 500000'

cat >"$tmp/conf" <<END
# comment
listen = unix:$tmp/file-socket   # another
connections = 100
END
try "$redlockd" --config "$tmp/conf" --check
expect 'a good file' 0
echo 'conections = 5' >>"$tmp/conf"
try "$redlockd" --config "$tmp/conf" --check
expect 'a misspelt key is named with its line' 78 'conf:4: unknown key .conections.; did you mean .connections.\?'
try "$redlockd" --config "$tmp/missing" --check
expect 'a file that is not there' 78 'missing: cannot be read'

# ---- sockets ----

start --drain 5
mode=$(stat -c %a "$socket")
is 'the unix socket is for this user only' "$mode" 600
try "$redlockd" --listen "unix:$socket"
expect 'a socket that is served is not taken over' 69 'another process listens on'
kill -KILL "$pid"
wait "$pid" 2>/dev/null
start
is 'a socket that was left behind is replaced' \
    "$(curl -sS -m 60 --unix-socket "$socket" http://h/livez)" '{"status":"alive"}'
for path in / /openapi.json /livez /readyz /version /v1/status /v1/nodes /v1/nothing /metrics; do
    head=$(curl -sSi -m 60 --unix-socket "$socket" "http://h$path" | sed '/^\r$/q')
    is "$path is for no cache, said once" "$(grep -ci '^cache-control:' <<<"$head")" 1
    like "   and what it says it is" "$head" '^X-Content-Type-Options: nosniff'
done
stop
is 'TERM ends it' "$status" 0

# ---- systemd ----

cat >"$tmp/systemd.py" <<'PY'
# Plays the service manager: passes a listening socket as descriptor 3, and reads what it is told.
import os, re, signal, socket, sys, time

redlockd, directory = sys.argv[1:]
path = directory + '/notify'
manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
manager.bind(path)
manager.settimeout(20)
listener = socket.socket()
listener.bind(('127.0.0.1', 0))
listener.listen(10)
port = listener.getsockname()[1]
# Connects before the daemon exists: it must be served all the same.
early = socket.create_connection(('127.0.0.1', port), timeout=20)
early.sendall(b'GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n')
pid = os.fork()
if pid == 0:
    os.dup2(listener.fileno(), 3)
    os.set_inheritable(3, True)  # also if it was 3 already
    os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='1', NOTIFY_SOCKET=path,
                      WATCHDOG_USEC='400000', WATCHDOG_PID=str(os.getpid()))
    os.execv(redlockd, [redlockd])

def told(pattern, most=50):
    for _ in range(most):
        message = manager.recv(4096).decode()
        if re.fullmatch(pattern, message):
            return message
    raise SystemExit('not told ' + pattern)

try:
    told('READY=1')
    assert early.recv(4096).startswith(b'HTTP/1.1 200 OK'), 'early'
    told('WATCHDOG=1')
    told('WATCHDOG=1')
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    os.kill(pid, signal.SIGHUP)
    message = told(r'RELOADING=1\nMONOTONIC_USEC=\d+')
    after = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    assert before <= int(message.split('=')[2]) <= after, message
    told('READY=1')
    os.kill(pid, signal.SIGTERM)
    told('STOPPING=1')
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    pid = None
    # The socket is the manager's: clients of a restart wait in its queue.
    late = socket.create_connection(('127.0.0.1', port), timeout=20)
    print('fine')
finally:
    if pid:
        os.kill(pid, signal.SIGKILL)
PY
is 'systemd: an inherited socket, READY, WATCHDOG, RELOADING, STOPPING' \
    "$(timeout 60 python3 "$tmp/systemd.py" "$redlockd" "$tmp" 2>"$tmp/errors")" fine

# ---- certificates that are replaced ----

mkdir "$tmp/certs"
"$certs" "$tmp/certs" || exit 1
cp "$tmp/certs/wrong.crt" "$tmp/live.crt"
cp "$tmp/certs/wrong.key" "$tmp/live.key"
start --listen tls:127.0.0.1:0 --tls-cert "$tmp/live.crt" --tls-key "$tmp/live.key"
served() { curl -sS -m 60 --cacert "$tmp/certs/ca.crt" "https://127.0.0.1:$tls/livez" 2>&1; }
like 'a certificate for another name is refused by the client' "$(served)" 'name'
echo nonsense >"$tmp/live.crt"
kill -HUP "$pid"
that 'HUP with a broken file changes nothing, and says so' \
    eventually grep -qs 'not reloaded, nothing has changed: there is no usable PEM' "$tmp/log"
like '   the old certificate still serves' "$(served)" 'name'
cp "$tmp/certs/good.crt" "$tmp/live.crt"
cp "$tmp/certs/good.key" "$tmp/live.key"
kill -HUP "$pid"
that 'HUP reads the new files' eventually grep -qs 'reloaded: 0 rules, 0 tokens, and the TLS files' "$tmp/log"
is '   and new connections use them' "$(served)" '{"status":"alive"}'
stop
is '   and TERM ends it' "$status" 0

# ---- no standard files ----

"$redlockd" --drain 0 --audit stderr --listen "unix:$socket" <&- >&- 2>&- &
pid=$!
alone() { [ "$(curl -sS -m 60 --unix-socket "$socket" http://h/livez 2>/dev/null)" = '{"status":"alive"}' ]; }
that 'without standard files it serves' eventually alone
stop
is '   and ends' "$status" 0

# ---- a terminal that is stopped ----

cat >"$tmp/terminal.py" <<'PY'
# The terminal takes no line any more: the daemon answers, and ends, all the same.
import os, signal, socket, subprocess, sys, termios, time
redlockd, path = sys.argv[1:]
reader, terminal = os.openpty()
daemon = subprocess.Popen([redlockd, '--drain', '0', '--listen', 'unix:' + path], stderr=terminal)
def alive(limit):
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(limit)
    client.connect(path)
    client.sendall(b'GET /livez HTTP/1.1\r\nHost: h\r\n\r\n')
    return client.recv(4096).startswith(b'HTTP/1.1 200 ')
try:
    until = time.monotonic() + 60
    while True:  # the path is there before the daemon listens
        try:
            alive(30)
            break
        except (FileNotFoundError, ConnectionRefusedError):
            assert time.monotonic() < until
            time.sleep(0.01)
    termios.tcflow(terminal, termios.TCOOFF)  # as Ctrl-S does
    for _ in range(20):  # each HUP is a line
        daemon.send_signal(signal.SIGHUP)
        assert alive(30)
    print('threads:', len(os.listdir(f'/proc/{daemon.pid}/task')))
    daemon.terminate()
    assert daemon.wait(60) == 0
    print('fine')
finally:
    daemon.kill()
PY
answer=$(timeout 120 python3 "$tmp/terminal.py" "$redlockd" "$tmp/terminal.sock" 2>&1)
is 'a terminal that takes no line holds up no request' "${answer##*$'\n'}" fine
is '   and needs no thread of its own' "${answer%%$'\n'*}" 'threads: 1'

# ---- a signal before it listens ----

mkfifo -m 600 "$tmp/slow.conf"
"$redlockd" --config "$tmp/slow.conf" 2>"$tmp/log" &
pid=$!
exec {slow}>"$tmp/slow.conf" # waits until it is read
blocked=$((16#$(sed -n 's/^SigBlk:\t//p' "/proc/$pid/status")))
is 'HUP, INT and TERM wait while it reads its settings' $((blocked & 16#4003)) $((16#4003))
kill -TERM "$pid"
printf 'drain = 0\nlisten = unix:%s\n' "$socket" >&$slow
exec {slow}>&-
status=0
wait "$pid" || status=$?
is '   and TERM ends it in order' "$status" 0
like '   after it has listened' "$(cat "$tmp/log")" 'listening on'
is 'it writes no core' "$(start; sed -n 's/^Max core file size *\([^ ]*\).*/\1/p' "/proc/$pid/limits"; stop)" 0

# ---- draining ----

start --drain 30
exec {slow}<>"/dev/tcp/127.0.0.1/$tcp"
printf 'GET /livez HTTP/1.1\r\nHost: localhost\r\n' >&$slow
answered() { [ "$(curl -sS -m 60 --unix-socket "$socket" http://h/livez)" = '{"status":"alive"}' ]; }
that 'beside a half-sent request others are served' answered
kill -TERM "$pid"
that 'TERM is logged' eventually grep -qs 'ending: renewals and releases go on for at most 30 s' "$tmp/log"
like '   new connections are served, once each' \
    "$(curl -sSi -m 60 "http://127.0.0.1:$tcp/livez")" 'Connection: close'
is '   and told that it is not ready' \
    "$(curl -s -m 60 -o /dev/null -w '%{http_code}' "http://127.0.0.1:$tcp/readyz")" 503
printf '\r\n' >&$slow
like '   the request that was under way is answered' "$(timeout 60 cat <&$slow)" 'Connection: close'
exec {slow}>&-
status=0
wait "$pid" || status=$?
is '   and then it ends, long before the time is over' "$status" 0
unlike 'no sanitizer complains' "$(cat "$tmp/log" "$tmp/errors")" 'Sanitizer|runtime error'
done_testing
