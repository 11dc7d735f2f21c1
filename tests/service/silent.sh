#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# An idle daemon whose servers hang: no connection ends, and no lock is asked for, yet readiness, metrics, status,
# systemd's line and the log say it, and say when they are back.
. "$(dirname "$0")/lib.bash" "$@"
needs curl python3 jq
inside_dev 3 "$@"
unhurried

# What the service manager is told, one message a line.
cat >"$tmp/manager.py" <<'PY'
import socket, sys
manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
manager.bind(sys.argv[1])
while True:
    print(manager.recv(4096).decode().replace('\n', ' '), flush=True)
PY
python3 "$tmp/manager.py" "$tmp/notify" >"$tmp/told" &
manager=$!
eventually test -S "$tmp/notify"
NOTIFY_SOCKET=$tmp/notify start
eventually ready

not_ready() { ! ready; }
metric() { curl -sS -m 60 --unix-socket "$socket" http://h/metrics | grep -q "^redlockd_$1\$"; }
voting() {
    [ "$(curl -sS -m 60 --unix-socket "$socket" http://h/v1/status | jq '.quorums[0].voting')" = "$1" ]
}
states() {
    [ "$(curl -sS -m 60 --unix-socket "$socket" http://h/v1/nodes | jq -r '[.nodes[].state] | join(" ")')" = "$1" ]
}
reasons() {
    [ "$(curl -sS -m 60 --unix-socket "$socket" http://h/v1/nodes | jq -r '[.nodes[].reason] | join(" ")')" = "$1" ]
}
said() { grep -q "$1" "$tmp/log"; }

that 'three nodes vote' eventually voting 3
unlike '   of which the log says nothing' "$(cat "$tmp/log")" 'node |quorum'

for node in 1 2; do "$redlock" dev hang $node >/dev/null; done
that 'two servers hang: it is not ready any more' eventually not_ready
that '   one node votes' eventually voting 1
that '   metrics: a node is down' eventually metric "node_up{node=\"127.0.0.1:$(port 1)\"} 0.000000"
that '   metrics: the margin' eventually metric 'quorum_margin{quorum=""} -1'
that '   metrics: its last answer is long ago' metric \
    "node_last_answer_seconds{node=\"127.0.0.1:$(port 1)\"} \([2-9]\|[1-9][0-9]\+\)\.[0-9]*"
that '   nodes: down, also while new connections are tried' eventually states 'down down up'
that '   with the reason, for programs' eventually reasons 'SILENT SILENT '
that '   the manager is told' eventually grep -q '^STATUS=1/3 nodes vote' "$tmp/told"
that 'the log: each node, and why' eventually said "redlockd: node 127.0.0.1:$(port 2) is down: no answer for"
that '   the quorum' eventually said 'quorum has no majority: 1 of 3 nodes vote, 2 are needed'

for node in 1 2; do "$redlock" dev resume $node >/dev/null; done
that 'they go on: it is ready again' eventually ready
that '   three nodes vote' eventually voting 3
that '   metrics: it is up' eventually metric "node_up{node=\"127.0.0.1:$(port 1)\"} 1.000000"
that '   the manager is told' eventually sh -c "tail -1 '$tmp/told' | grep -q '^STATUS=3/3 nodes vote'"
that '   the log: each node' eventually said "node 127.0.0.1:$(port 1) is up and votes"
that '   the log: the quorum' eventually said 'quorum has its majority again: [23] of 3 nodes vote, 2 are needed'
is '   one line for each change' "$(grep -c 'quorum has' "$tmp/log")" 2

"$redlock" dev kill 3 >/dev/null
that 'a server dies: the log says so' eventually said "node 127.0.0.1:$(port 3) is down: "
"$redlock" dev start 3 >/dev/null
that 'it comes back without its memory: the log says for how long it does not vote' \
    eventually said "node 127.0.0.1:$(port 3) is in quarantine: .*may vote in [0-9]* s"
kill "$manager"
wait "$manager" 2>/dev/null
stop
is 'TERM ends it' "$status" 0
unlike 'no sanitizer complains' "$(cat "$tmp/log")" 'Sanitizer|runtime error'
done_testing
