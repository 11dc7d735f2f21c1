#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# matrix.sh [NAME...]: the release tests that talk to servers, on every server of scripts/servers.sh or on the named
# ones, and the table of docs/servers.md when there are results of all. A server whose results are there
# and younger than the programs is left out, unless it is named: a run that was interrupted goes on.
#
# MATRIX_TESTS is a regular expression for fewer tests, MATRIX_JOBS how many run at a time (5).
set -uo pipefail
cd "$(dirname "$0")/.."

build=build/release
results=build/matrix
mkdir -p "$results"
named=$*
status=0

run_tests() { # NAME OUTPUT CTEST-OPTION...
    local name=$1 output=$2
    shift 2
    env -u REDLOCK_SERVER PATH="$PWD/build/servers/$name/bin:$PATH" ctest --test-dir "$build" --quiet \
        --label-regex servers --label-exclude 'perf|slow' \
        --exclude-regex "$(python3 -B scripts/matrix.py --left-out "$name" "$build")" --output-junit "$PWD/$output" "$@"
}

test_server() { # NAME
    local name=$1
    rm -f "$results/$name".*
    git rev-parse --short HEAD >"$results/$name.commit"
    env PATH="$PWD/build/servers/$name/bin:$PATH" redis-server --version >"$results/$name.version"
    if ! run_tests "$name" "$results/$name.part" --parallel "${MATRIX_JOBS:-5}" ${MATRIX_TESTS:+--tests-regex "$MATRIX_TESTS"}; then
        # What fails beside others is tried once more, alone: a fault stays one.
        run_tests "$name" "$results/$name.again" --tests-regex \
            "$(python3 -B scripts/matrix.py --failed "$results/$name.part")" || status=1
    fi
    mv "$results/$name.part" "$results/$name.xml"
    python3 -B scripts/matrix.py --one "$results" "$name"
}

for name in ${named:-$(scripts/servers.sh --list)}; do
    if [ -z "$named" ] && [ "$results/$name.xml" -nt "$build/redlock" ]; then
        echo "$name: done before"
        continue
    fi
    scripts/servers.sh "$name" || exit 1
    test_server "$name"
done
missing=
for name in $(scripts/servers.sh --list); do [ -e "$results/$name.xml" ] || missing+=" $name"; done
if [ -z "$missing" ]; then
    python3 -B scripts/matrix.py "$results" docs/servers.md
else
    echo "docs/servers.md stays as it is, until there are results of$missing"
fi
exit $status
