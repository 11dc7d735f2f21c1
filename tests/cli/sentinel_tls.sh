#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Sentinels that speak TLS, and a server that does not.
. "$(dirname "$0")/lib.bash" "$@"
needs openssl
own_servers
inside_dev '4 --no-init' "$@"
hurried
sh "$here/../../lab/servers/certs.sh" "$tmp" || skip 'certificates cannot be made'
master=$(port 1)
places=
for k in 2 3 4; do
    at=$(take_port $k)
    mkdir "$tmp/s$k"
    cat >"$tmp/s$k/conf" <<END
port 0
tls-port $at
tls-cert-file $tmp/good.crt
tls-key-file $tmp/good.key
tls-ca-cert-file $tmp/ca.crt
tls-auth-clients no
dir $tmp/s$k
sentinel monitor group 127.0.0.1 $master 2
END
    "$server" "$tmp/s$k/conf" --sentinel >"$tmp/s$k/log" 2>&1 &
    servers+=($!)
    places+=${places:++}127.0.0.1:$at
done
listening() {
    local each
    for each in ${places//+/ }; do
        (exec 3<>"/dev/tcp/127.0.0.1/${each##*:}") 2>/dev/null || return 1
    done
}
eventually listening || skip 'sentinels with TLS do not start'
unset REDLOCK_NODES
url="sentinels://$places/group?tls=sentinels"
try "$redlock" init --yes --nodes "$url" --tls-ca "$tmp/ca.crt"
expect 'sentinels with TLS, a server without' 0
try "$redlock" run -w 0 --nodes "$url" --tls-ca "$tmp/ca.crt" lock -- echo ran
is '   a lock' "$status:$out" 0:ran
try "$redlock" run -w 300ms --nodes "$url" lock -- echo ran # short: none is to be had
expect '   of an unknown authority: 69' 69 'certificate'
like '   with what to do' "$err" 'which authority is trusted \(--tls-ca'
try "$redlock" run -w 300ms --nodes "sentinel://$places/group" lock -- echo ran # short: none is to be had
expect '   addressed without TLS: 69' 69 "sentinel ${places%%+*}: is it a TLS port\\? use sentinels://"
try "$redlock" run -w 300ms --nodes "sentinels://$places/group" --tls-ca "$tmp/ca.crt" lock -- echo ran # short: none is to be had
expect '   and a server that has none: 69' 69 'TLS'
done_testing
