#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# check-image.sh IMAGE REDLOCK: IMAGE, an archive of `make image`, under a dockerd of its own, with nothing but what a
# careful operator allows: a read-only root, no capability, no new rights. REDLOCK starts the servers. As root.
set -euo pipefail
image=$(readlink -f "${1:?usage: check-image.sh IMAGE REDLOCK}")
redlock=$(readlink -f "$2")
SIZE_MAX=$((20 * 1000 * 1000))

if [ -z "${REDLOCK_DEV:-}" ]; then
    unset REDLOCK_CONFIG REDLOCK_PASSWORD REDLOCK_SERVICE
    exec timeout -k 10 300 "$redlock" dev -c 3 -- bash "$0" "$image" "$redlock"
fi
unset REDLOCK_CONFIG
nodes=$REDLOCK_NODES
. "$(dirname "$0")/docker.bash"
# Containers use the host's network, where the servers are.
docker load --quiet --input "$image" >/dev/null

# ---- what is inside --------------------------------------------------------------------------

inspect() { docker image inspect --format "$1" redlock:latest; }
size=$(inspect '{{.Size}}')
[ "$size" -le "$SIZE_MAX" ] || fail "it has $size bytes"
ok "it has $size bytes, at most $SIZE_MAX"
version=$("$redlock" --version | cut -d ' ' -f 2)
[ "$(docker image inspect --format '{{.Id}}' "redlock:$version")" = "$(inspect '{{.Id}}')" ] || fail "redlock:$version is another"
[ "$(inspect '{{.Config.User}}')" = 65532:65532 ] || fail "it runs as $(inspect '{{.Config.User}}')"
docker create --name files redlock >/dev/null
# Docker adds these where it mounts something.
docker export files | tar -t | grep -v -e '/$' -e '^\.dockerenv$' -e '^dev/' -e '^etc/\(hostname\|hosts\|mtab\|resolv.conf\)$' |
    LC_ALL=C sort >"$tmp/files"
diff "$tmp/files" - >&2 <<'END' || fail 'it has other files than these'
etc/group
etc/passwd
etc/redlock/redlockd.conf
etc/ssl/certs/ca-certificates.crt
usr/bin/redlock
usr/bin/redlockd
usr/share/doc/redlock/copyright
END
ok 'it has two programs, a user, authorities and licences, and no shell'
docker cp --quiet files:/etc/ssl/certs/ca-certificates.crt "$tmp/ca.pem" 2>/dev/null ||
    docker cp files:/etc/ssl/certs/ca-certificates.crt "$tmp/ca.pem" >/dev/null
[ "$(openssl storeutl -noout -certs "$tmp/ca.pem" | sed -n 's/^Total found: //p')" -gt 100 ] || fail 'authorities are missing'

# ---- the service -----------------------------------------------------------------------------

# A busy machine may take its time to answer.
echo 'node-timeout = 3s' >"$tmp/unhurried"
careful=(--read-only --cap-drop ALL --security-opt no-new-privileges --network host --env "REDLOCK_NODES=$nodes"
    --volume "$tmp/unhurried:/etc/redlock.conf:ro")
# state CONTAINER FIELD
state() { docker inspect --format "{{.State.$2}}" "$1"; }
is_healthy() { [ "$(state "$1" Health.Status)" = healthy ] || [ "$(state "$1" Running)" = false ]; }
# run CONTAINER ARGUMENT...: until it is healthy.
run() {
    local name=$1
    shift
    docker run --detach --name "$name" "${careful[@]}" redlock "$@" >/dev/null
    eventually is_healthy "$name"
    [ "$(state "$name" Running)" = true ] || fail "it has ended: $(docker logs "$name" 2>&1)"
}
run service
ok 'with a read-only root and no capability it becomes healthy'
status=/proc/$(state service Pid)/status
[ "$(awk '/^Uid:/ { print $2 }' "$status")" = 65532 ] || fail "its user: $(grep Uid "$status")"
for set in Inh Prm Eff Bnd Amb; do
    grep -q "^Cap$set:.0*$" "$status" || fail "it has rights: $(grep "^Cap$set" "$status")"
done
ok 'as another user than root'

inside() { docker exec "$@"; }
through=(--service unix:/run/redlock/redlockd.sock)
# is_held NAME: as the command outside sees it.
is_held() { "$redlock" status "$1" 2>/dev/null | grep -q ': held by'; }
inside service redlock run "${through[@]}" job -- redlock --version >/dev/null || fail 'no lock from inside'
ok 'the command inside takes a lock through the service'
# A lock for as long as the input of a program is open, and `redlock hold` is one. In a container of its own: all
# programs inside die with the service.
mkfifo "$tmp/input"
docker run --rm --interactive --volumes-from service "${careful[@]}" --entrypoint redlock redlock \
    run "${through[@]}" work -- redlock hold inner <"$tmp/input" >"$tmp/work" 2>&1 &
work=$!
exec {input}>"$tmp/input"
eventually is_held work
ok 'and the one in a container with its volume'
value=$(docker run --rm "${careful[@]}" --entrypoint redlock redlock lock -t 30s direct) || fail 'no lock from the servers'
is_held direct || fail 'a lock of the command is not seen outside'
docker run --rm "${careful[@]}" --entrypoint redlock redlock unlock direct "$value" || fail 'unlock'
ok 'the command of the image takes a lock without it'
named=${nodes//127.0.0.1/localhost}
docker run --rm "${careful[@]}" --env "REDLOCK_NODES=$named" --entrypoint redlock redlock run job -- redlock --version \
    >/dev/null || fail 'names'
ok 'it finds hosts by name'

# ---- its end ---------------------------------------------------------------------------------

docker kill --signal TERM service >/dev/null
ended=$(timeout 60 docker wait service)
[ "$ended" = 0 ] || fail "after SIGTERM it ends with $ended: $(docker logs service 2>&1)"
is_held work || fail "a lock of a program that goes on is given back: $(cat "$tmp/work")"
docker start service >/dev/null
eventually is_healthy service
exec {input}>&-
wait "$work" || fail "it is not given back to the next process: $(cat "$tmp/work")"
! is_held work || fail 'the lock is still held'
ok 'SIGTERM ends it with 0; a held lock stays with its program, and is given back through the next process'

# ---- with arguments --------------------------------------------------------------------------

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
run other --listen "127.0.0.1:$port" --drain 0
ok 'the health check finds the listener of other arguments'
"$redlock" dev kill 1 >/dev/null
"$redlock" dev kill 2 >/dev/null
is_unwell() { ! inside other redlockd --ready >"$tmp/why" 2>&1; }
eventually is_unwell
grep -q 'too few nodes vote' "$tmp/why" || fail "it prints: $(cat "$tmp/why")"
ok 'without a majority of the servers it is not healthy, and reports it'
