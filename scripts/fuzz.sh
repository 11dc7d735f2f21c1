#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# fuzz.sh [TARGET...]              fuzzes each target for FUZZ_SECONDS (60), one after another
# fuzz.sh --minimise [TARGET...]   replaces the kept inputs by a smallest set that covers as much
#
# Needs the build of the preset `fuzz`. New inputs grow below build/fuzz/corpus and are kept
# from run to run; an input that fails is left in build/fuzz/failures, and belongs in
# fuzz/corpus/TARGET with the fix, where `make test` replays it.
set -eu
cd "$(dirname "$0")/.."

build=build/fuzz
seconds=${FUZZ_SECONDS:-60}
kept_files=60
kept_bytes=200000

minimise=
if [ "${1:-}" = --minimise ]; then
    minimise=1
    shift
fi
[ $# -gt 0 ] || set -- resp url session options config args

export ASAN_OPTIONS="detect_leaks=1:allocator_may_return_null=1:${ASAN_OPTIONS:-}"
export UBSAN_OPTIONS="print_stacktrace=1:${UBSAN_OPTIONS:-}"

# What was kept by hand stays; of the rest, as many as the bounds allow, smallest first.
minimise() {
    merged=$(mktemp -d)
    # The first directory is what is merged into: the named inputs come first and stay.
    find "fuzz/corpus/$1" -type f ! -name 'found-*' -exec cp -t "$merged" {} +
    "$build/fuzz/fuzz_$1" -merge=1 -print_final_stats=0 "$merged" "fuzz/corpus/$1" \
        "$build/corpus/$1" 2>"$build/merge-$1.log" || {
        cat "$build/merge-$1.log" >&2
        exit 1
    }
    files=$(find "fuzz/corpus/$1" -type f ! -name 'found-*' | wc -l)
    bytes=$(find "fuzz/corpus/$1" -type f ! -name 'found-*' -printf '%s\n' |
        awk '{ sum += $1 } END { print sum + 0 }')
    rm -f "fuzz/corpus/$1"/found-*
    number=0
    for file in $(find "$merged" -type f -printf '%s %p\n' | sort -n | cut -d' ' -f2-); do
        [ -e "fuzz/corpus/$1/${file##*/}" ] && continue
        size=$(wc -c <"$file")
        [ "$files" -lt $kept_files ] && [ $((bytes + size)) -le $kept_bytes ] || break
        number=$((number + 1))
        files=$((files + 1))
        bytes=$((bytes + size))
        cp "$file" "fuzz/corpus/$1/$(printf 'found-%02d' $number)"
    done
    rm -rf "$merged"
    echo "$1: $files inputs, $bytes bytes"
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
    if "$build/fuzz/fuzz_$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
        -max_len=4096 -artifact_prefix="$build/failures/$target-" -print_final_stats=1 \
        "$build/corpus/$target" "fuzz/corpus/$target" >"$log" 2>&1; then
        sed -n 's/^stat::number_of_executed_units: */  runs: /p' "$log"
        sed -n 's/.*DONE *cov: \([0-9]*\).*/  edges covered: \1/p' "$log"
    else
        tail -n 40 "$log"
        echo "fuzz: $target FAILED; the input is in $build/failures" >&2
        status=1
    fi
done
exit $status
