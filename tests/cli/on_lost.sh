#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `redlock run` when three of five nodes hang: what is printed, and what becomes of the command. When it is
# stopped and dead: alone/on_lost.sh.
. "$(dirname "$0")/lib.bash" "$@"
needs "${CC:-cc}" ps pgrep setsid
inside_dev 5 "$@"
# Longer than a busy machine takes to answer, and soon enough for several renewals in a TTL.
echo 'node-timeout = 500ms' >"$tmp/patient"
export REDLOCK_CONFIG=$tmp/patient
"${CC:-cc}" -D_GNU_SOURCE -o "$tmp/stamp" "$here/stamp.c" || exit 1

hang() {
    for k in 2 3 5; do "$redlock" dev "$1" $k >/dev/null || not_ok "redlock dev $1 $k"; done
}

# A shortage that ends in time.
"$redlock" run -t 9s heals -- bash -c "echo up >'$tmp/up'; until [ -e '$tmp/enough' ]; do sleep 0.05; done; exit 7" \
    2>"$tmp/errors" &
wrapper=$!
eventually [ -s "$tmp/up" ]
hang hang
that 'the first failed renewal is reported' eventually grep -qs 'heals could not be renewed' "$tmp/errors"
hang resume
that '   and that it worked again' eventually grep -qs 'heals was renewed again' "$tmp/errors"
touch "$tmp/enough"
wait $wrapper
is '   then the command ends as it likes' $? 7
line=$(grep 'could not be renewed' "$tmp/errors")
for k in 2 3 5; do like "the line names node $k" "$line" "127.0.0.1:$(port $k) (timed out|unreachable)"; done
for k in 1 4; do unlike "and does not blame node $k" "$line" "127.0.0.1:$(port $k) (timed out|unreachable)"; done
is 'two lines in all' "$(wc -l <"$tmp/errors")" 2

# A reader that does not read must not keep the command from being stopped in time.
mkfifo "$tmp/full"
exec {full}<>"$tmp/full"
dd if=/dev/zero of="$tmp/full" bs=4096 oflag=nonblock 2>/dev/null
"$redlock" run -t 9s full -- bash -c "exec '$tmp/stamp' '$tmp/full.log' 30000 obey" \
    2>"$tmp/full" &
wrapper=$!
eventually grep -qs daemon "$tmp/full.log"
hang hang
that 'standard error is full: the command is stopped all the same' eventually grep -q TERM "$tmp/full.log"
still() { [ "$(wc -l <"$tmp/full.log")" = "$lines" ] || { lines=$(wc -l <"$tmp/full.log"); return 1; }; }
lines=0
eventually still
kill -KILL $wrapper
wait $wrapper 2>/dev/null
exec {full}>&-
hang resume

# What a command leaves behind when nothing is wrong is left alone.
"$redlock" run a -- sh -c 'setsid sleep 1000 >/dev/null & echo $!' >"$tmp/left"
that 'a process left behind by a command that ended well lives' kill -0 "$(cat "$tmp/left")"
kill "$(cat "$tmp/left")"
"$redlock" run a -- sh -c 'sleep 1000 >/dev/null & echo $!' >"$tmp/left"
that '   in the group of the command, too' kill -0 "$(cat "$tmp/left")"
kill "$(cat "$tmp/left")"
# Orphans do not pile up as zombies of the wrapper.
"$redlock" run a -- bash -c 'for i in 1 2 3 4 5; do (sleep 0.01 &) ; done
    for i in {1..200}; do ps -o stat=,comm= --ppid $PPID >"$0"; grep -Eq "^Z|sleep" "$0" || break; sleep 0.1; done' "$tmp/stats"
is 'orphans that ended are gone' "$(grep -Ec '^Z|sleep' "$tmp/stats")" 0

# Killed outright, at any moment.
for i in 0 1 2 3 4 5 6 7 8 9 10 12 14 16 18 20; do
    "$redlock" run -t 2s "race$i" -- sh -c "sleep 98765.$$; true" 2>/dev/null &
    wrapper=$!
    read -r -t "0.0$(printf %02d $i)" _ <>"$tmp/full"
    kill -KILL $wrapper
    wait $wrapper 2>/dev/null
done
none() { ! pgrep -f "^sleep 98765.$$" >/dev/null; }
that 'kill -9 of the wrapper leaves nothing of the command, whenever it comes' eventually none
done_testing
