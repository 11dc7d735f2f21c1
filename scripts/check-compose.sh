#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# check-compose.sh IMAGE: compose.yaml with real containers, from `up` to a held lock, and what becomes of locks when a
# Valkey is killed or set up anew, a redlockd is killed, and all volumes are removed. IMAGE is an archive of `make image`;
# the image of Valkey is made of Debian's package. As root; three minutes.
set -euo pipefail
image=$(readlink -f "${1:?usage: check-compose.sh IMAGE}")
cd "$(dirname "$0")/.."
if [ -z "${REDLOCK_CHECK_COMPOSE:-}" ]; then
    scripts/servers.sh valkey-8.0 >/dev/null
    # Networks of its own, as a machine's firewall, that of another docker above all, may forbid these.
    REDLOCK_CHECK_COMPOSE=1 exec unshare --net timeout -k 10 900 bash scripts/check-compose.sh "$image"
fi
ip link set lo up
HELD_MAX_S=60
. scripts/docker.bash
docker load --quiet --input "$image" >/dev/null

# ---- an image of Valkey ----------------------------------------------------------------------

# What the public one does, without its shell: the server is in PATH, and its data in the volume /data.
servers=$PWD/build/servers/valkey-8.0
mkdir -p "$tmp/valkey/usr/bin" "$tmp/valkey/usr/lib/valkey" "$tmp/valkey/data" "$tmp/valkey/tmp"
for program in "$servers"/programs/*; do
    cp "$program" "$tmp/valkey/usr/bin"
    # The loader stands where the program names it, and finds the other libraries by a variable.
    LD_LIBRARY_PATH=$servers/lib ldd "$program" | awk '/=> \// { print $3 }' | xargs cp -Lt "$tmp/valkey/usr/lib/valkey"
    loader=$(ldd "$program" | awk '/ld-linux/ { print $1 }')
    mkdir -p "$tmp/valkey${loader%/*}"
    cp -L "$loader" "$tmp/valkey$loader"
done
tar -C "$tmp/valkey" -c . | docker import --change 'ENV PATH=/usr/bin LD_LIBRARY_PATH=/usr/lib/valkey' \
    --change 'WORKDIR /data' --change 'VOLUME /data' --change 'CMD ["valkey-server"]' - valkey/valkey:8 >/dev/null

# ---- words -----------------------------------------------------------------------------------

export COMPOSE_PROJECT_NAME=redlock COMPOSE_HTTP_TIMEOUT=120
compose() {
    docker-compose --ansi never "$@" >"$tmp/printed" 2>&1 || fail "docker-compose $*: $(tail -n 20 "$tmp/printed") $(job_log 0)"
}
inside() { docker-compose exec -T "$@"; }
through=(--service unix:/run/redlock/redlockd.sock)
container() { docker-compose ps --quiet "$1"; }
now_ms() {
    local up
    read -r up _ </proc/uptime
    echo $((${up/./}0))
}
# job_log SINCE: what the job has printed since then.
job_log() { docker logs --since "$1" "$(docker ps -aq --filter label=com.docker.compose.service=init --latest)" 2>&1; }
# crash SERVICE: without docker knowing, as by the kernel that has no memory left.
crash() { kill -9 "$(docker inspect --format '{{.State.Pid}}' "$(container "$1")")"; }
is_healthy() { [ "$(docker inspect --format '{{.State.Health.Status}}' "$(container "$1")")" = healthy ]; }
voters() { inside "$1" redlock nodes --json | jq '[.nodes[] | select(.quarantined | not)] | length'; }
have_voters() { [ "$(voters redlockd2 2>/dev/null)" = "$1" ]; }
marker() { inside "$1" valkey-cli HGETALL redlock.admit; }
# remove SERVICE...: with what it has stored.
remove() {
    compose rm --force --stop "$@"
    printf 'redlock_%s\n' "$@" | xargs docker volume rm >/dev/null
}
# held_after START_MS: the third command of compose.yaml.
held_after() {
    inside redlockd1 redlock run demo -- redlock status demo >"$tmp/held" || fail "no lock: $(cat "$tmp/held")"
    grep -q '^[a-z]*: held by' "$tmp/held" || fail "it is not held: $(cat "$tmp/held")"
    took_s=$((($(now_ms) - $1 + 999) / 1000))
    [ $took_s -le $HELD_MAX_S ] || fail "a lock is held after $took_s s"
}

# ---- from nothing to a lock ------------------------------------------------------------------

start=$(now_ms)
compose up --detach
held_after "$start"
ok "a lock is held $took_s s after \`up\`, at most $HELD_MAX_S"
inside redlockd1 redlock run "${through[@]}" other -- redlock status other >/dev/null || fail 'no lock through redlockd1'
inside redlockd2 redlock run "${through[@]}" other -- redlock status other >/dev/null || fail 'no lock through redlockd2'
ok 'and through both redlockd'
eventually is_healthy redlockd1
eventually is_healthy redlockd2
ok 'which become healthy'

before=$(marker valkey1) time=$(date +%s)
start=$(now_ms)
compose up --detach
grep -q 'nothing was to be done' <<<"$(job_log "$time")" || fail "the job prints: $(job_log "$time")"
[ "$(marker valkey1)" = "$before" ] || fail 'the job has written something'
ok "\`up\` again: the job writes nothing, in $((($(now_ms) - start + 999) / 1000)) s"

# ---- a Valkey without its data ---------------------------------------------------------------

# Renewed while its input is open.
mkfifo "$tmp/input"
inside redlockd2 redlock hold kept <"$tmp/input" >"$tmp/kept" 2>&1 &
holder=$!
exec {input}>"$tmp/input"
is_held() { inside redlockd1 redlock status kept 2>/dev/null | grep -q '^[a-z]*: held by'; }
eventually is_held
docker kill "$(container valkey1)" >/dev/null
inside redlockd1 redlock run -n beside -- redlock --version >/dev/null || fail 'no lock without one Valkey'
ok 'a Valkey is killed: the other two give locks'
remove valkey1
time=$(date +%s)
compose up --detach
job_log "$time" | grep -q 'waiting 22' || fail "the job does not wait for a Valkey without data: $(job_log "$time")"
[ "$(voters redlockd1)" = 3 ] || fail "it does not vote: $(inside redlockd1 redlock nodes)"
kill -0 $holder && is_held || fail "a lock was lost: $(cat "$tmp/kept")"
ok 'set up anew it votes after 22 s, and the lock is held all the time'

crash valkey2
eventually have_voters 2
eventually have_voters 3
kill -0 $holder && is_held || fail "a lock was lost: $(cat "$tmp/kept")"
ok 'one that crashes comes back with its data, and votes after its quarantine'

# ---- a redlockd ------------------------------------------------------------------------------

crash redlockd1
inside redlockd2 redlock run "${through[@]}" other -- redlock --version >/dev/null || fail 'no lock through redlockd2'
ok 'a redlockd crashes: the other one gives locks'
eventually is_healthy redlockd1
docker kill "$(container redlockd1)" >/dev/null
compose up --detach
eventually is_healthy redlockd1
ok 'it comes back, by itself or, killed by docker, with the next `up`'
exec {input}>&-
wait $holder || fail "the holder: $(cat "$tmp/kept")"

# ---- all volumes -----------------------------------------------------------------------------

# All Valkeys forget a lock that its holder still believes in for 20 s.
granted=$(now_ms)
inside redlockd1 redlock lock -t 20s forgotten >/dev/null
remove valkey1 valkey2 valkey3
compose up --detach valkey1 valkey2 valkey3
inside redlockd2 redlock run -w 60s forgotten -- redlock --version >/dev/null 2>"$tmp/second" &
second=$!
compose up --detach
wait $second || fail "no lock after all Valkeys were set up anew: $(cat "$tmp/second")"
[ $(($(now_ms) - granted)) -ge 20000 ] || fail 'a lock was granted while another client had it'
ok 'all Valkeys forget a lock: no other client gets it before it has ended'

compose down --volumes
start=$(now_ms)
compose up --detach
held_after "$start"
ok "all volumes removed: a lock is held $took_s s after \`up\`"
