# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Sourced by the scripts that try containers: a dockerd of its own, which touches neither the machine's firewall nor a
# docker that runs here. Sets tmp, a directory that is removed with everything in it when the script ends, and DOCKER_HOST.
[ "$(id -u)" = 0 ] || { echo "${0##*/}: dockerd needs root" >&2; exit 1; }
PATH=$PATH:/usr/sbin
tmp=$(mktemp -d /tmp/docker.XXXXXX) # short: sockets are below it
daemon=
cleanup() {
    set +e # one that fails keeps no other from its part
    if [ -n "$daemon" ]; then
        docker ps --quiet | xargs -r docker kill >/dev/null
        kill "$daemon"
        wait "$daemon"
    fi
    grep -o "$tmp[^ ]*" /proc/mounts | sort -r | xargs -r umount
    rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 143' HUP INT TERM

fail() {
    echo "not ok - $*"
    exit 1
}
ok() { echo "ok - $*"; }
# eventually COMMAND...: within a minute.
eventually() {
    for ((i = 0; i < 600; i++)); do
        "$@" && return
        sleep 0.1
    done
    fail "still not so after a minute: $*"
}

export DOCKER_HOST=unix://$tmp/socket
# Without a network by default.
dockerd --host "$DOCKER_HOST" --data-root "$tmp/data" --exec-root "$tmp/exec" --pidfile "$tmp/pid" --bridge none \
    --iptables=false --ip6tables=false --log-level warn >"$tmp/log" 2>&1 &
daemon=$!
answers() { docker info >/dev/null 2>&1 || ! kill -0 "$daemon" 2>/dev/null; }
eventually answers
kill -0 "$daemon" 2>/dev/null || fail "dockerd has ended: $(tail -n 5 "$tmp/log")"
