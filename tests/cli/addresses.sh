#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Servers with an address of their own, as on other machines: protected mode is called by its name; a server that has
# forgotten its set is used again without a word, where a name would be warned of; nodes of one machine fail together.
. "$(dirname "$0")/lib.bash" "$@"
find_server
if [ "${2:-}" != --inside ]; then
    needs ip unshare
    machine=(unshare --user --map-root-user --net)
    "${machine[@]}" ip link set lo up 2>/dev/null || skip 'network namespaces are not allowed here'
    rm -rf "$tmp"
    exec "${machine[@]}" bash "$0" "$redlock" --inside
fi
unset REDLOCK_DEV
unhurried
ip link set lo up
for k in 1 2 3; do ip address add 192.0.2.$k/32 dev lo; done

# start K OPTION...: a server at 192.0.2.K; its pid in ${pid[K]}.
start() {
    local k=$1
    shift
    mkdir -p "$tmp/$k"
    "$server" --port 6379 --bind "192.0.2.$k" --dir "$tmp/$k" --save '' --appendonly no "$@" >"$tmp/$k/log" 2>&1 &
    pid[k]=$!
    eventually connects "192.0.2.$k"
}
connects() {
    (exec 3<>"/dev/tcp/$1/6379") 2>/dev/null
}
export REDLOCK_NODES=192.0.2.1,192.0.2.2,192.0.2.3

for k in 1 2 3; do start $k; done
for sub in doctor 'init --yes' nodes 'run -n x -- true' list; do
    for try in 1 2 3; do
        # shellcheck disable=SC2086 # words
        try "$redlock" $sub
        is "$sub, try $try: protected mode is called by its name" \
            "$(grep -c 'the server is in protected mode: without a password it serves no machine but its own\|authentication failed: protected mode' <<<"$out$err" | sed 's/[1-9].*/some/')" some
        unlike '   and not taken for TLS' "$out$err" 'is it a TLS|rediss'
        like '   what to do' "$out$err" '(next:|->) set requirepass or an ACL user on the server'
    done
done
try "$redlock" run -n x -- true
expect 'run: the status of refused credentials' 77
kill -STOP "${pid[3]}"
try "$redlock" run -n x -- true
expect '   and while the third node is silent' 77
kill -CONT "${pid[3]}"
for k in 1 2 3; do
    kill "${pid[k]}"
    wait "${pid[k]}" 2>/dev/null
done

options=(--max-ttl 2s -t 2s)
for k in 1 2 3; do start $k --protected-mode no; done
try "$redlock" init --yes --max-ttl 2s
expect 'init' 0
kill -9 "${pid[3]}"
wait "${pid[3]}" 2>/dev/null
start 3 --protected-mode no
settled() { # until the server that came back is old enough to be sent its set
    "$redlock" run -n -q "${options[@]}" settle -- true
    [ "$("$redlock" doctor --max-ttl 2s -v | grep -c '  membership  *set ')" = 3 ]
}
that 'a client sends a server that has forgotten its set' eventually settled
try "$redlock" run -n "${options[@]}" nightly -- true
is 'after that no command warns: run' "$status:$err" 0:
try "$redlock" nodes --max-ttl 2s
is '   nodes' "$status:$err" 0:
try "$redlock" doctor --max-ttl 2s -v
unlike '   and doctor has nothing against it' "$(grep membership <<<"$out")" 'warn|fail'

try "$redlock" doctor --nodes 192.0.2.1:6379,192.0.2.1:6380,192.0.2.3:6379 --max-ttl 2s
like 'doctor: so many nodes of one machine that no majority is left without it' "$out" \
    '^  warn +hosts +2 of 3 nodes are on 192.0.2.1: with that machine too many of them fail'
like '   what to do' "$out" '-> put every node on a machine of its own'
try "$redlock" doctor --max-ttl 2s -v
like '   a machine each' "$out" '^  ok +hosts '
kill "${pid[@]}"
wait
done_testing
