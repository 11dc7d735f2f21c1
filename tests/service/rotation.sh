#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The password of the nodes changes while the daemon holds leases: it logs in again on HUP, and after every
# connection has been ended; no lease is lost.
. "$(dirname "$0")/lib.bash" "$@"
needs curl jq
inside_dev 3 "$@"
channel_rights || skip "$no_channel_rights"
unhurried

each() {
    local k
    for k in 1 2 3; do ask "$(port $k)" "$@" >/dev/null; done
}
calls_of_auth() {
    exec {fd}<>"/dev/tcp/127.0.0.1/$(port 1)"
    printf 'INFO commandstats\r\nQUIT\r\n' >&"$fd"
    sed -n 's/^cmdstat_auth:calls=\([0-9]*\),.*/\1/p' <&"$fd"
    exec {fd}>&-
}
logged_in_again() { [ "$(calls_of_auth)" -gt "$before" ]; }

printf '%s\n' old >"$tmp/password"
chmod 600 "$tmp/password"
each ACL SETUSER friend reset on '>old' '~redlock*' '&redlock*' +@all
cat >"$tmp/nodes" <<END
nodes = $REDLOCK_NODES
user = friend
password-file = $tmp/password
node-timeout = 3s
END
printf '%s\n' "quorum-config = $tmp/nodes" "allow = uid:$(id -u) * acquire,read,admin" >"$tmp/conf"
nodes=$REDLOCK_NODES
unset REDLOCK_NODES
start --config "$tmp/conf"
REDLOCK_NODES=$nodes
that 'the daemon logs in with the file' eventually ready
new_id
held=$id
http PUT /v1/locks/x "$held" -d '{"ttl_ms":60000}'
is '   and grants a lease' "$code" 201

# ---- HUP: on the connections that are up ----

each ACL SETUSER friend '>new'
printf '%s\n' new >"$tmp/password"
before=$(calls_of_auth)
kill -HUP "$pid"
that 'HUP: it logs in again' eventually logged_in_again

# ---- all connections end ----

each ACL SETUSER friend '<old'
each CLIENT KILL USER friend
that 'after CLIENT KILL it is ready again' eventually ready
new_id
http PUT /v1/locks/y "$id" -d '{"ttl_ms":60000,"wait_ms":30000}'
is '   and grants' "$code" 201
http DELETE /v1/locks/x "$held"
is '   and the lease from before is there to be released' "$code" 204
stop
is 'it ends well' "$status" 0
unlike '   and no password is in its log' "$(cat "$tmp/log")" '\b(old|new)\b'
done_testing
