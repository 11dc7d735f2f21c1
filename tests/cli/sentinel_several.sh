#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Locks on three Sentinel groups, and on a Sentinel group beside two plain servers: what is said of them, and that a
# failover of one group stops neither the holders nor new locks.
. "$(dirname "$0")/lib.bash" "$@"
needs jq
unset REDLOCK_DEV REDLOCK_NODES REDLOCK_SENTINEL_PASSWORD
export TMPDIR=$tmp redlock helpers=$here/lib.bash

# The quarantine of a new master is max-ttl and 4 s. A busy machine may take its time to answer.
printf 'max-ttl = 6s\nnode-timeout = 3s\n' >"$tmp/conf"
export conf=$tmp/conf outer=$tmp

cat >"$tmp/several" <<'END'
. "$helpers" "$redlock"
export REDLOCK_CONFIG=$conf
nodes=$1 what=$2 group=$3 deployment=$4
dev() { redlock dev --dir "$outer/$group" "$@"; }
master() { dev list | awk '$3 == "master" && $4 == "up" { print $1 }' | head -n 1; }
export REDLOCK_NODES=$nodes
promise='one holder, through any failover of the groups, if their sentinels keep their files; 1 of 3 nodes may be away, or wait 10 s after a failover or restart'

try redlock run -w 300ms lock -- echo ran # short: none is to be had
expect "$what, before init no lock: 69" 69 'not initialised'
try redlock init --yes
expect "$what: init" 0
like '   says what they are' "$out" "^$deployment, profile efficiency: $promise$"
try redlock nodes
is "$what: nodes says what they are" "$(tail -1 <<<"$out")" "$deployment, profile efficiency: $promise"
try redlock nodes --json
is '   each of the groups with its three sentinels' "$(jq -r '[.nodes[] | select(.deployment == "sentinel")] | map(.vouchers, (.sentinels | length)) | unique | join(",")' <<<"$out")" 3
try redlock doctor -t 6s
is "$what: doctor says what they are" "$(head -1 <<<"$out")" "$deployment, profile efficiency: $promise"
unlike '   and finds nothing wrong with them' "$out" '^ *(FAIL|fail) '

redlock run -t 6s kept -- sh -c 'while [ ! -e "$0" ]; do sleep 0.1; done; echo held on' "$outer/$group.end" >"$tmp/kept" 2>"$tmp/said" &
kept=$!
eventually redlock status -q --held kept
before=$(master)
dev kill master >/dev/null
# A moment between two looks: each asks nine sentinels.
look() {
    sleep 0.2
    redlock nodes --node-timeout 2s --json 2>/dev/null | jq -e "$1" >/dev/null
}
# While the group has no master, and while the new one may not vote yet.
try redlock run -w 10s new -- echo ran
is "$what: new locks while one group has no master" "$status:$out" 0:ran
moved() { [ -n "$(master)" ] && [ "$(master)" != "$before" ]; }
eventually moved
eventually look '[.nodes[] | select(.quarantined)] | length == 1'
try redlock run -n new -- echo ran
is '   and while its new one waits' "$status:$out" 0:ran
try redlock run -n kept -- echo ran
expect '   but not what is held' 75
that "$what: the new master votes by itself" eventually look '[.nodes[] | select((.answered | not) or .quarantined)] == []'
try redlock status --held kept
expect '   and the lock is held yet' 0
touch "$outer/$group.end"
wait $kept
is '   by a holder that lost nothing' "$?:$(cat "$tmp/kept"):$(cat "$tmp/said")" '0:held on:'
done_testing
END

# Commands in commands: each group ends when what is inside of it has.
cat >"$tmp/three" <<'END'
first=$REDLOCK_NODES exec redlock dev --sentinel --no-init --dir "$outer/b" -- bash -c '
    second=$REDLOCK_NODES exec redlock dev --sentinel --no-init --dir "$outer/c" -- bash -c '\''
        exec bash "$outer/several" "$first,$second,$REDLOCK_NODES" "three groups" b "3 Sentinel groups"'\'
END
cat >"$tmp/mixed" <<'END'
plain=$REDLOCK_NODES exec redlock dev --sentinel --no-init --dir "$outer/d" -- bash -c '
    exec bash "$outer/several" "$plain,$REDLOCK_NODES" "a group beside two servers" d "3 nodes, one of them a Sentinel group"'
END
redlock dev --sentinel --no-init --dir "$tmp/a" -- bash "$tmp/three" || failed=1
redlock dev -c 2 --no-init -- bash "$tmp/mixed" || failed=1
done_testing
