#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The masters of a Redis Cluster as nodes: every subcommand says what they are, none of them votes, and nothing is written on them.
. "$(dirname "$0")/lib.bash" "$@"
inside_cluster "$@"
# Each knows all slots once it moves a client on, or serves it, for the marker's key.
knows_all() {
    local k answer
    for k in 1 2 3; do
        answer=$(ask "${port[k]}" GET redlock.admit)
        [[ $answer == '$-1' || $answer == '-MOVED '* ]] || return 1
    done
}
that 'the cluster comes up' eventually knows_all
REDLOCK_NODES=127.0.0.1:${port[1]},127.0.0.1:${port[2]},127.0.0.1:${port[3]}

untouched() { # WHAT
    for k in 1 2 3; do is "   nothing is written on node $k: $1" "$(ask "${port[k]}" DBSIZE)" :0; done
}
try "$redlock" init --yes
expect 'init refuses: 69' 69 'this is a Redis Cluster.*Nothing was changed'
like '   and says what to do' "$err" 'next: these are nodes of a Redis Cluster.*independent servers'
is '   of each node' "$(grep -c 'server error .*this is a Redis Cluster' <<<"$err")" 3
untouched init
try "$redlock" init --yes --json
is '   with --json' "$(jq -r '.error, (.advice | test("Redis Cluster"))' <<<"$out")" $'NOQUORUM\ntrue'
try "$redlock" nodes
expect 'nodes: they answer' 0 'warning: .*this is a Redis Cluster'
is '   and none votes' "$(grep -c '^127.* no .*this is a Redis Cluster' <<<"$out")" 3
try "$redlock" run -n x -- true
expect 'run: 69' 69 'this is a Redis Cluster'
like '   and says what to do' "$err" 'next: these are nodes of a Redis Cluster'
try "$redlock" run -n --no-fence --guard strict x -- true
expect 'run --guard strict: 69' 69 'this is a Redis Cluster'
# What the servers themselves answer is explained as well where the guard is not asked.
try "$redlock" run -n --shared --guard off x -- true
expect 'without the guard: 69' 69 'next: these are nodes of a Redis Cluster'
try timeout 60 "$redlock" run -w 3s x -- true
expect 'a wait: 69' 69 'next: these are nodes of a Redis Cluster'
try "$redlock" doctor
expect 'doctor: 1' 1
is '   of each node' "$(grep -c '^  fail +role +this is a Redis Cluster' -E <<<"$out")" 3
like '   what to do' "$out" '-> .*cluster-enabled no'
unlike '   and nothing about rights or sets' "$out" 'rights|membership'

# INFO may be forbidden: the errors show it.
for k in 1 2 3; do
    ask "${port[k]}" ACL SETUSER default -info >/dev/null
done
try "$redlock" run -n x -- true
expect 'without INFO: 69' 69 'this is a Redis Cluster'
done_testing
