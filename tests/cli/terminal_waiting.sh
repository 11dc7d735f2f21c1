#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Waiting on a terminal: the place in line, what it is held by, and a line that is erased.
. "$(dirname "$0")/lib.bash" "$@"
needs terminal stty
inside_dev 3 "$@"

value=$("$redlock" lock -t 40s w)
for i in 1 2; do
    "$redlock" run w -- true &
    eventually queued w $i
done
terminal "stty cols 80; $redlock run w -- true"
that 'on a terminal: the place in line' shows 'waiting for w: 3rd in line, held by'
that '   and how long it may take' shows 'held by [^,]*,.* up to [0-9.]* s more'
printf '\003' >&"$keys"
finish
is '   Ctrl-C: 130' "$status" 130
that '   gone from the line' queued w 2
line=$(tr '\r' '\n' <"$tmp/screen" | grep -a waiting | tail -n 1)
that '   a line that fits' [ "$(sed $'s/\033\\[K//; s/ *$//' <<<"$line" | LC_ALL=C.UTF-8 wc -m)" -le 81 ]
last=$(grep -a -v '^Script' "$tmp/screen" | tr '\r' '\n' | grep -a -v '^$' | tail -n 1)
unlike '   and it is erased' "$last" waiting
"$redlock" unlock w "$value"
wait

"$redlock" lock -t 40s -s w >/dev/null
second=$("$redlock" lock -t 40s -s w)
terminal "$redlock run -w 1 w -- true"
that 'behind readers' shows 'held by 2 readers'
finish
"$redlock" unlock w "$second"
free_all w
"$redlock" lock -t 40s --slots 1 w >/dev/null
terminal "$redlock run -w 1 --slots 1 w -- true"
that 'behind slots' shows '1 of 1 slots taken'
finish
free_all w
"$redlock" lock -t 40s second >/dev/null
terminal "$redlock run -w 1 first second third -- true"
that 'for several names' shows 'waiting for first, second and 1 more: 1st in line, held by'
finish
done_testing
