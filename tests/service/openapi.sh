#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# /openapi.json says what the daemon answers, no more and no less: each status of the table in openapi.py.
. "$(dirname "$0")/lib.bash" "$@"
needs curl python3 jq sha256sum
inside_dev 3 "$@"
unhurried
for token in powerless streamer stranger reader1 reader2 reader3; do
    printf '%s %s\n' "$token" "$(digest "$token")"
done >"$tmp/tokens"
all="uid:$(id -u) * acquire,read,break,admin"
start --class 'a/*' --tokens "$tmp/tokens" --allow "$all" --allow 'token:powerless nothing read' --allow 'token:streamer * acquire' \
    --allow 'token:reader1 nothing read' --allow 'token:reader2 nothing read' --allow 'token:reader3 nothing read'
serves() { [ "$(curl -s -m 60 -o /dev/null -w '%{http_code}' --unix-socket "$1" "http://h/$2")" = 200 ]; }
eventually serves "$socket" readyz

# Nodes that want a password, in one process: every line that begins a command gets the same answer.
cat >"$tmp/refuse.py" <<'PY'
import socket, sys, threading
def serve(client):
    rest = b''
    while (part := client.recv(65536)):
        rest += part
        lines = rest.split(b'\r\n')
        rest = lines.pop()
        client.sendall(b'-NOAUTH Authentication required.\r\n' * sum(line[:1] == b'*' for line in lines))
def accept(listener):
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
ports = []
for _ in range(3):
    listener = socket.socket()
    listener.bind(('127.0.0.1', 0))
    listener.listen(10)
    ports.append('127.0.0.1:%d' % listener.getsockname()[1])
    threading.Thread(target=accept, args=(listener,), daemon=True).start()
with open(sys.argv[1], 'w') as out:
    out.write(','.join(ports) + '\n')
threading.Event().wait()
PY
python3 "$tmp/refuse.py" "$tmp/ports" 2>/dev/null &
others=$!
eventually grep -q , "$tmp/ports" 2>/dev/null
# another NAME NODES OPTION...: a further daemon.
another() {
    local name=$1
    REDLOCK_NODES=$2 "$redlockd" --listen "unix:$tmp/$name" "${@:3}" 2>>"$tmp/log" &
    others+=" $!"
    eventually serves "$tmp/$name" livez
}
another refusing "$(cat "$tmp/ports")"
another lonely sentinel://127.0.0.1:1+127.0.0.1:2+127.0.0.1:3/group
another mixed "$REDLOCK_NODES,sentinel://127.0.0.1:1+127.0.0.1:2+127.0.0.1:3/group"
another capped "$REDLOCK_NODES" --allow "uid:$(id -u) * acquire,read,admin leases=1 requests=1"
is 'the document and the answers are the same' "$(timeout 120 python3 "$here/../service/openapi.py" "$socket" "$tcp" \
    "$tmp/refusing" "$tmp/lonely" "$tmp/capped" "$tmp/mixed" 2>&1)" fine
# shellcheck disable=SC2086 # a list of numbers
kill $others
# shellcheck disable=SC2086
wait $others 2>/dev/null
stop
unlike 'no sanitizer complains' "$(cat "$tmp/log")" 'Sanitizer|runtime error'
done_testing
