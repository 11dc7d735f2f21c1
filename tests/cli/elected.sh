#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Locks on a real Sentinel group (docs/elected.md): before, during and after a failover; a hold that
# goes on through it; and a deposed master that wakes up, and whose grants do not count.
. "$(dirname "$0")/lib.bash" "$@"
unset REDLOCK_DEV REDLOCK_NODES
export TMPDIR=$tmp tmp_of_test=$tmp helpers=$here/lib.bash redlock
# The quarantine of a new master is max_ttl, 2 s for old answers of the sentinels, and 2 s.
export max_ttl=14s

cat >"$tmp/group" <<'EOF'
. "$helpers" "$redlock"
list() { redlock dev list; }
master() { list | awk '$3 == "master" && $4 == "up" { print $1 }' | head -n 1; }
# took: milliseconds since $began.
took() { echo $((($(date +%s%N) - began) / 1000000)); }
# lock NAME OPTION...: a command that lives for a second; its status.
lock() { redlock --max-ttl "$max_ttl" run "$@" -t 2s -- true 2>>"$tmp_of_test/said"; echo $?; }

echo "before init: $(lock a -n)"
redlock --max-ttl "$max_ttl" init --wait >"$tmp_of_test/waits" 2>&1
echo "init --wait: $? $(grep -c 'init without it while nothing is held' "$tmp_of_test/waits")"
redlock --max-ttl "$max_ttl" init --yes >"$tmp_of_test/init" 2>&1
echo "init: $?"
echo "before: $(lock a -n)"

redlock --max-ttl "$max_ttl" run held -t 14s -- \
    bash -c 'echo begun >"$tmp_of_test/held"; sleep 25; echo ended >"$tmp_of_test/held"' 2>"$tmp_of_test/lost" &
holder=$!
until grep -q begun "$tmp_of_test/held" 2>/dev/null; do sleep 0.05; done
old=$(master) port=$(port_of "$(master)")
began=$(date +%s%N)
kill -STOP "$(pid_of "$old")"
echo "during: $(lock b -w 1s)"
redlock dev list >&2
until [ -n "$(master)" ] && [ "$(master)" != "$old" ]; do sleep 0.1; done
failover=$(took)
kill -CONT "$(pid_of "$old")"
# It takes itself for the master still, and would grant: what is asked is the new one.
answer=$(ask "$port" SET redlock:c x NX PX 60000)
echo "quarantine: $(lock c -w 1s)"
echo "after: $(lock c -w 60s)"
[ "$(took)" -ge 18000 ] && echo 'not before the quarantine has ended'
echo "failover $failover ms, new locks after $(took) ms, the old master: $answer" >&2
wait $holder
echo "holder: $? $(cat "$tmp_of_test/held")"
EOF
try redlock dev --sentinel --no-init -- bash "$tmp/group"
expect 'a Sentinel group: it runs' 0
has() { if grep -Fqx -- "$2" <<<"$out"; then ok "$1"; else not_ok "$1" "$(seen; cat "$tmp/said" "$tmp/lost")"; fi; }
has 'no lock before init' 'before init: 69'
has 'init --wait refuses a Sentinel group' 'init --wait: 69 1'
has 'init takes it' 'init: 0'
has 'a lock before the failover' 'before: 0'
has 'none while the master is stopped' 'during: 69'
has 'none while the new one is in quarantine' 'quarantine: 69'
has 'one after it, by a command of its own' 'after: 0'
has '   and not earlier' 'not before the quarantine has ended'
has 'a hold with a TTL that allows for it goes on' 'holder: 0 ended'
sed 's/^/# /' <<<"$err"
done_testing
