#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `redlock top` on a terminal: a screen of its own, keys, and a terminal as it was afterwards.
. "$(dirname "$0")/lib.bash" "$@"
needs terminal stty
inside_dev 3 "$@"

# What is typed must not be seen before the mode is set: keys come when the screen is there.
for end in q '\003'; do
    terminal "stty rows 24 cols 80; stty -g >'$tmp/before'; $redlock top; echo \"left=\$?\"; stty -g >'$tmp/after'"
    that "on a terminal ($end)" shows ' vote, '
    printf "$end" >&"$keys"
    finish
    like '   the other screen' "$screen" $'\033\\[\\?1049h'
    like '   is left' "$screen" $'\033\\[\\?25h\033\\[\\?1049l'
    like '   with 0' "$screen" 'left=0'
    is '   the terminal is as it was' "$(cat "$tmp/after")" "$(cat "$tmp/before")"
done
terminal "stty -g >'$tmp/before'; sh -c 'echo \$\$ >\"$tmp/pid\"; exec $redlock top'; echo \"left=\$?\"; stty -g >'$tmp/after'"
shows ' vote, '
kill -TERM "$(cat "$tmp/pid")"
finish
like 'TERM on a terminal: 143' "$screen" 'left=143'
like '   the screen is left' "$screen" $'\033\\[\\?1049l'
is '   and the terminal is as it was' "$(cat "$tmp/after")" "$(cat "$tmp/before")"
for i in 1 2 3 4 5 6 7 8 9; do "$redlock" lock -t 50s "n$i" >/dev/null; done
terminal "stty rows 7 cols 50; $redlock top -c 1"
finish
that 'a small window: no more than it has' [ "$(grep -a -v '^Script' "$tmp/screen" | grep -ac .)" -le 8 ]
done_testing
