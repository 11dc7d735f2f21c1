#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# redlockd --ready: a health check that needs neither a shell nor curl.
. "$(dirname "$0")/lib.bash" "$@"
needs openssl curl
inside_dev 3 "$@"
unhurried
"$certs" "$tmp" >/dev/null 2>&1
chmod 600 "$tmp"/*.key

REDLOCK_NODES=127.0.0.1:1 start
try "$redlockd" --ready --listen "unix:$socket"
expect 'too few nodes vote: it is not ready, and says why' 69 'not ready: HTTP/1.1 503 .*too few nodes vote'
stop

with_tls=(--tls-cert "$tmp/good.crt" --tls-key "$tmp/good.key")
start "${with_tls[@]}" --listen tls:127.0.0.1:0
eventually ready
try "$redlockd" --ready --listen "unix:$socket"
expect 'a majority votes: it is ready' 0
is '   in a word' "$out" ready
try "$redlockd" --ready --listen "127.0.0.1:$tcp"
expect '   by TCP' 0
try "$redlockd" --ready --listen "0.0.0.0:$tcp"
expect '   where it listens on every address' 0
try "$redlockd" --ready --listen "tls:127.0.0.1:$tls"
expect '   by TLS' 0
echo "listen = unix:$socket" >"$tmp/conf"
try "$redlockd" --ready --config "$tmp/conf"
expect '   with the file of the daemon' 0
try "$redlockd" --ready --tls-client-ca "$tmp/ca.crt" --listen "tls:127.0.0.1:$tls"
expect 'every listener demands a certificate' 78 'add one on loopback, or cert=optional'
try "$redlockd" --ready --tls-client-ca "$tmp/ca.crt" --listen tls:127.0.0.1:1 --listen "unix:$socket"
expect '   one that does not is taken' 0
stop
try "$redlockd" --ready --listen "unix:$socket"
expect 'a daemon that has ended is not ready' 69 "cannot connect to unix:$socket"

# ---- process 1 ----

try "$redlockd" --ready
expect 'where process 1 is another program, settings are needed' 64 'process 1 is not redlockd: give the --listen'
# first COMMAND: a shell that is process 1 of a namespace of its own carries it out.
first() {
    unshare --pid --fork --kill-child --mount-proc bash -c "$1" 2>"$tmp/log" &
    pid=$!
    eventually ready
    one=$(tr -d ' ' <"/proc/$pid/task/$pid/children")
    try nsenter --target "$one" --pid --mount "$redlockd" --ready
    expect "$2" 0
    # All of the namespace ends with its process 1, before unshare sees the end of that: the socket is free then.
    kill -KILL "$one"
    wait "$pid" 2>/dev/null || true
}
if unshare --pid --fork --mount-proc true 2>/dev/null; then
    serving="$redlockd --drain 0 --listen unix:$socket"
    first "exec $serving" 'the daemon is process 1: it is asked without further settings'
    first "exec -a init bash -c '\"\$@\"; exit' -- $serving" 'an init is process 1, with the daemon behind it'
else
    printf '# left out: this user can make no namespace of processes\n'
fi
done_testing
