#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# examples/scheduler.c: one of two processes leads, the other one after it was killed or has resigned.
. "$(dirname "$0")/../lib.bash" "$@"
inside_dev 3 "$@"
scheduler=$2

jobs() { [ "$(wc -l <"$tmp/$1")" -ge "$2" ]; }
term() { sed -n "${2}s/term \([0-9]*\): a job/\1/p" "$tmp/$1"; }

: >"$tmp/one" >"$tmp/two"
"$scheduler" >"$tmp/one" &
one=$!
# example.ten_lines runs it.
program=$(sed -n '/^```c$/,/^```$/p' "$(dirname "$0")/../../../bindings/README.md" | sed '1d;$d' | grep -c .)
that 'the program of bindings/README.md has at most ten lines' [ "$program" -le 10 ]
that 'a candidate that is alone leads' eventually jobs one 2
"$scheduler" 2 >"$tmp/two" &
two=$!
that 'the other one waits' eventually queued example:scheduler 1
is '   and does no job' "$(wc -l <"$tmp/two")" 0
kill -9 $one
wait $one 2>/dev/null
that 'when the leader was killed, the other one leads' eventually jobs two 2
that '   in a later term' test "$(term two 1)" -gt "$(term one 1)"
wait $two
is 'a leader that resigns ends' $? 0
that '   and the lock is free' free example:scheduler
done_testing
