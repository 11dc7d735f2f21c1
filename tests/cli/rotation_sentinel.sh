#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The password of the sentinels changes while `redlock run` holds a lock of their group.
. "$(dirname "$0")/lib.bash" "$@"
[ -n "${REDLOCK_DEV:-}" ] || {
    rm -rf "$tmp"
    exec "$redlock" dev --sentinel -- bash "$0" "$@"
}
unhurried
group=${REDLOCK_NODES#*//}
IFS=+ read -r -a sentinels <<<"${group%%/*}"

# each WORD...: the command on every sentinel.
each() {
    local one
    for one in "${sentinels[@]}"; do ask "${one##*:}" "$@" >/dev/null; done
}
printf '%s\n' old >"$tmp/password"
chmod 600 "$tmp/password"
each ACL SETUSER watcher reset on '>old' '&*' +@all
mkfifo "$tmp/held"
"$redlock" run -t 4s --sentinel-user watcher --sentinel-password-file "$tmp/password" x -- \
    sh -c "echo >$tmp/held; sleep 6" 2>"$tmp/err" &
pid=$!
read -r _ <"$tmp/held"
printf '%s\n' new >"$tmp/password"
each ACL SETUSER watcher resetpass '>new'
each CLIENT KILL USER watcher
# Without the sentinels a renewal does not count, and the command would be stopped with 76 at its TTL.
status=0
wait "$pid" || status=$?
is 'the lock outlasts the rotation and its TTL' "$status" 0
is '   without a word' "$(cat "$tmp/err")" ''
printf '%s\n' wrong >"$tmp/password"
try "$redlock" lock -n --sentinel-user watcher --sentinel-password-file "$tmp/password" y
expect 'a wrong password of the sentinels is reported' 69 'next: give user and password of the sentinels'
done_testing
