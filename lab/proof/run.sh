#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# run.sh [NAME...]: has Spin decide every row of verdicts.txt, or the rows named, and compares
# with what is expected there. Status 1 if a verdict differs, or a search that should be
# exhaustive was not. Counterexamples are written to build/proof/NAME.trail.txt.
#
# PROOF_JOBS (2) searches run at once; each may use 1900 MB and ten minutes.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${PROOF_OUT:-$here/../../build/proof}

# How a search is compiled and started. `all` is depth first, `short` is breadth first (its
# counterexamples are the shortest), `bits` keeps two bits per state and may miss some, `live`
# looks for endless runs in which no client is served, under weak fairness.
flags() {
    case $1 in
    all) echo "-DSAFETY" ;;
    short) echo "-DSAFETY -DBFS" ;;
    bits) echo "-DSAFETY -DBITSTATE" ;;
    live) echo "-DNFAIR=4" ;;
    esac
}
options() {
    case $1 in
    all | short) echo "-m20000" ;;
    bits) echo "-m20000 -w30 -k3" ;;
    live) echo "-m2000000 -a -f" ;;
    esac
}

# One row: NAME MODEL SEARCH EXPECTED SWITCHES. Prints its line; status 1 if the verdict differs.
row() {
    name=$1 model=$2 search=$3 expected=$4
    shift 4
    work=$out/work/$name
    rm -rf "$work"
    mkdir -p "$work"
    cp "$here/$model.pml" "$work/"
    cd "$work"
    trail=$out/$name.trail.txt
    rm -f "$trail"
    if ! spin -a "$@" "$model.pml" >spin.out 2>&1; then
        echo "$name: spin refuses $model.pml: $(tail -n 1 spin.out)"
        return 1
    fi
    # shellcheck disable=SC2046 # lists of flags
    cc -O2 -w -DMEMLIM=1900 $(flags "$search") -o pan pan.c
    # shellcheck disable=SC2046
    timeout 600 ./pan $(options "$search") >pan.out 2>&1 || true

    found=unfinished
    if grep -q 'errors: 0$' pan.out; then
        found=holds
    elif grep -q '^pan:1: assertion violated' pan.out; then
        found=fails
    elif grep -q '^pan:1: acceptance cycle' pan.out; then
        found=starves
    elif grep -q '^pan:1: invalid end state' pan.out; then
        found=deadlocks
    fi
    coverage=exhaustive
    if [ "$found" != holds ]; then
        coverage=counterexample
    elif [ "$search" = bits ]; then
        coverage=partial
    elif grep -Eq 'not completed|too small|limit|out of memory' pan.out; then
        coverage=cut-short
    fi
    verdict=ok
    if [ "$found" != "$expected" ] || [ $coverage = cut-short ]; then
        verdict=WRONG
    fi
    states=$(awk '/states, stored/ { printf "%d", $1; exit }' pan.out)
    depth=$(sed -n 's/.*depth reached \([0-9]*\).*/\1/p' pan.out | head -n 1)
    seconds=$(awk '/elapsed time/ { printf "%.1f", $4 }' pan.out)
    if [ -f "$model.pml.trail" ]; then
        {
            echo "$model.pml $*: $found"
            spin -t -T "$@" "$model.pml" 2>&1 |
                sed -n -e '/^spin: trail ends/q' -e '/^ *$/d' -e 's/^  *//' -e p
        } >"$trail"
    fi
    rm -f pan pan.? pan_* # the trail and what pan printed stay
    printf '%-21s %-8s %-8s %10s %6s %6s  %-14s %-5s  %s\n' "$name" "$expected" "$found" \
        "${states:--}" "${depth:--}" "${seconds:--}" "$coverage" "$verdict" "$model.pml $*"
    [ $verdict = ok ]
}

if [ "${1:-}" = --row ]; then
    shift
    # shellcheck disable=SC2086 # one row of the table, its words
    row $1
    exit
fi

mkdir -p "$out"
rows=$out/rows
grep -Ev '^ *(#|$)' "$here/verdicts.txt" >"$rows"
if [ $# -gt 0 ]; then
    for name; do
        grep "^$name " "$rows" || {
            echo "run.sh: verdicts.txt has no row $name" >&2
            exit 64
        }
    done >"$rows.wanted"
    mv "$rows.wanted" "$rows"
fi

printf '%-21s %-8s %-8s %10s %6s %6s  %-14s %-5s  %s\n' search expected found states depth \
    sec. coverage '' model
status=0
xargs -d '\n' -n 1 -P "${PROOF_JOBS:-2}" "$0" --row <"$rows" || status=1
if [ $status = 0 ]; then
    echo "proof: $(wc -l <"$rows") searches, every verdict as expected; traces in build/proof"
else
    echo "proof: at least one verdict is not that of verdicts.txt" >&2
fi
exit $status
