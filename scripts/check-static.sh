#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# check-static.sh ARCHITECTURE REDLOCK: the static programs of build/static-ARCHITECTURE take locks in a root directory in
# which they are the only files: no C library, no /etc, no /proc, no /dev; then with the files that TLS and names of hosts
# need. Programs of another architecture are emulated. REDLOCK, the usual command, starts the servers.
#
# Before that: is what is linked into them what Debian has now? Do they come out the same when built again?
set -euo pipefail
cd "$(dirname "$0")/.."
architecture=${1:?usage: check-static.sh ARCHITECTURE REDLOCK}
redlock=$(readlink -f "$2")
built=$PWD/build/static-$architecture
umask 022

fail() {
    echo "not ok - $*"
    exit 1
}

if [ -z "${REDLOCK_DEV:-}" ]; then
    for program in redlock redlockd; do
        if readelf -l "$built/$program" | grep -q INTERP; then fail "$program wants a dynamic loader"; fi
        [ -z "$(readelf -d "$built/$program" | grep NEEDED)" ] || fail "$program needs shared libraries"
    done
    echo 'ok - they need no other file'
    scripts/sysroot.sh --compare "build/sysroot/$architecture/PARTS" "$architecture" || fail 'a part has newer fixes'
    if scripts/sysroot.sh --compare <(echo 'libssl-dev 3.0.1-1') "$architecture" >/dev/null; then fail 'an old part is not noticed'; fi
    echo "ok - they are made of what Debian has now: $(cut -d ' ' -f 1,2 "build/sysroot/$architecture/PARTS" | paste -sd ,)"
    again=$(mktemp -d)
    trap 'rm -rf "$again"' EXIT
    tar -cf - --exclude=./build --exclude=./.git . | tar -xf - -C "$again"
    mkdir -p "$again/build"
    cp -a build/sysroot "$again/build"
    (
        cd "$again"
        umask 077
        export TZ=Pacific/Kiritimati LC_ALL=C.UTF-8
        cmake --preset "static-$architecture" && cmake --build --preset "static-$architecture" --parallel "$(nproc)"
    ) >"$again/log" 2>&1 || fail "a second build: $(tail -n 5 "$again/log")"
    for program in redlock redlockd; do
        cmp "$built/$program" "$again/build/static-$architecture/$program" || fail "$program built again differs"
    done
    rm -rf "$again"
    echo 'ok - built again, at another path: the same bytes'
    unset REDLOCK_CONFIG REDLOCK_PASSWORD REDLOCK_SERVICE
    exec timeout -k 5 300 "$redlock" dev -c 6 --no-init -- bash "$0" "$architecture" "$redlock"
fi

unset REDLOCK_CONFIG SSL_CERT_FILE SSL_CERT_DIR # of files which there are not inside
# Three nodes; the other servers end, and `redlock dev` keeps their ports for servers with TLS.
IFS=, read -r -a nodes <<<"$REDLOCK_NODES"
export REDLOCK_NODES=${nodes[0]},${nodes[1]},${nodes[2]}
for k in 4 5 6; do "$redlock" dev kill $k >/dev/null; done
"$redlock" init --yes --node-timeout 3s >/dev/null
tmp=$(mktemp -d)
started=()
cleanup() {
    [ ${#started[@]} = 0 ] || kill "${started[@]}" 2>/dev/null || true
    wait
    rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 143' HUP INT TERM

root=$tmp/root
mkdir "$root"
cp "$built/redlock" "$built/redlockd" "$root"
run=() # in front of a program, also of one that the command runs
if [ "$architecture" != "$(dpkg --print-architecture)" ]; then
    processor=$([ "$architecture" = arm64 ] && echo aarch64 || echo x86_64)
    cp "$(command -v "qemu-$processor-static")" "$root/emulator"
    run=(/emulator)
fi

enter=(chroot)
[ "$(id -u)" = 0 ] || enter=(unshare --map-root-user chroot)
# inside PROGRAM ARGUMENT...: in the new root, as root there.
inside() {
    timeout -k 5 60 "${enter[@]}" "$root" "${run[@]}" "$@" 2>"$tmp/err" || { cat "$tmp/err" && false; }
}
# under_lock OPTION...: the command runs another under a lock. Emulation is slow.
under_lock() { inside /redlock run --node-timeout 5s -w 30s "$@" job -- "${run[@]}" /redlock --version; }

printed=$(under_lock) || fail "run: $printed"
[ "$printed" = "$("$redlock" --version)" ] || fail "run prints: $printed"
echo 'ok - in an empty root the command runs another under a lock'
value=$(inside /redlock lock --node-timeout 5s -w 20s -t 60s held) || fail "lock: $value"
printed=$("$redlock" status held) || true
grep -q held <<<"$printed" || fail "another program does not see its lock: $printed"
inside /redlock unlock held "$value" || fail 'unlock'
echo 'ok - its lock is seen from outside, and given back'
inside /redlock bench --duration 1s --callers 8 >"$tmp/bench" || fail "bench: $(cat "$tmp/bench")"
echo 'ok - with threads and many locks at once'

# eventually COMMAND...: within a minute.
eventually() {
    for ((i = 0; i < 600; i++)); do
        "$@" && return
        sleep 0.1
    done
    fail "still not so after a minute: $*"
}
# A busy machine may take its time to answer.
echo 'node-timeout = 5s' >"$root/unhurried"
REDLOCK_CONFIG=/unhurried "${enter[@]}" "$root" "${run[@]}" /redlockd --listen unix:/socket --drain 5 2>"$tmp/log" &
service=$!
started+=("$service")
is_ready() { inside /redlockd --ready --listen unix:/socket >/dev/null || ! kill -0 "$service" 2>/dev/null; }
eventually is_ready
printed=$(inside /redlock run --service unix:/socket -w 30s job -- "${run[@]}" /redlock --version) ||
    fail "through the service: $printed; $(cat "$tmp/log")"
kill "$service"
wait "$service" || fail "the service ends with $?: $(cat "$tmp/log")"
started=()
echo 'ok - the service runs there, is ready, grants a lock, and ends with 0'

# ---- names of hosts --------------------------------------------------------------------------

ports=$(tr , '\n' <<<"$REDLOCK_NODES" | sed 's/.*://')
# named NAME...: the nodes under these names.
named() { paste -d : <(printf '%s\n' "$@") <(echo "$ports") | paste -sd ,; }
printed=$(under_lock --nodes "$(named localhost localhost localhost)") || fail "localhost: $printed"
echo 'ok - it knows localhost where there is no file of hosts'
mkdir "$root/etc"
printf '127.0.0.1 %s\n' one two three >"$root/etc/hosts"
# A module that is not there would end the lookup.
echo 'hosts: nosuchmodule [UNAVAIL=return NOTFOUND=return] files' >"$root/etc/nsswitch.conf"
printed=$(under_lock --nodes "$(named one two three)") || fail "names: $printed"
echo 'ok - it finds hosts by name, whatever modules the machine has'
if [ "$(id -u)" = 0 ]; then
    # A name server of its own, at an address that no other has: the port cannot be chosen.
    address=127.$((RANDOM % 200 + 20)).$((RANDOM % 250)).$((RANDOM % 250 + 1))
    python3 -B scripts/name-server.py "$address" >"$tmp/names" &
    started+=($!)
    has_started() { grep -q listening "$tmp/names" || ! kill -0 "${started[-1]}" 2>/dev/null; }
    eventually has_started
    echo "nameserver $address" >"$root/etc/resolv.conf"
    rm "$root/etc/hosts" "$root/etc/nsswitch.conf"
    printed=$(under_lock --nodes "$(named r1.locks.test r2.locks.test r3.locks.test)") || fail "DNS: $printed"
    grep -q 'r3.locks.test' "$tmp/names" || fail 'the name server was not asked'
    echo 'ok - and by DNS'
else
    echo '# left out: only root can be a name server'
fi

# ---- TLS -------------------------------------------------------------------------------------

# The certificate, like its servers, ends with this script.
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
    -addext 'subjectAltName=IP:127.0.0.1' -keyout "$tmp/key.pem" -out "$root/ca.pem" 2>/dev/null
server=$(command -v redis-server || command -v valkey-server)
secure=
for k in 1 2 3; do
    mkdir "$tmp/$k"
    port=${nodes[k + 2]##*:}
    "$server" --port 0 --tls-port "$port" --bind 127.0.0.1 --save '' --dir "$tmp/$k" --tls-auth-clients no \
        --tls-cert-file "$root/ca.pem" --tls-key-file "$tmp/key.pem" \
        --tls-ca-cert-file "$root/ca.pem" >"$tmp/$k/log" 2>&1 &
    started+=($!)
    until grep -qs 'Ready to accept' "$tmp/$k/log"; do
        kill -0 $! 2>/dev/null || fail "the server with TLS ended: $(cat "$tmp/$k/log")"
        sleep 0.05
    done
    secure=$secure${secure:+,}rediss://127.0.0.1:$port
done
printed=$(inside /redlock init --yes --nodes "$secure" --tls-ca /ca.pem --node-timeout 5s) || fail "init over TLS: $printed"
printed=$(under_lock --nodes "$secure" --tls-ca /ca.pem) || fail "TLS: $printed"
echo 'ok - over TLS, with the certificate it is given'
if inside /redlock run --nodes "$secure" -n job -- "${run[@]}" /redlock --version >"$tmp/printed"; then
    fail 'it trusts a certificate that nothing vouches for'
fi
grep -q 'no store of CA certificates: set the TLS CA file' "$tmp/printed" || fail "without one it prints: $(cat "$tmp/printed")"
echo 'ok - without it there is none to trust, and it reports that'
for place in /usr/lib/ssl/cert.pem $(sed -n 's|^ *"\(/etc/[^"]*\)",.*|\1|p' src/io/trust.c); do
    mkdir -p "$root${place%/*}"
    cp "$root/ca.pem" "$root$place"
    printed=$(under_lock --nodes "$secure") || fail "with $place: $printed"
    rm "$root$place"
    [ "$place" != /usr/lib/ssl/cert.pem ] || rm -r "$root/usr"
done
echo 'ok - it finds the store of a distribution in each place that it knows'
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=other \
    -keyout "$tmp/other.key" -out "$root/etc/ssl/cert.pem" 2>/dev/null
if inside /redlock run --nodes "$secure" -n job -- "${run[@]}" /redlock --version >"$tmp/printed"; then
    fail 'it trusts a certificate of another authority'
fi
grep -q 'certificate' "$tmp/printed" || fail "with another authority it prints: $(cat "$tmp/printed")"
echo 'ok - and refuses servers that the store does not vouch for'
