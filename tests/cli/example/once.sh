#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# once.sh REDLOCK EXAMPLE: examples/once.h and `run --every` keep one record, and one promise.
. "$(dirname "$0")/../lib.bash" "$@"
inside_dev 3 "$@"
once=$2

for k in 0 1 2 3 4 5; do
    "$once" fleet 3600000 >"$tmp/said.$k" 2>&1 &
done
wait
is 'of six programs one works' "$(cat "$tmp"/said.? | sort | uniq -c | awk '{ print $1, $2, $3 }' | paste -sd,)" \
    '5 another has,1 this machine'
try "$redlock" status --json fleet.every
between 'its record lasts for the period' "$(jq .remaining_ms <<<"$out")" 3000000 3601000
try "$redlock" run --every 1h fleet -- true
expect '`run --every` does not run it again' 75
like '   and says by which program it was run' "$err" 'it has run already, by example once;'
try "$redlock" break --yes fleet.every
try "$once" fleet 3600000
expect 'after a break it works again' 0

try "$redlock" run --every 1h other -- true
try "$once" other 3600000
expect 'what `run --every` has run is not run by the program' 75
try "$redlock" run held -- "$once" held 3600000
expect 'nor while another holds the lock' 75
try "$redlock" status --json held.every
is '   which leaves no record' "$(jq -r .held <<<"$out")" false

# The period is over when it is over: the record of a short one goes by itself, and not before.
start=${EPOCHREALTIME/./}
try "$once" short 2000
expect 'a short period: it works' 0
worked() { "$once" short 2000 >"$tmp/short"; }
that '   and again' eventually worked
between '   when the period is over' $(((${EPOCHREALTIME/./} - start) / 1000)) 2000 60000

for period in 999 86400001; do
    try "$once" wrong "$period"
    expect "a period of $period ms is refused" 1
done
# shellcheck disable=SC2016 # for the shell inside
took=$("$redlock" dev --sentinel -- bash -c 'for k in 2 3; do "$0" dev hang $k >&2; done
    from=$EPOCHREALTIME; "$1" unsure >&2; to=$EPOCHREALTIME
    for k in 2 3; do "$0" dev resume $k >&2; done
    echo $((${to/./} - ${from/./}))' "$redlock" "$once" 2>"$tmp/said")
like 'on a Sentinel group whose replicas hang it works all the same' "$(cat "$tmp/said")" 'this machine works'
that "   after it has waited for one ($took us)" [ "$took" -ge 300000 ]

exit $failed
