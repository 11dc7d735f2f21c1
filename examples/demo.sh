#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Why a lock, in half a minute: redlock dev -c 5 -- demo.sh (or `make demo`).
#
# Eight workers add to a number in a file, each by reading, thinking and writing. First under
# one lock, while one of the five servers is killed and started again; then without it. Status 0
# only if the locked count is exact.
set -u -o pipefail

readonly workers=8 each=40 victim=3
readonly total=$((workers * each)) limit_s=90

# One addition. A writer that stopped for too long is ended by `redlock run`, before its lock is.
if [ "${1-}" = add ]; then
    echo 1 >>"$DEMO_DIR/inside"
    read -r number <"$DEMO_DIR/count"
    sleep 0.02 # room for others to interfere
    # Renamed into place: a reader without the lock finds an old number, never half of one.
    echo $((number + 1)) >"$DEMO_DIR/count.$$"
    mv "$DEMO_DIR/count.$$" "$DEMO_DIR/count"
    echo "$2" >>"$DEMO_DIR/added"
    echo -1 >>"$DEMO_DIR/inside"
    exit 0
fi

[ $# -eq 0 ] || { sed -n '3,7s/^# \{0,1\}//p' "$0"; exit 64; }
[ -n "${REDLOCK_DEV-}" ] || { echo 'demo: run it inside a local quorum: redlock dev -c 5 -- demo.sh' >&2; exit 64; }
DEMO_DIR=$(mktemp -d) || exit 1
export DEMO_DIR
pids=()
clean_up() {
    [ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null
    wait
    rm -rf "$DEMO_DIR"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

live=
[ -t 1 ] && [ "${TERM-dumb}" != dumb ] && live=yes
bold='' red='' green='' plain=''
[ -n "$live" ] && [ -z "${NO_COLOR-}" ] &&
    bold=$'\e[1m' red=$'\e[31m' green=$'\e[32m' plain=$'\e[0m'

added() { wc -l <"$DEMO_DIR/added"; }
say() { printf '%s%4d s  %s\n' "${live:+$'\r\e[K'}" "$SECONDS" "$*"; }

# A line that is drawn again in place, or one a second.
show() {
    local done_ width=44
    done_=$(added)
    if [ -n "$live" ]; then
        local filled=$((done_ * width / total)) bar
        printf -v bar '%*s' "$filled" ''
        printf '\r\e[K        [%-*s] %d of %d added, count %d' "$width" "${bar// /#}" "$done_" "$total" \
            "$(<"$DEMO_DIR/count")"
    elif [ "$SECONDS" -ne "$shown" ]; then
        shown=$SECONDS
        say "$done_ of $total additions made, count $(<"$DEMO_DIR/count")"
    fi
}

# work NUMBER [COMMAND...]: a worker, whose additions COMMAND runs.
work() {
    local number=$1
    shift
    for ((i = 0; i < each; i++)); do
        "$@" "$0" add "$number" || exit 1
    done
}

# half [COMMAND...]: all workers; with a COMMAND, the victim dies and comes back meanwhile.
half() {
    local kill_at=$((total * 3 / 10)) start_at=$((total * 13 / 20)) began=$SECONDS
    shown=-1
    echo 0 >"$DEMO_DIR/count"
    : >"$DEMO_DIR/added"
    : >"$DEMO_DIR/inside"
    pids=()
    for ((w = 1; w <= workers; w++)); do
        work "$w" "$@" &
        pids+=($!)
    done
    while kill -0 "${pids[@]}" 2>/dev/null; do
        sleep 0.1
        show
        [ $((SECONDS - began)) -lt $limit_s ] || { say 'it takes too long'; return 1; }
        [ $# -gt 0 ] || continue
        if [ "$kill_at" -gt 0 ] && [ "$(added)" -ge "$kill_at" ]; then
            kill_at=0
            redlock dev kill $victim --json >/dev/null || return 1
            say "server $victim killed: the others still make a majority"
        elif [ "$start_at" -gt 0 ] && [ "$(added)" -ge "$start_at" ]; then
            start_at=0
            redlock dev start $victim --json >/dev/null || return 1
            say "server $victim started again, empty: it may have forgotten locks, and has no vote for a while"
        fi
    done
    for pid in "${pids[@]}"; do
        wait "$pid" || { say 'a worker failed'; return 1; }
    done
    pids=()
    [ -z "$live" ] || printf '\r\e[K'
}

# verdict WHAT: a row; sets `lost`.
verdict() {
    local counted colour=$green
    counted=$(<"$DEMO_DIR/count")
    lost=$(($(added) - counted))
    [ "$lost" -eq 0 ] || colour=$red
    rows+=$(printf ' %-18s%8d%9d  %s%7d%s%16d' "$1" "$(added)" "$counted" "$colour" "$lost" "$plain" \
        "$(awk '{ n += $1; if (n > most) most = n } END { print most }' "$DEMO_DIR/inside")")$'\n'
}

rows=
echo "redlock demo: $workers workers add 1 to the same file, $each times each"
say 'started, with the lock'
half redlock run --quiet --ttl 5s demo-counter -- || exit 1
verdict 'with the lock'
exact=$lost
say 'again, without the lock'
half || exit 1
verdict 'without the lock'
printf '\n %s%-18s%8s%9s%9s%16s%s\n%s\n' "$bold" verdict added counted lost 'most at once' "$plain" "$rows"
if [ "$exact" -ne 0 ]; then
    echo ' Not exact: the lock failed.'
    exit 1
fi
echo " Exact: with the lock none of $total additions was lost, though a server died."
echo " Without it the same workers lost $lost of $total."
