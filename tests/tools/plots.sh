#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The pictures and tables of docs/performance.md are drawn from what was measured, from all of it,
# and what was not measured is left alone.
#
# usage: plots.sh BENCH-DIRECTORY
set -eu
bench=$1
command -v python3 >/dev/null || { echo "# skipped: python3 is not installed"; exit 77; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

fail() {
    echo "plots: $1" >&2
    exit 1
}

machine='{"cores": 2, "kernel": "Linux 6.1.0", "load_before": 0.1, "load_after": 1,
    "steal_percent": 0, "server": "redis 7.0.15", "nodes": 5, "rounds": 5, "seconds": 1,
    "floor_spread_percent": 3}'
cat >"$tmp/bench.json" <<JSON
{"machine": $machine,
 "rows": [{"id": "a", "what": "a row <with> words", "ours": 1234, "unit": "us/cycle",
           "baseline": null, "baseline_value": null, "ratio": 0.5, "target": ">= 0.9",
           "met": false, "spread_percent": null}],
 "callers": [{"api": "floor", "callers": 1, "per_s": 100, "p50_us": 9, "p99_us": 1500,
              "client_us": 1, "servers_us": 2},
             {"api": "floor", "callers": 64, "per_s": 900, "p50_us": 9, "p99_us": 10,
              "client_us": 1, "servers_us": 2},
             {"api": "blocking", "callers": 1, "per_s": 90, "p50_us": 9, "p99_us": 10,
              "client_us": 1, "servers_us": 2}],
 "hung": {"healthy": [{"us": 10, "count": 1}, {"us": 20, "count": 8}, {"us": 40, "count": 1}],
          "one_hung": [{"us": 30, "count": 5}]},
 "held": []}
JSON
cat >"$tmp/peers.json" <<JSON
{"machine": $machine, "missing": [], "rows": [{"id": "b", "what": "peers, <b>", "ratio": null,
  "target": ">= 3", "met": true}],
 "peers": [{"client": "ours & theirs", "kind": "ours", "workload": "one_name", "callers": 16,
            "per_s": 1600, "p50_us": 7, "p99_us": 8, "share": 0.5, "slowest_per_s": 77,
            "client_us": 1, "servers_us": 2, "calls": null, "spread_percent": 1, "note": ""},
           {"client": "stuck", "kind": "peer", "workload": "hung", "callers": 1, "per_s": null,
            "p50_us": null, "p99_us": null, "share": null, "slowest_per_s": null,
            "client_us": null, "servers_us": null, "calls": null, "spread_percent": 0,
            "note": "acquire never returned within 5 s"}]}
JSON
cat >"$tmp/performance.md" <<'PAGE'
before
<!-- table: bench -->
old
<!-- end -->
between
<!-- table: held -->
kept
<!-- end -->
<!-- table: peers-one-name -->
<!-- end -->
<!-- table: peers-hung -->
<!-- end -->
<!-- table: peers-targets -->
<!-- end -->
after
PAGE
plot() {
    python3 -B "$bench/plot.py" --bench "$tmp/bench.json" --peers "$tmp/peers.json" --bindings "$tmp/none.json" --docs "$tmp"
}

plot >"$tmp/said" || fail "plot.py failed"
for picture in callers hung peers; do
    grep -q "^wrote .*performance-$picture.svg" "$tmp/said" || fail "no picture of $picture"
    python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' \
        "$tmp/performance-$picture.svg" || fail "performance-$picture.svg is no XML"
done
grep -q '^skipped .*performance-held.svg' "$tmp/said" || fail "drew what was not measured"
[ ! -e "$tmp/performance-held.svg" ] || fail "drew what was not measured"
grep -q 'median 30 µs' "$tmp/performance-hung.svg" || fail "the median of the histogram is wrong"
grep -q '1,600 / 1,232' "$tmp/performance-peers.svg" || fail "16 times the slowest is wrong"

page="$tmp/performance.md"
! grep -q '^old$' "$page" || fail "the old table is still there"
grep -q '^kept$' "$page" || fail "a table went that was not measured"
grep -q '^| a row <with> words | 1,234 | µs/cycle |.*| 0.50 | >= 0.9 | \*\*no\*\* |' "$page" ||
    fail "the row is wrong"
grep -q '^| ours & theirs | 1,600 | 77.0 | 0.50 |' "$page" || fail "the peer is wrong"
grep -q '^| stuck |.*never returned' "$page" || fail "a client that never returned is missing"
for word in before between after; do
    grep -q "^$word\$" "$page" || fail "text besides the tables went"
done

# Twice is as once, and without results nothing changes.
cp "$page" "$tmp/once"
plot >/dev/null
cmp -s "$page" "$tmp/once" || fail "the second time differs"
rm "$tmp/bench.json" "$tmp/peers.json"
plot >/dev/null
cmp -s "$page" "$tmp/once" || fail "tables changed without results"

# A marker that is not filled is a mistake on the page.
printf '<!-- table: none-such -->\n<!-- end -->\n' >>"$page"
! plot >/dev/null 2>&1 || fail "an unknown table was accepted"
