# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Sourced by the tests that run inside a Debian of their own (scripts/check-packages.sh).
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8

ok() { echo "ok - $*"; }
fail() {
    echo "not ok - $*"
    exit 1
}
trap 'fail "line $LINENO: $BASH_COMMAND"' ERR

# that WHAT COMMAND...
that() {
    local what=$1
    shift
    "$@" || fail "$what: $*"
    ok "$what"
}

# eventually COMMAND...: within half a minute.
eventually() {
    local tries
    for ((tries = 0; tries < 300; tries++)); do
        "$@" >/dev/null 2>&1 && return
        sleep 0.1
    done
    return 1
}

# everything: files, users, groups and units of this Debian, without what apt, the journal, the backups of
# groupadd(8) and running processes write.
everything() {
    find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /run -o -path /tmp -o -path /check \
        -o -path /var/log -o -path /var/cache -o -path /var/lib/apt -o -path '/var/lib/dpkg/[!i]*' \
        -o -path '/var/tmp/*' -o -path /var/lib/systemd/timesync -o -path /root -o -path '/etc/*-' \) -prune -o -print | sort
    getent passwd
    getent group
}
