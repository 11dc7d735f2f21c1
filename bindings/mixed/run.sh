#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# run.sh WORKER-OF-C NODE PACKAGE-OF-NODE PYTHON FOLDER-OF-PYTHON: one lock for processes of all languages.
#
# A worker takes the lock, reads the number in the last line of a log, lets a millisecond pass, and appends a
# line with the next number and its fencing token, COUNT times. Two holders at once would append the same
# number, or tokens out of order. One more worker of each language is killed in the middle, with -9.
# A language whose interpreter is named '-' is left out, and that is said.
set -u
here=$(dirname "$(readlink -f "$0")")
count=${REDLOCK_TEST_COUNT:-40} processes=2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
log=$tmp/log
: >"$log"
export REDLOCK_NATIVE=$3 PYTHONPATH=$5 PYTHONDONTWRITEBYTECODE=1
printf 'node-timeout = 3s\n' >"$tmp/patient.conf"
export REDLOCK_CONFIG=$tmp/patient.conf

languages=(c)
declare -A worker=([c]="$1" [node]="$2 $here/worker.mjs" [python]="$4 $here/worker.py")
for language in node python; do
    if [ "${worker[$language]%% *}" = - ]; then
        echo "# $language is not built, and left out"
    else
        languages+=("$language")
    fi
done

workers=() victims=()
for language in "${languages[@]}"; do
    for _ in $(seq $processes); do
        ${worker[$language]} "$log" "$count" &
        workers+=($!)
    done
    ${worker[$language]} "$log" 1000000 2>/dev/null &
    victims+=($!)
done
# When every victim has written a line, all of them die at once: holders, waiters and those in between.
until=$((SECONDS + 60))
for victim in "${victims[@]}"; do
    until grep -q " $victim\$" "$log" || [ $SECONDS -ge $until ]; do read -r -t 0.02 <> <(:); done
done
kill -KILL "${victims[@]}"
wait "${victims[@]}" 2>/dev/null

failed=0
for i in "${!workers[@]}"; do
    pid=${workers[i]}
    wait "$pid" || { failed=1; echo "not ok - worker $pid failed"; }
    lines=$(grep -c " $pid\$" "$log")
    [ "$lines" = "$count" ] || { failed=1; echo "not ok - worker $pid wrote $lines lines, not $count"; }
done
if awk '$1 != NR || $2 + 0 <= last + 0 { print "#   line " NR ": " $0; bad = 1 } { last = $2 } END { exit bad }' "$log"; then
    echo "ok - ${languages[*]}: every number once and every token larger than the one before it"
else
    failed=1
    echo "not ok - ${languages[*]}: two holders at once"
fi
awk '{ n[$3]++ } END { for (l in n) print "#   " l ": " n[l] " of " NR }' "$log"
exit $failed
