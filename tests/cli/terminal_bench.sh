#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `redlock bench` on a terminal: progress that fits and is erased.
. "$(dirname "$0")/lib.bash" "$@"
needs terminal stty
inside_dev 3 "$@"
export LC_ALL=C

terminal "stty rows 24 cols 80; LC_ALL=C $redlock bench --duration 60s"
that 'on a terminal: progress' shows '\[#* *\] .* of 1 min 0 s  [1-9][0-9]* locks/s  0 failed'
printf '\003' >&"$keys"
finish
is '   Ctrl-C: 130' "$status" 130
like '   the line is erased before the results' "$screen" $'\r?\033\\[K[0-9]+ locks in '
unlike '   nothing else drives the terminal' "$(sed $'s/\033\\[K//g; s/\033\\[3[123]m//g; s/\033\\[0m//g' <<<"$screen")" $'\033'
terminal "stty rows 24 cols 120; LC_ALL=C $redlock bench -c 500"
finish
like '   a wide one has wide bars' "$screen" '#{70,79}$'
terminal "stty rows 10 cols 40; LC_ALL=C $redlock bench --duration 60s"
that '   a narrow one has no bar' shows '[1-9][0-9]* locks/s'
printf '\003' >&"$keys"
finish
unlike '   and no wide line of progress' "$screen" '\[#* *\] '
terminal "$redlock bench -q -c 300"
finish
unlike '-q: no progress' "$screen" $'\033\\[K'
done_testing
