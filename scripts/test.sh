#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# test.sh PRESET [JOBS]: all tests of a preset.
#
# Many tests judge by the clock, and a machine that was busy elsewhere for half a second spoils
# such a verdict. A test that failed beside others gets another chance, alone. What must not happen
# on any machine gets none: two holders at once and the like (CHECK_NEVER), a report of a sanitizer,
# a crash.
set -uo pipefail
cd "$(dirname "$0")/.."

preset=${1:?usage: test.sh PRESET [JOBS]}
jobs=${2:-5}
log=build/$preset/Testing/Temporary/LastTest.log
beyond_doubt='^# .*: unsafe: |^==[0-9]+==ERROR: |WARNING: ThreadSanitizer|: runtime error: |^# ended by (Seg|Abo|Bus|Ill|Flo)'

ctest --preset "$preset" --parallel "$jobs" && exit 0
failed=$(sed 's/^[0-9]*://' "build/$preset/Testing/Temporary/LastTestsFailed.log" 2>/dev/null)
[ -n "$failed" ] || exit 1
if grep -E "$beyond_doubt" "$log"; then
    echo "test.sh: this stands, whatever the machine was doing" >&2
    exit 1
fi
if [ "$(wc -l <<<"$failed")" -gt 10 ]; then
    echo "test.sh: too many failures to blame the machine" >&2
    exit 1
fi
echo "test.sh: once more, alone: $(tr '\n' ' ' <<<"$failed")"
exec ctest --preset "$preset" --rerun-failed
