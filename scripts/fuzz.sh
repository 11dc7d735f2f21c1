#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# fuzz.sh [TARGET...]              fuzzes each target for FUZZ_SECONDS (60), one after another
# fuzz.sh --minimise [TARGET...]   replaces the kept inputs by a smallest set that covers as much
#
# Needs the build of the preset `fuzz`. New inputs grow below build/fuzz/corpus and are kept
# from run to run; an input that fails is left in build/fuzz/failures, and belongs in
# lab/fuzz/corpus/TARGET with the fix, where `make test` replays it.
set -eu
cd "$(dirname "$0")/.."

build=build/fuzz
seconds=${FUZZ_SECONDS:-60}
kept_files=60
kept_bytes=200000
kept_largest=4096

minimise=
if [ "${1:-}" = --minimise ]; then
    minimise=1
    shift
fi
[ $# -gt 0 ] || set -- resp url value json cluster session options config args http

export ASAN_OPTIONS="detect_leaks=1:allocator_may_return_null=1:${ASAN_OPTIONS:-}"
export UBSAN_OPTIONS="print_stacktrace=1:${UBSAN_OPTIONS:-}"

# Reads libFuzzer's record of which input has which features and names those to keep: the ones
# with a name of their own are there already; then, again and again, the one that adds most.
choose() {
    awk -v files="$kept_files" -v bytes="$kept_bytes" -v largest="$kept_largest" '
        NR == 1 { count = $1; next }
        NR == 2 { next }
        NR <= count + 2 { path[NR - 3] = $0; next }
        $1 == "STARTED" { size[$2] = $3 }
        $1 == "FT" { features[$2] = $0 }
        function take(i, list, n, k) {
            n = split(features[i], list, " ")
            for (k = 3; k <= n; k++) have[list[k]] = 1
            files--
            bytes -= size[i]
            taken[i] = 1
        }
        END {
            for (i = 0; i < count; i++)
                if (path[i] ~ /^lab\/fuzz\/corpus\// && path[i] !~ /\/found-[^\/]*$/) take(i)
            while (files > 0) {
                best = -1
                most = 0
                for (i = 0; i < count; i++) {
                    if (taken[i] || size[i] > largest || size[i] > bytes) continue
                    new = 0
                    n = split(features[i], list, " ")
                    if (n - 2 <= most) continue
                    for (k = 3; k <= n; k++) new += !(list[k] in have)
                    if (new > most) { most = new; best = i }
                }
                if (best < 0) break
                take(best)
                print path[best]
            }
        }' "$1"
}

minimise() {
    record=$build/merge-$1
    scratch=$(mktemp -d)
    rm -f "$record"
    "$build/lab/fuzz/fuzz_$1" -set_cover_merge=1 -merge_control_file="$record" "$scratch" \
        "lab/fuzz/corpus/$1" "$build/corpus/$1" >"$record.log" 2>&1 || {
        cat "$record.log" >&2
        exit 1
    }
    rm -rf "$scratch"
    mkdir "$record.kept"
    number=0
    for file in $(choose "$record"); do
        number=$((number + 1))
        cp "$file" "$record.kept/$(printf 'found-%02d' $number)"
    done
    rm -f "lab/fuzz/corpus/$1"/found-*
    find "$record.kept" -type f -exec mv -t "lab/fuzz/corpus/$1" {} +
    rmdir "$record.kept"
    echo "$1: $(find "lab/fuzz/corpus/$1" -type f | wc -l) inputs," \
        "$(find "lab/fuzz/corpus/$1" -type f -printf '%s\n' | awk '{ n += $1 } END { print n }') bytes"
}

status=0
for target in "$@"; do
    mkdir -p "$build/corpus/$target" "$build/failures"
    if [ -n "$minimise" ]; then
        minimise "$target"
        continue
    fi
    log=$build/$target.log
    echo "fuzz: $target for $seconds s"
    if "$build/lab/fuzz/fuzz_$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
        -max_len=4096 -artifact_prefix="$build/failures/$target-" -print_final_stats=1 \
        "$build/corpus/$target" "lab/fuzz/corpus/$target" >"$log" 2>&1; then
        sed -n 's/^stat::number_of_executed_units: */  runs: /p' "$log"
        sed -n 's/.*DONE *cov: \([0-9]*\).*/  edges covered: \1/p' "$log"
    else
        tail -n 40 "$log"
        echo "fuzz: $target FAILED; the input is in $build/failures" >&2
        status=1
    fi
done
exit $status
