#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The benchmark runs on this tree: the floor still speaks the library's commands, every row is
# there, and a server that it stops goes on, even when the benchmark is killed meanwhile. Nothing
# here judges a figure.
. "$(dirname "$0")/../cli/lib.bash" "$1"
bench=$(readlink -f "${2:?usage: $0 PATH-OF-REDLOCK PATH-OF-BENCH}")
needs jq iconv
inside_dev 5 "$@"
hurried


try "$bench" -r 1 -s 0.02 --only cycles,crowd,run,held --locks 50,100 \
    --json "$tmp/bench.json" --ttl 1s # short: no figure is judged
expect 'a very short run' 0
that 'its file is JSON' json_lines <"$tmp/bench.json"
ids=$(jq -r '.rows[].id' "$tmp/bench.json")
for id in async_64 async_cpu_64 async_total_cpu_64 async_64_classic async_256 async_cpu_256 blocking_1 \
    blocking_thread_1 threads_64 fenced_strict_64 crowd_16 crowd_share_16 \
    crowd_fair_16 crowd_fair_share_16 crowd_async_16 crowd_async_share_16 \
    crowd_async_fair_16 crowd_async_fair_share_16 run held_bytes held_late held_lost held_cpu; do
    like "the file has the row $id" "$ids" "^$id\$"
done
like 'the file has what the machine did' "$(jq '.machine.load_after' "$tmp/bench.json")" '^[0-9.]*$'
is 'the floor was measured with every number of callers' \
    "$(jq -r '.callers[] | select(.api == "floor") | .callers' "$tmp/bench.json" | tr '\n' ' ')" '1 4 16 64 256 '
is 'two sizes of held locks were measured' "$(jq '.held | length' "$tmp/bench.json")" 2

# What a server gets from the floor it must get from the library too: apart from the classic release,
# no command about a lock comes from one connection only (the library has several).
exec {monitor}<>"/dev/tcp/127.0.0.1/$(port 1)"
printf 'MONITOR\r\n' >&"$monitor"
cat <&"$monitor" >"$tmp/commands" &
listener=$!
try "$bench" -r 1 -s 0.02 --only cycles
expect 'a run that is listened to' 0
kill "$listener"
wait "$listener" 2>/dev/null
exec {monitor}>&-
forms() {
    tr -d '\r' <"$tmp/commands" | grep -a '127[.]0[.]0[.]1' | grep -a '"redlock:bench-' | grep -av 'EVAL"\|fence\|bench-probe' |
        sed -E 's/[0-9a-f]{40}/VALUE/g; s/bench-[0-9a-f]{8}-[0-9a-f]{4}-[0-9]{6}/NAME/g' |
        sed -E 's/^[^[]*\[[0-9]+ [^]]*:([0-9]+)\]/\1/' | sort -u | cut -d' ' -f2- | sort | uniq -c
}
is 'a plain lock is set in one way' "$(forms | grep -c '"SET"')" 1
is 'only the classic floor releases in its own way' \
    "$(forms | awk '$1 == 1' | sed 's/^ *//')" '1 "EVALSHA" "VALUE" "1" "redlock:NAME" "VALUE"'

try "$bench" --only nothing
expect 'an unknown part' 64 'no such part: nothing'
REDLOCK_NODES='' try "$bench"
expect 'no nodes' 64 'REDLOCK_NODES names no nodes'
BENCH_NATIVE_SERVER=/nonexistent try "$bench" -r 1 -s 0.02 --only native
expect 'a server that is none' 0
like '   is said' "$out" 'BENCH_NATIVE_SERVER does not run'

# Is any of the servers stopped? (state T)
stopped() {
    local pid
    for pid in $(redlock dev list | awk 'NR > 1 { print $4 }'); do
        [ "$(awk '/^State/ { print $2 }' "/proc/$pid/status")" != T ] || return 0
    done
    return 1
}

running() {
    ! stopped
}

"$bench" -r 20 -s 0.02 --only hung >/dev/null 2>&1 &
pid=$!
that 'a server hangs' eventually stopped
kill -9 "$pid"
wait "$pid" 2>/dev/null
that '   and goes on when the benchmark is killed' eventually running

exit $failed
