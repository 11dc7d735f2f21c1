#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `redlock run` when the lock ends under the command: it is stopped in time, and 76 says so.
. "$(dirname "$0")/lib.bash" "$@"
inside_dev 3 "$@"
hurried

dev() {
    "$redlock" dev "$@" >/dev/null 2>&1 || not_ok "redlock dev $*"
}

init() {
    "$redlock" init -q --yes --force --node-timeout 3s || not_ok init
}

# A command that says when it is up, and that TERM came; it does not obey.
cat >"$tmp/stubborn" <<'EOF'
trap 'echo TERM >>"$1"' TERM
echo up >>"$1"
while :; do read -r -t 0.02 _ <>"$2"; done
EOF
mkfifo "$tmp/never"

# Two of three nodes go: no renewal succeeds any more.
"$redlock" run -t 6s a -- bash "$tmp/stubborn" "$tmp/log" "$tmp/never" 2>"$tmp/errors" &
wrapper=$!
eventually grep -qs up "$tmp/log"
dev kill 1
dev hang 2
wait $wrapper
is 'too few nodes to renew: 76' $? 76
err=$(cat "$tmp/errors")
like 'the message says so' "$err" 'the command was killed'
like 'the table says which node was gone' "$err" "127.0.0.1:$(port 1) +(connection refused|unreachable)"
like '   and which was hung' "$err" "127.0.0.1:$(port 2) +(timed out|unreachable|no answer yet)"
like '   and what to do next' "$err" 'next: '
that 'TERM came first' grep -q TERM "$tmp/log"

# A command that obeys TERM.
dev start 1
dev resume 2
init
"$redlock" run -t 6s a -- bash -c "trap 'exit 0' TERM; echo up >'$tmp/up'; while :; do read -r -t 5 _ <>'$tmp/never'; done" 2>"$tmp/errors" &
wrapper=$!
eventually [ -s "$tmp/up" ]
dev kill 1
dev kill 2
wait $wrapper
is 'a command that obeys TERM: 76 as well' $? 76
like '   and the message says so' "$(cat "$tmp/errors")" 'could not be renewed, and the command was stopped'
dev start 1
dev start 2
init

# One node of three may go: nothing happens.
rm "$tmp/up"
"$redlock" run -t 6s --node-timeout 500ms a -- bash -c "echo up >'$tmp/up'; sleep 7; exit 5" &
wrapper=$!
eventually [ -s "$tmp/up" ]
dev kill 1
wait $wrapper
is 'one node of three down: the command finishes' $? 5
dev start 1
init

# The keys are deleted by hand.
rm "$tmp/up"
"$redlock" run -t 6s a -- bash -c "echo up >'$tmp/up'; exec sleep 1000" 2>"$tmp/errors" &
wrapper=$!
eventually [ -s "$tmp/up" ]
free_all a
wait $wrapper
is 'the keys are gone: 76' $? 76
like '   and the message says so' "$(cat "$tmp/errors")" 'lost while the command ran'
like 'node by node' "$(cat "$tmp/errors")" '127.0.0.1:[0-9]+ +no such key'

# The same with a node down, which cannot say that it misses the key, too.
rm "$tmp/up"
"$redlock" run -t 9s --node-timeout 1s a -- bash -c "echo up >'$tmp/up'; exec sleep 1000" 2>"$tmp/errors" &
wrapper=$!
eventually [ -s "$tmp/up" ]
dev kill 3
for k in 1 2; do ask "$(port $k)" DEL redlock:a >/dev/null; done
wait $wrapper
is 'the keys are gone, and a node is down: 76' $? 76
like '   and it is a loss, not a failed renewal' "$(cat "$tmp/errors")" 'lost while the command ran'
dev start 3
init

# They are deleted just before the command ends: found out at release.
try "$redlock" run -t 60s a -- bash -c "$(declare -f ask port); for k in 1 2 3; do ask \"\$(port \$k)\" DEL redlock:a; done; exit 0"
expect 'gone at release: 76, whatever the command said' 76 'gone from the nodes before it was released'
try "$redlock" run -t 60s a -- bash -c "$(declare -f ask port); for k in 1 2 3; do ask \"\$(port \$k)\" SET redlock:a other; done; exit 0"
expect 'taken by another at release: 76' 76 'another took the lock'
free_all a

# Too few nodes at release: the command is done, its status counts.
"$redlock" run -t 20s a -- bash -c 'redlock dev kill 1 && redlock dev kill 2; exit 6' \
    >/dev/null 2>"$tmp/errors"
is 'no majority at release: the status of the command' $? 6
like '   with a warning' "$(cat "$tmp/errors")" 'too few nodes confirmed the release'
done_testing
