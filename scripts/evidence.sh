#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# evidence.sh [CHECK...]: runs the long checks of docs/testing.md, each once, on the last commit, in a clone of it. What has
# passed on this commit is not run again, so it can be stopped and called again; what is named is run in any case.
# A row for each in build/evidence/COMMIT/results.tsv, its output beside it. --list: the checks. --table: the rows, in
# Markdown.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
commit=$(git rev-parse --short=8 HEAD)
into=$PWD/build/evidence/$commit
results=$into/results.tsv
tree=$into/tree

# NAME, how much of it, command; in the order in which they are run: what is short first.
checks() {
    cat <<'END'
test|five times in a row|for i in 1 2 3 4 5; do make test || exit 1; done
test-bare|twice, in a bare chroot|bare && bare
test-busy|beside a load of 20|busy make test
sim|20,000 fresh seeds|make sim SEEDS=20000 FROM=$(date +%s)000
sim-planted|every rule|make sim-planted
proof|every verdict|make proof
coverage||make coverage
check-service||make check-service
test-clients||make test-clients
test-node||make test-node
test-page||make test-page
fencing-test|10,000 updates each|make fencing-test
lead-test|1,000 failovers|make lead-test
chaos|600 s|make chaos CHAOS_SECONDS=600
chaos-service|600 s|make chaos-service CHAOS_SECONDS=600
chaos-sentinel|600 s|make chaos-sentinel CHAOS_SECONDS=600
chaos-cluster|600 s|make chaos-cluster CHAOS_SECONDS=600
chaos-broken|three set-ups|make chaos-broken
chaos-sentinel-broken|seven rules, 60 s each|make chaos-sentinel-broken
chaos-cluster-broken|four rules, 60 s each|make chaos-cluster-broken
stress||make stress
fuzz|300 s for each target|FUZZ_SECONDS=300 make fuzz
soak|3,600 s|make soak SOAK_SECONDS=3600
soak-planted|two leaks, 60 s each|make soak-planted
matrix|every server and mixed quorum|make matrix
bench||make bench-check
bench-service||make bench-service
bench-peers||make bench-peers
bench-bindings||make bench-bindings
bench-go|1,000 failovers|make bench-go
bench-disconnect|1,000 clients|make bench-disconnect
capacity||make capacity
kubernetes-check||make kubernetes-check
dist-check||make dist-check
deb-check||make deb-check
deb-test||make deb-test
static-check||make static-check static-check-arm64
image-test||make image-test
compose-test||make compose-test
prebuilt-test||make prebuilt-test
END
}

# make test on a machine that has gcc, make and git: a new Debian each time.
bare() {
    local root=$into/bare status
    scripts/deps.sh bare-debian && rm -rf "$root" && scripts/bare-debian.sh "$root" gcc make git || return 1
    git clone --quiet . "$root/redlock" && cp /etc/resolv.conf "$root/etc/" || return 1
    cp -r /etc/apt/. "$root/etc/apt/"
    unshare --mount --pid --fork sh -c '
        mount --bind "$1" "$1" && mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" &&
            exec chroot "$1" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin make -C /redlock test' sh "$root"
    status=$?
    rm -rf --one-file-system "$root"
    return $status
}

# busy COMMAND...: beside twenty processes that compute.
busy() {
    local pids=() status
    for _ in {1..20}; do
        (while :; do :; done) &
        pids+=($!)
    done
    "$@"
    status=$?
    kill "${pids[@]}"
    return $status
}

case ${1:-} in
--list)
    checks | cut -d'|' -f1
    exit
    ;;
--table)
    [ -e "$results" ] || results=/dev/null
    echo '| check | how much | result | minutes | commit |'
    echo '|---|---|---|---|---|'
    checks | while IFS='|' read -r name bound _; do
        awk -F'\t' -v name="$name" -v bound="$bound" -v commit="$commit" '$1 == name { result = $2; seconds = $3 }
            END { printf "| `%s` | %s | %s | %s | %s |\n", name, bound, result ? result : "not run",
                  result ? sprintf("%.0f", seconds / 60) : "", result ? commit : "" }' "$results"
    done
    exit
    ;;
-*)
    echo "evidence: there is no option $1: --list, --table, or names of checks" >&2
    exit 64
    ;;
esac
for name; do
    checks | cut -d'|' -f1 | grep -qx -e "$name" || { echo "evidence: there is no check $name: see --list" >&2; exit 64; }
done
[ -z "$(git status --porcelain)" ] || { echo "evidence: commit the changes first: it is for a commit" >&2; exit 1; }
mkdir -p "$into"
touch "$results"
[ -d "$tree" ] || git clone --quiet . "$tree"
cd "$tree" || exit 1

failed=0
while IFS='|' read -r name bound command <&3; do
    if [ $# -gt 0 ]; then
        [[ " $* " == *" $name "* ]] || continue
    elif grep -q "^$name	passed" "$results"; then
        continue
    fi
    printf '%-24s %s\n' "$name" "$bound"
    started=$SECONDS
    if (eval "$command") >"$into/$name.log" 2>&1; then
        result=passed
    else
        result=failed
        failed=1
        tail -n 20 "$into/$name.log"
    fi
    printf '%s\t%s\t%s\n' "$name" "$result" $((SECONDS - started)) >>"$results"
done 3< <(checks)
exit $failed
