#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# check-prebuilt.sh REDLOCK: the packages of Node and Python in build/, installed and used in Debians that have no compiler:
# of this machine's architecture, and of arm64 by an emulator. Locks are taken on servers outside, over TLS too, beside
# the OpenSSL of Node and of Python. REDLOCK, the command, starts the servers. REDLOCK_ROOM=amd64|arm64: that one alone.
#
# Needs root, for chroot. The official Nodes are fetched from the registry of npm.
set -euo pipefail
cd "$(dirname "$0")/.."
redlock=$(readlink -f "${1:?usage: check-prebuilt.sh REDLOCK}")
NODES=(20 22 24) # beside Debian's 18
version=$(scripts/version.sh)
rooms=build/chroot

if [ "$(id -u)" != 0 ]; then
    echo "check-prebuilt: only root can make a Debian to try packages in" >&2
    exit 1
fi
if [ -z "${REDLOCK_DEV:-}" ]; then
    unset REDLOCK_CONFIG REDLOCK_PASSWORD REDLOCK_SERVICE
    exec timeout -k 5 3000 "$redlock" dev -c 6 --no-init -- bash "$0" "$redlock"
fi
room=$PWD/$rooms/prebuilt
tmp=$(mktemp -d)
cleanup() { rm -rf --one-file-system "$tmp" "$room"; }
trap cleanup EXIT
trap 'exit 143' HUP INT TERM
fail() {
    echo "not ok - $*"
    exit 1
}

# ---- three servers, each with a port for TLS ------------------------------------------------------

# `redlock dev` keeps the ports of the other three, which end.
IFS=, read -r -a nodes <<<"$REDLOCK_NODES"
for k in 4 5 6; do "$redlock" dev kill $k >/dev/null; done
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
    -addext 'subjectAltName=IP:127.0.0.1' -keyout "$tmp/key.pem" -out "$tmp/ca.pem" 2>/dev/null
client=$(command -v redis-cli || command -v valkey-cli)
secure=
for k in 0 1 2; do
    port=${nodes[k + 3]##*:}
    printed=$("$client" -p "${nodes[k]##*:}" config set tls-auth-clients no tls-cert-file "$tmp/ca.pem" \
        tls-key-file "$tmp/key.pem" tls-ca-cert-file "$tmp/ca.pem" tls-port "$port")
    [ "$printed" = OK ] || fail "no TLS: $printed"
    secure=$secure${secure:+,}rediss://127.0.0.1:$port
done
plain=${nodes[0]},${nodes[1]},${nodes[2]}
"$redlock" init --yes --nodes "$plain" --node-timeout 3s >/dev/null

# ---- rooms ---------------------------------------------------------------------------------------

# furnish PACKAGE...: a fresh room with these, and in /app what was built and the programs that use it.
native=$(dpkg --print-architecture)
furnish() {
    rm -rf --one-file-system "$room"
    ARCHITECTURE=$architecture scripts/bare-debian.sh "$room" "$@"
    mkdir -p "$room/app" "$room/proc"
    # The documents name this version of glibc; pack.sh finds out.
    wheel=build/redlock_native-$version-cp39-abi3-manylinux_2_34_$processor.whl
    cp "build/redlock-native-$version.tgz" "$wheel" tests/prebuilt/use.* tests/prebuilt/openssl.cnf "$tmp"/*.pem "$room/app"
    "$processor-linux-gnu-gcc" -shared -fPIC -nostdlib -o "$room/app/trap.so" tests/prebuilt/trap.c
    [ "$architecture" = "$native" ] || cp "$(command -v qemu-aarch64-static)" "$room/emulator"
    for compiler in cc gcc clang; do
        [ ! -e "$room/usr/bin/$compiler" ] || fail "this Debian has a compiler: $compiler"
    done
}

# inside [VARIABLE=VALUE...] PROGRAM...: in the room, with /proc, /dev and nothing of the environment here. The mounts
# are gone with their namespace.
inside() {
    local variables=(PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root PLAIN_NODES="$plain" SECURE_NODES="$secure") enter=()
    [ "$architecture" = "$native" ] || enter=(/emulator)
    while [[ $1 =~ ^[A-Z_]+= ]]; do
        case $architecture:$1 in
        "$native":LD_PRELOAD=*) enter=(/usr/bin/env "$1") ;;
        *:LD_PRELOAD=*) enter+=(-E "$1") ;;
        *) variables+=("$1") ;;
        esac
        shift
    done
    # shellcheck disable=SC2016 # expanded inside
    env -i "${variables[@]}" timeout -k 5 300 unshare --mount --propagation private sh -ec '
        mount -t proc proc "$0/proc"
        mount --rbind /dev "$0/dev"
        exec chroot "$0" "$@"' "$room" "${enter[@]}" "$@" >"$tmp/printed" 2>&1
}

# holds INTENT [VARIABLE=VALUE...] PROGRAM...: it takes its locks.
holds() {
    local intent=$1
    shift
    if ! inside "$@" || [ "$(cat "$tmp/printed")" != held ]; then fail "$intent ($*): $(cat "$tmp/printed")"; fi
    echo "ok - $intent"
}

# uses WHAT PROGRAM...: everything that an installed package must do, with the certificates where they may be.
uses() {
    local what="$architecture, $1:"
    shift
    holds "$what a lock" "$@" plain
    holds "$what a lock over TLS" "$@" secure
    holds "$what locks over TLS while the program uses TLS itself" "$@" beside
    holds "$what its own OpenSSL, whatever else the process has loaded before" LD_PRELOAD=/app/trap.so "$@" secure
    holds "$what openssl.cnf is not for it" OPENSSL_CONF=/app/openssl.cnf "$@" secure
    holds "$what no server is trusted without its certificate" "$@" untrusted
    holds "$what the file that SSL_CERT_FILE names is trusted" SSL_CERT_FILE=/app/ca.pem "$@" trusted
    local hashed=$room/etc/ssl/certs/$hash.0
    cp "$tmp/ca.pem" "$hashed"
    holds "$what the certificates of this Debian are trusted" "$@" trusted
    rm "$hashed"
    mv "$room/usr/lib/ssl" "$room/usr/lib/ssl.away"
    mv "$room/etc/ssl" "$room/etc/ssl.away"
    install -D "$tmp/ca.pem" "$room/etc/pki/tls/certs/ca-bundle.crt"
    holds "$what so are those of Fedora, where Debian's directory does not exist" "$@" trusted
    rm -r "$room/etc/pki"
    mv "$room/usr/lib/ssl.away" "$room/usr/lib/ssl"
    mv "$room/etc/ssl.away" "$room/etc/ssl"
}

# ---- what is tried in them -----------------------------------------------------------------------

# What came compiled is taken out: without a compiler nothing is left but one sentence.
refuses_without_prebuilt() {
    mkdir -p "$room/app/bare"
    tar -xzf "build/redlock-native-$version.tgz" -C "$room/app/bare"
    rm -r "$room/app/bare/package/prebuilt"
    inside /bin/sh -c 'cd /app/bare/package && node install.js' && fail 'it installs without an addon'
    [ "$(grep -c 'needs a C compiler.*run .apt-get install gcc' "$tmp/printed") $(wc -l <"$tmp/printed")" = '1 1' ] ||
        fail "without an addon and a compiler: $(cat "$tmp/printed")"
    echo "ok - $architecture, node: without an addon and a compiler one sentence names what to install"
}

uses_node() { # WHAT PROGRAM
    uses "$1" "$2" /app/use.mjs
    holds "$architecture, $1: locks over TLS in workers, which end one after the other" "$2" /app/use.mjs workers
}

try_node() {
    local npm=(npm)
    # An emulated npm cannot start the emulator for an install script. Users have reasons to leave them out, too.
    [ "$architecture" = "$native" ] || npm=(/usr/bin/node /usr/share/nodejs/npm/bin/npm-cli.js --ignore-scripts)
    inside "${npm[@]}" install --prefix /app --offline --no-audit --no-fund "/app/redlock-native-$version.tgz" ||
        fail "npm install: $(cat "$tmp/printed")"
    [ ! -e "$room/app/node_modules/redlock-native/build" ] || fail 'something was compiled'
    [ "$architecture" != "$native" ] || refuses_without_prebuilt
    uses_node "Debian's node" /usr/bin/node
    # These bring an OpenSSL of their own, and export it to addons.
    for major in "${NODES[@]}"; do
        (cd "$tmp" && npm pack --silent "node-linux-$1@$major" >/dev/null && tar -xzf node-linux-*.tgz package/bin/node)
        mv "$tmp/package/bin/node" "$room/app/node-$major"
        rm "$tmp"/node-linux-*.tgz
        uses_node "node $major" "/app/node-$major"
    done
}

try_python() {
    inside /usr/bin/python3 -m pip install --no-index --break-system-packages --root-user-action ignore \
        "/app/${wheel##*/}" || fail "pip install: $(cat "$tmp/printed")"
    uses "Debian's python" /usr/bin/python3 /app/use.py
}

hash=$(openssl x509 -hash -noout -in "$tmp/ca.pem")
for pair in 'amd64 x86_64 x64' 'arm64 aarch64 arm64'; do
    read -r architecture processor npm_name <<<"$pair"
    [ "${REDLOCK_ROOM:-$architecture}" = "$architecture" ] || continue
    furnish nodejs npm python3 python3-pip python3-cffi
    try_python
    try_node "$npm_name"
done
