#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A cluster that speaks TLS: three masters without replicas.
. "$(dirname "$0")/lib.bash" "$@"
needs openssl
own_servers
inside_dev '6 --no-init' "$@"
hurried
sh "$here/../../lab/servers/certs.sh" "$tmp" || skip 'certificates cannot be made'
for k in 1 2 3; do
    port[k]=$(take_port "$k") bus[k]=$(take_port $((k + 3)))
done
unset REDLOCK_NODES
for k in 1 2 3; do
    mkdir "$tmp/$k"
    # The ids of all three are known to each from the start: a, b and c, forty times.
    {
        letter=(x a b c)
        for i in 1 2 3; do
            printf '%s 127.0.0.1:%s@%s %smaster - 0 0 %d connected %d-%d\n' "$(printf "%040d" 0 | tr 0 "${letter[i]}")" \
                "${port[i]}" "${bus[i]}" "$([ $i != $k ] || echo myself,)" $i $(((i - 1) * 5461)) $((i < 3 ? i * 5461 - 1 : 16383))
        done
        echo 'vars currentEpoch 3 lastVoteEpoch 0'
    } >"$tmp/$k/nodes.conf"
    "$server" --port 0 --tls-port "${port[k]}" --bind 127.0.0.1 --tls-cert-file "$tmp/good.crt" --tls-key-file "$tmp/good.key" \
        --tls-ca-cert-file "$tmp/ca.crt" --tls-auth-clients no --tls-cluster yes --cluster-enabled yes \
        --cluster-port "${bus[k]}" --cluster-require-full-coverage no --dir "$tmp/$k" --save '' >"$tmp/$k/log" 2>&1 &
    servers+=($!)
done
listening() {
    local k
    for k in 1 2 3; do (exec 3<>"/dev/tcp/127.0.0.1/${port[k]}") 2>/dev/null || return 1; done
}
eventually listening || skip 'a cluster with TLS does not start'
places=127.0.0.1:${port[1]}+127.0.0.1:${port[2]}+127.0.0.1:${port[3]}
init() { try "$redlock" init --yes --nodes "clusters://$places" --tls-ca "$tmp/ca.crt" && [ "$status" = 0 ]; }
that 'init, once its nodes know each other' eventually init
try "$redlock" run -w 0 --node-timeout 3s --nodes "clusters://$places" --tls-ca "$tmp/ca.crt" lock -- echo ran
is '   a lock' "$status:$out" 0:ran
try "$redlock" run -w 300ms --nodes "clusters://$places" lock -- echo ran # short: none is to be had
expect '   of an unknown authority: 69' 69 'certificate'
try "$redlock" run -w 300ms --nodes "cluster://$places" lock -- echo ran # short: none is to be had
expect '   addressed without TLS: 69' 69 'is it a TLS port\? use clusters://'
done_testing
