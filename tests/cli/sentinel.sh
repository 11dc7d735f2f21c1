#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Locks on one Sentinel group: how it is named and initialised, what is said of it, and what becomes of locks,
# breaks and records when another server takes over.
. "$(dirname "$0")/lib.bash" "$@"
needs jq
unset REDLOCK_DEV REDLOCK_NODES REDLOCK_SENTINEL_PASSWORD
export TMPDIR=$tmp

# refused WHAT URL PATTERN: before anything is asked.
refused() {
    try "$redlock" nodes --nodes "$2"
    expect "$1: 78" 78 "$3"
}
three=127.0.0.1:1+127.0.0.1:2+127.0.0.1:3
refused 'one sentinel' sentinel://127.0.0.1:1/group 'all its sentinels, three or more: sentinel://host1\+host2\+host3/group'
refused 'two sentinels' sentinel://127.0.0.1:1+127.0.0.1:2/group 'three or more'
refused 'a sentinel twice' sentinel://127.0.0.1:1+127.0.0.1:2+127.0.0.1:1/group 'a sentinel is named twice'
refused 'no group' sentinel://$three 'the name of the group is missing'
refused 'a group with a blank' sentinel://$three/my%20group 'letters, digits'
refused 'eight sentinels' sentinel://a+b+c+d+e+f+g+h/group 'seven sentinels at most'
refused 'TLS of nothing' "sentinel://$three/group?tls=servers" 'with sentinels://, tls=servers or tls=sentinels'
refused 'one group twice' sentinel://$three/group,sentinel://$three/group 'are the same server'
refused 'a port without a number' sentinel://127.0.0.1:x+b+c/group "port"
try "$redlock" nodes --nodes sentinel://$three/group --sentinel-password-file "$tmp/none"
expect 'no file with the password of the sentinels: 78' 78 'sentinel-password-file: cannot read'

cat >"$tmp/helpers" <<'END'
. "$helpers" "$redlock"
unhurried
s1=127.0.0.1:$(port_of s1) s2=127.0.0.1:$(port_of s2) s3=127.0.0.1:$(port_of s3)
n1=127.0.0.1:$(port_of 1)
group=$REDLOCK_NODES
END
export helpers=$here/lib.bash redlock tmp_of_test=$tmp
# inside NAME [OPTION...]: runs the script on standard input beside a new group; its lines are ours.
inside() {
    local name=$1
    shift
    { cat "$tmp/helpers" -; echo done_testing; } >"$tmp/$name"
    "$redlock" dev --sentinel "$@" -- bash "$tmp/$name" "$redlock" || failed=1
}

inside wrong <<'END'
# lacks WHAT URL PATTERN: no lock there; what is wrong, and what to do.
lacks() {
    try redlock run -w 300ms --nodes "$2" lock -- echo ran # short: none is to be had
    expect "$1: 69, and why" 69 "$3"
    is '   nothing ran' "$out" ''
    try redlock init --yes --nodes "$2"
    expect '   and init refuses' 69 "$3"
    like '   which changes nothing' "$err" 'Nothing was changed'
}
lacks 'unknown group' sentinel://$s1+$s2+$s3/other 'knows no group of this name'
like '   with what to do' "$err" 'check the name of the group in the URL'
lacks 'servers for sentinels' sentinel://$n1+127.0.0.1:$(port_of 2)+$s1/redlock 'this is a server, not a sentinel'
like '   with what to do' "$err" 'name the sentinels in the URL, not the servers'
lacks 'no sentinel there' sentinel://127.0.0.1:1+127.0.0.1:2+$s1/redlock 'sentinel 127.0.0.1:1: Connection refused'
try redlock init --yes --nodes sentinel://$s1+$s2+localhost:${s1#*:}/redlock
expect 'one sentinel by two names: 69' 69 'two of the sentinels are one'
like '   with what to do' "$err" 'name each sentinel once'
try redlock init --yes --nodes sentinel://$s1+$s2+127.0.0.1:1/redlock
expect 'a majority of the sentinels does not suffice for init: 69' 69 'sentinel 127.0.0.1:1: Connection refused; the set needs all'
try redlock run -w 0 --nodes sentinel://$s1+$s2+127.0.0.1:1/redlock lock -- echo ran
is '   but for a lock' "$status:$out" 0:ran
try redlock nodes --nodes $s1
like 'a sentinel as a node' "$out" 'this is a Sentinel, not a server'
try redlock init --yes --nodes $s1
expect '   is refused by init' 69 'name the group instead, by all its sentinels: sentinel://'
# Sentinels that disagree: one of three names another, and one is gone.
answer "${s2#*:}" 'SENTINEL REMOVE redlock' >/dev/null
answer "${s2#*:}" "SENTINEL MONITOR redlock 127.0.0.1 $(port_of 2) 2" >/dev/null
try redlock run -w 300ms --nodes sentinel://$s1+$s2+127.0.0.1:1/redlock lock -- echo ran # short: none is to be had
expect 'sentinels that disagree: 69' 69 'sentinel 127.0.0.1:1|its sentinels disagree'
END

inside passwords <<'END'
for each in "$s1" "$s2" "$s3"; do
    answer "${each#*:}" 'ACL SETUSER default on >sesame' >/dev/null
done
try redlock run -w 300ms lock -- echo ran # short: none is to be had
expect 'sentinels with a password, and none given: 69' 69 'NOAUTH|Authentication required'
like '   with what to do' "$err" '--sentinel-user, --sentinel-password-file FILE or REDLOCK_SENTINEL_PASSWORD'
try env REDLOCK_PASSWORD=sesame redlock run -w 300ms lock -- echo ran # short: none is to be had
expect 'that of the servers is another' 69 'sentinel 127'
try env REDLOCK_SENTINEL_PASSWORD=wrong redlock run -w 300ms lock -- echo ran # short: none is to be had
expect 'a wrong one: 69' 69 'WRONGPASS'
try env REDLOCK_SENTINEL_PASSWORD=sesame redlock run -w 0 lock -- echo ran
is 'the right one' "$status:$out" 0:ran
echo sesame >"$tmp/password"
chmod 600 "$tmp/password"
for each in "$s1" "$s2" "$s3"; do
    answer "${each#*:}" $'AUTH sesame\r\nACL SETUSER weak on >weak ~* &* +auth +client|setname +ping' >/dev/null
done
try env REDLOCK_SENTINEL_PASSWORD=weak redlock run -w 300ms --sentinel-user weak lock -- echo ran # short: none is to be had
expect 'a user without the rights on the sentinels: 69' 69 'NOPERM|no permissions'
like '   with what to do' "$err" 'give this user the missing right on the servers .*, or on the sentinels'
try redlock run -w 0 --sentinel-user default --sentinel-password-file "$tmp/password" lock -- echo ran
is '   from a file' "$status:$out" 0:ran
printf 'node-timeout = 3s\nnodes = %s\nsentinel-password-file = %s\n' "$group" "$tmp/password" >"$tmp/conf"
try env -u REDLOCK_NODES REDLOCK_CONFIG="$tmp/conf" redlock run -w 0 lock -- echo ran
is '   from the configuration' "$status:$out" 0:ran
answer "${n1#*:}" 'ACL SETUSER default on >server' >/dev/null
export REDLOCK_SENTINEL_PASSWORD=sesame
try redlock run -w 300ms lock -- echo ran # short: none is to be had
expect 'a server with a password, and none given: 77' 77 'password'
try env REDLOCK_PASSWORD=server redlock run -w 0 lock -- echo ran
is '   with both' "$status:$out" 0:ran
try redlock run -w 0 --nodes "sentinel://:server@${group#sentinel://}" lock -- echo ran
is '   that of the servers in the URL' "$status:$out" 0:ran
unlike '   which is never shown' "$(redlock nodes -v --nodes "sentinel://:server@${group#sentinel://}" 2>/dev/null)" server@
END

line='a Sentinel group with 3 sentinels, profile efficiency: one holder, through any failover, loss of writes, split brain or pause, if the sentinels keep their files; new locks wait 14 s after each failover'
export line
inside init --no-init <<'END'
echo 'max-ttl = 10s' >>"$REDLOCK_CONFIG"
try redlock run -w 300ms lock -- echo ran # short: none is to be had
expect 'before init no lock: 69' 69 'not initialised, .* then admit it'
like '   and what to do' "$err" 'next: when nothing that was granted before can be held any more: .redlock init'
try redlock doctor
is '   nor is doctor content' "$status" 1
like '   with the same' "$(tr -s ' \n' ' ' <<<"$out")" 'fail membership not initialised, .* its votes do not count .*admit the nodes \(.redlock init'
try redlock init --yes
expect 'init' 0
like '   says what it is' "$out" "^$line$"
try redlock init --yes
like 'done again it writes nothing' "$out" 'nothing was to be done'
try redlock run -w 0 lock -- redlock init --yes --json
is '   also while a lock is held' "$(jq -r '.changed, .deployment' <<<"$out" | paste -sd,)" 'false,a Sentinel group with 3 sentinels'
try redlock nodes
is 'nodes says what it is' "$(tail -1 <<<"$out")" "$line"
try redlock nodes -v
like '   with -v its sentinels and their term' "$out" "^  $s2: $n1, term [0-9]+$"
try redlock nodes --json
is '   as JSON' "$(jq -r '.nodes[0] | .deployment, .server, .vouchers, .sentinels_listed, (.sentinels | length), .sentinels[2].counts' <<<"$out" | paste -sd,)" \
    "sentinel,$n1,3,3,3,true"
try redlock run -w 0 --nodes "$n1" lock -- echo ran
expect 'its master by its own address counts for no client: 69' 69 'belongs to another'
try redlock status -v lock
is 'status -v says it as well' "$(tail -1 <<<"$out")" "$line"
try redlock doctor -v -t 10s
like 'doctor: the TTL suffices for a failover or not' "$out" 'warn +ttl +a failover takes about 4.0 s: locks with a TTL of 12.5 s or more are held through it, commands that run under them with 17.0 s'
like '   and what to do, where the nodes allow no longer one' "$(tr -s ' \n' ' ' <<<"$out")" 'or a larger max_ttl for all clients'
like '   the sentinels' "$out" "ok +sentinels +3 of 3 name $n1"
is '   what it is' "$(head -1 <<<"$out")" "$line"
redlock dev kill s3 >/dev/null
try redlock nodes
like 'a sentinel that is gone is shown' "$out" "^  $s3: connection refused$"
try redlock doctor -t 10s
like '   and doctor warns' "$out" "warn +sentinels +2 of 3 name $n1"
redlock dev start s3 >/dev/null
# As if the set had been made with others: no majority of them can speak.
ids=$(answer "${n1#*:}" 'HGET redlock.admit electors' | sed -n 2p)
ask "${n1#*:}" HSET redlock.admit electors "$(tr 0-9a-f 1-9a-f0 <<<"$ids")" >/dev/null
try redlock run -w 3s lock -- echo ran
expect 'other sentinels than those of the set: 69' 69 'are not those that the set was made with'
try redlock init --yes --replace redis1
expect '   --replace does not change them' 69 'cannot be changed while locks are held'
try redlock init --yes --force
expect '   init does' 0
try redlock init --yes --replace redis1
expect '   where nothing is new, --replace has nothing to do' 0
# One of the three has another id: two of those that the set was made with are enough.
ids=$(answer "${n1#*:}" 'HGET redlock.admit electors' | sed -n 2p)
ask "${n1#*:}" HSET redlock.admit electors "$(sed 's/^\(.\{20\}\).\{20\}/\100000000000000000000/' <<<"$ids")" >/dev/null
for k in 1 2 3 4 5 6; do redlock nodes; done >"$tmp/out" 2>&1
unlike 'one sentinel of three with another id: the server is no less up' "$(cat "$tmp/out")" ' down '
is '   in each of six looks' "$(grep -c ' yes ' "$tmp/out")" 6
ask "${n1#*:}" HSET redlock.admit electors "$ids" >/dev/null
try redlock run -w 0 another -- echo ran
is '   and locks work again' "$status:$out" 0:ran
# does_not_vote WHAT FIELD VALUE PATTERN: with that in the key redlock.admit, which is restored behind it.
does_not_vote() {
    local before
    before=$(answer "${n1#*:}" "HGET redlock.admit $2" | sed -n 2p)
    if [ -n "$3" ]; then ask "${n1#*:}" HSET redlock.admit "$2" "$3"; else ask "${n1#*:}" HDEL redlock.admit "$2"; fi >/dev/null
    try redlock nodes
    like "$1: it does not vote" "$out" " no .*$4"
    try redlock run -w 300ms voted -- echo ran # short: none is to be had
    expect '   no lock: 69' 69 "$4"
    ask "${n1#*:}" HSET redlock.admit "$2" "$before" >/dev/null
    try redlock run -w 10s voted -- echo ran
    is '   and one again when it is as before' "$status:$out" 0:ran
}
does_not_vote 'a set without its sentinels' electors '' 'not initialised'
does_not_vote 'a set with a list of sentinels that is none' electors nonsense 'not initialised'
set_now=$(answer "${n1#*:}" 'HGET redlock.admit set' | sed -n 2p)
does_not_vote 'a set without a version of the protocol' set "${set_now/;1/}" 'another version of the protocol'
ask "${n1#*:}" DEL redlock.admit >/dev/null
try redlock nodes
like 'a master that came back empty: what to do' "$out" 'came back without its data: wait for the longest TTL, then admit it'
END

inside failover --no-init <<'END'
echo 'max-ttl = 15s' >>"$REDLOCK_CONFIG"
redlock init --yes -q
redlock run -t 15s kept -- sh -c 'sleep 17; echo held on' >"$tmp/kept" 2>/dev/null &
kept=$!
held() { redlock status -q --held kept; }
eventually held
redlock dev kill master >/dev/null
moved() { [ -n "$(master)" ] && [ "$(master)" != 1 ]; }
eventually moved
try redlock init --yes --replace redis1
expect '--replace after a failover has nothing to replace' 64 'votes by itself'
try redlock nodes
like 'after a failover: why it does not vote, and until when' "$out" 'in 1[0-9].* another master, .* may vote in 1[0-9] s'
try redlock run -w 0 new -- echo ran
expect '   new locks wait' 69 'another master'
try redlock run -w 30s new -- echo ran
is '   and come by themselves, to a command that begins then' "$status:$out" 0:ran
wait $kept
is 'a lock with a TTL that is long enough goes on' "$?:$(cat "$tmp/kept")" '0:held on'
END

inside breaks --no-init <<'END'
echo 'max-ttl = 3s' >>"$REDLOCK_CONFIG"
redlock init --yes -q
hold() { redlock run -t 3s lock -- sleep 100 >/dev/null 2>&1 & eventually redlock status -q --held lock; }
hold
try redlock break --yes lock
is 'a break is done' "$status" 0
like '   and says when it is final' "$out" 'lock: done, and final in 7.0 s: a failover before that can bring it back, which .redlock status. shows then; a break with --wait stays'
wait
hold
try redlock break --yes --json lock
is '   as JSON' "$(jq -r '.final, .final_ms' <<<"$out" | paste -sd,)" false,7000
wait
# A server that executes a deletion long after it was sent: it is final Q after the answer.
if has_terminal; then
    for each in "$s1" "$s2" "$s3"; do
        answer "${each#*:}" 'SENTINEL SET redlock down-after-milliseconds 60000' >/dev/null
    done
    hold
    terminal "$redlock break --node-timeout 20s --wait lock"
    shows 'Evict it'
    redlock dev hang 1 >/dev/null
    echo y >&"$keys"
    sleep 1.5 # not as long as its key lives
    redlock dev resume 1 >/dev/null
    began=$(date +%s%N)
    finish
    is 'a deletion that the server executes late: --wait goes by its answer' "$status:$(grep -c 'it is final' <<<"$screen")" 0:1
    took=$((($(date +%s%N) - began) / 1000000))
    that "   and waits for all of Q ($took ms)" [ $took -ge 6900 ]
    for each in "$s1" "$s2" "$s3"; do
        answer "${each#*:}" 'SENTINEL SET redlock down-after-milliseconds 2000' >/dev/null
    done
fi
wait
hold
began=$(date +%s%N)
(sleep 1; redlock dev failover >/dev/null) &
try env REDLOCK_TRACE="$tmp/trace" redlock break --yes --wait lock
took=$((($(date +%s%N) - began) / 1000000))
is '--wait waits for it' "$status:$(grep -c 'it is final' <<<"$out")" 0:1
like '   and deletes it again after a failover' "$err" 'another server was promoted'
between '   from where it counts anew' $took 8000 25000
asked=$(grep -c "$s1.*ask SENTINEL MASTER" "$tmp/trace")
that "   the sentinels are asked each second meanwhile ($asked times in $took ms)" [ "$asked" -ge $((took / 2000)) ]
wait
value=$(redlock lock -t 3s -w 20s mine)
try redlock unlock --json mine "$value"
is 'unlock, which may not be by who renews, says it as well' "$(jq -r '.final' <<<"$out")" false
END

inside hung --no-init <<'END'
printf 'max-ttl = 3s\nnode-timeout = 1s\n' >"$tmp/conf"
chmod 644 "$tmp/conf"
export REDLOCK_CONFIG=$tmp/conf
redlock init --yes -q
redlock run -t 3s lock -- sleep 100 2>"$tmp/lost" &
holder=$!
eventually redlock status -q --held lock
redlock dev hang s1 >/dev/null
redlock dev hang s2 >/dev/null
wait $holder
is 'without a majority of the sentinels the holder loses its lock' $? 76
like '   and the reason names them' "$(cat "$tmp/lost")" 'no majority of its sentinels|sentinel 127\.0\.0\.1:[0-9]+: no answer'
redlock dev hang s3 >/dev/null
try redlock nodes
like 'with all sentinels hung, what is said of it' "$out" 'new locks wait 7 s after each failover; now none can be had$'
try redlock doctor
unlike '   no term is made up' "$out" 'term -1'
for k in s1 s2 s3; do redlock dev resume $k >/dev/null; done
END

inside back <<'END'
redlock dev failover >/dev/null
redlock run lock -- true 2>"$tmp/waits" &
waiter=$!
eventually grep -q 'waiting for lock' "$tmp/waits"
now=$(redlock dev list | awk '$3 == "master" { sub(":", " ", $2); print $2 }')
for each in "$s1" "$s2" "$s3"; do
    answer "${each#*:}" $'SENTINEL REMOVE redlock\r\nSENTINEL MONITOR redlock '"$now 2" >/dev/null
done
eventually grep -q 'keep their configuration files' "$tmp/waits"
is 'sentinels that forget the epoch: a warning' "$(grep -c 'keep their configuration files' "$tmp/waits")" 1
kill $waiter
wait $waiter || :
END

inside stamps --no-init <<'END'
echo 'max-ttl = 3s' >>"$REDLOCK_CONFIG"
redlock init --yes -q
redlock dev failover >/dev/null
try redlock run -n job -- echo ran
expect 'the first command after a failover stamps the new master' 69 'another master'
sleep 7.5 # the quarantine, which the stamp has to be as old as
try redlock run -n job -- echo ran
is '   and the first one after the quarantine has the lock' "$status:$out:$err" 0:ran:
END
cat >"$tmp/promoted" <<'END'
. "$helpers" "$redlock"
unhurried
echo 'max-ttl = 3s' >>"$REDLOCK_CONFIG"
ask "$(port 2)" REPLICAOF 127.0.0.1 "$(port 1)" >/dev/null
linked() { answer "$(port 2)" 'INFO replication' | grep -q master_link_status:up; }
eventually linked
ask "$(port 2)" REPLICAOF NO ONE >/dev/null
export REDLOCK_NODES=127.0.0.1:$(port 2)
try redlock run -n job -- echo ran
expect 'the first command stamps a promoted replica' 69 'it was a replica'
sleep 5.5 # its quarantine
try redlock run -n job -- echo ran
is '   and the first one after its quarantine has the lock' "$status:$out:$err" 0:ran:
done_testing
END
"$redlock" dev -c 2 --no-init -- bash "$tmp/promoted" "$redlock" || failed=1

inside records <<'END'
try redlock run --every 10m job -- echo ran
is 'the record is on a replica before the command starts' "$status:$out:$err" 0:ran:
redlock dev hang 2 >/dev/null
redlock dev hang 3 >/dev/null
try redlock run --every 1m job2 -- echo ran
is 'without one it runs' "$status:$out" 0:ran
like '   and says what a failover may forget' "$err" 'no replica has the record of this run yet: a failover may forget it'
redlock dev resume 2 >/dev/null
redlock dev resume 3 >/dev/null
eventually redlock dev failover >/dev/null
try redlock run --every 10m job -- echo ran
expect 'another master knows of it' 75 'has run already'
END

try "$redlock" dev -c 1 -- redlock nodes --node-timeout 3s
like 'one server says what it cannot promise' "$out" '^one server, profile efficiency: one holder while it does not restart unseen.* may be held twice after a failover$'
try "$redlock" dev -c 1 -- redlock init --yes --node-timeout 3s
like '   also at init' "$out" '^one server, .* may be held twice after a failover$'
try "$redlock" dev -c 1 -- redlock doctor --node-timeout 3s
like '   and doctor' "$out" '^one server, .* may be held twice after a failover$'
try "$redlock" dev --sentinel --no-init -- sh -c 'redlock nodes --node-timeout 3s --nodes "$(redlock dev list | awk "\$1 == 1 { print \$2 }")"'
is 'a server with replicas, without its sentinels' "$(tail -1 <<<"$out")" \
    'one server with a failover that reports nothing, profile efficiency: may be held twice after a failover'
try "$redlock" dev -c 3 -- redlock break --node-timeout 3s --yes --wait none
expect 'on independent servers there is nothing to wait for' 1
done_testing
