# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Sourced by the tests of redlockd, which take the paths of redlockd and of the script that makes
# certificates. Starts the program, waits until it listens, and ends it.
. "$(dirname "${BASH_SOURCE[0]}")/../cli/lib.bash" "$@"
redlockd=$redlock
redlock=$(dirname "$redlockd")/redlock
certs=${2:?usage: $0 REDLOCKD CERTS-SCRIPT}
umask 022 # files of rules and tokens that others can write are refused
unset NOTIFY_SOCKET LISTEN_FDS LISTEN_PID WATCHDOG_USEC WATCHDOG_PID
socket=$tmp/socket
# Nodes that are not there, unless the test has some: the process does not depend on them.
export REDLOCK_NODES=${REDLOCK_NODES:-127.0.0.1:1}

# start OPTION...: on a unix socket and a free loopback port; sets pid, tcp and tls (ports).
start() {
    : >"$tmp/log"
    # A lease that a script leaves behind keeps no process: one that is about the drain says how long.
    "$redlockd" --drain 0 "$@" --listen "unix:$socket" --listen 127.0.0.1:0 2>"$tmp/log" &
    pid=$!
    eventually listens
    tcp=$(sed -n 's/.*listening on 127.0.0.1:\([0-9]*\)$/\1/p' "$tmp/log")
    tls=$(sed -n 's/.*listening on tls:127.0.0.1:\([0-9]*\)$/\1/p' "$tmp/log")
}

# The plain port is the last that is opened.
listens() {
    grep -qs 'listening on 127.0.0.1' "$tmp/log" || gone "$pid"
}

# stop: TERM; $status is what it ended with.
stop() {
    kill -TERM "$pid"
    status=0
    wait "$pid" || status=$?
}

# ready [SOCKET]: does it say that a majority votes?
ready() {
    [ "$(curl -s -m 60 -o /dev/null -w '%{http_code}' --unix-socket "${1:-$socket}" http://h/readyz)" = 200 ]
}

# digest TOKEN: as the file of tokens has it.
digest() { printf '%s' "$1" | sha256sum | cut -d ' ' -f 1; }

# build_go_example: $tmp/hold, of examples/service. What was compiled once is kept beside the build.
build_go_example() {
    local top
    top=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")/../..")
    mkdir -p "$tmp/go-example"
    cp "$top/examples/service/hold.go" "$tmp/go-example/main.go"
    printf 'module hold\n\ngo 1.19\n\nrequire redlock v0.0.0\n\nreplace redlock => %s\n' "$top/bindings/go" \
        >"$tmp/go-example/go.mod"
    try env -C "$tmp/go-example" HOME="$tmp" GOCACHE="$(go_cache)" GOFLAGS=-mod=mod GOPROXY=off GO111MODULE=on \
        go build -o "$tmp/hold" .
    expect 'the example in Go compiles' 0
}
go_cache() { echo "$(readlink -f "$(dirname "$redlockd")")/go-cache"; }
