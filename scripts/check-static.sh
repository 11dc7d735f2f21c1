#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# check-static.sh COMMAND REDLOCK: the static COMMAND takes locks in a root directory in which it is the only file:
# no C library, no /etc, no /proc, no /dev; then with the files that TLS and names of hosts need. REDLOCK, the
# usual command, starts the servers.
set -euo pipefail
command=$(readlink -f "${1:?usage: check-static.sh COMMAND REDLOCK}")
redlock=$(readlink -f "$2")
umask 022

if [ -z "${REDLOCK_DEV:-}" ]; then
    unset REDLOCK_CONFIG REDLOCK_PASSWORD REDLOCK_SERVICE
    exec timeout -k 5 120 "$redlock" dev -c 6 --no-init -- bash "$0" "$command" "$redlock"
fi

unset REDLOCK_CONFIG # /dev/null, which there is not inside
# Three nodes; the other servers end, and `redlock dev` keeps their ports for servers with TLS.
IFS=, read -r -a nodes <<<"$REDLOCK_NODES"
export REDLOCK_NODES=${nodes[0]},${nodes[1]},${nodes[2]}
for k in 4 5 6; do "$redlock" dev kill $k >/dev/null; done
"$redlock" init --yes --node-timeout 3s >/dev/null
tmp=$(mktemp -d)
servers=()
cleanup() {
    [ ${#servers[@]} = 0 ] || kill "${servers[@]}"
    wait
    rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 143' HUP INT TERM

fail() {
    echo "not ok - $*"
    exit 1
}
mkdir "$tmp/root"
cp "$command" "$tmp/root/redlock"

# inside COMMAND...: in the new root, as root there.
inside() {
    local enter=(chroot)
    [ "$(id -u)" = 0 ] || enter=(unshare --map-root-user chroot)
    timeout -k 5 60 "${enter[@]}" "$tmp/root" "$@" 2>"$tmp/err" || { cat "$tmp/err" && false; }
}

if readelf -l "$command" | grep -q INTERP; then fail 'it wants a dynamic loader'; fi
[ -z "$(readelf -d "$command" | grep NEEDED)" ] || fail 'it needs shared libraries'
echo 'ok - it needs no other file'

said=$(inside /redlock run -w 20s job -- /redlock --version) || fail "run: $said"
[ "$said" = "$("$redlock" --version)" ] || fail "run says: $said"
echo 'ok - in an empty root it runs a command under a lock'
value=$(inside /redlock lock -w 20s -t 60s held) || fail "lock: $value"
said=$("$redlock" status held) || true
grep -q held <<<"$said" || fail "nobody else sees its lock: $said"
inside /redlock unlock held "$value" || fail 'unlock'
echo 'ok - its lock is seen from outside, and given back'
inside /redlock bench --duration 1s --callers 8 >"$tmp/bench" || fail "bench: $(cat "$tmp/bench")"
echo 'ok - with threads and many locks at once'

# ---- names of hosts --------------------------------------------------------------------------

mkdir "$tmp/root/etc"
ports=$(tr , '\n' <<<"$REDLOCK_NODES" | sed 's/.*://')
printf '127.0.0.1 %s\n' one two three >"$tmp/root/etc/hosts"
named=$(paste -d : <(printf '%s\n' one two three) <(echo "$ports") | paste -sd ,)
# A module that is not there would end the lookup.
echo 'hosts: nosuchmodule [UNAVAIL=return NOTFOUND=return] files' >"$tmp/root/etc/nsswitch.conf"
said=$(inside /redlock run --nodes "$named" -w 20s job -- /redlock --version) || fail "names: $said"
echo 'ok - it finds hosts by name, whatever modules the machine has'

# ---- TLS -------------------------------------------------------------------------------------

# The certificate, like its servers, ends with this script.
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
    -addext 'subjectAltName=IP:127.0.0.1' -keyout "$tmp/key.pem" -out "$tmp/root/ca.pem" 2>/dev/null
server=$(command -v redis-server || command -v valkey-server)
secure=
for k in 1 2 3; do
    mkdir "$tmp/$k"
    port=${nodes[k + 2]##*:}
    "$server" --port 0 --tls-port "$port" --bind 127.0.0.1 --save '' --dir "$tmp/$k" --tls-auth-clients no \
        --tls-cert-file "$tmp/root/ca.pem" --tls-key-file "$tmp/key.pem" \
        --tls-ca-cert-file "$tmp/root/ca.pem" >"$tmp/$k/log" 2>&1 &
    servers+=($!)
    until grep -qs 'Ready to accept' "$tmp/$k/log"; do
        kill -0 $! 2>/dev/null || fail "the server with TLS ended: $(cat "$tmp/$k/log")"
        sleep 0.05
    done
    secure=$secure${secure:+,}rediss://127.0.0.1:$port
done
said=$(inside /redlock init --yes --nodes "$secure" --tls-ca /ca.pem --node-timeout 3s) || fail "init over TLS: $said"
said=$(inside /redlock run --nodes "$secure" --tls-ca /ca.pem --node-timeout 3s -w 20s job -- /redlock --version) || fail "TLS: $said"
echo 'ok - over TLS, with the certificate it is given'
if inside /redlock run --nodes "$secure" -n job -- /redlock --version >"$tmp/said"; then
    fail 'it trusts a certificate that nothing vouches for'
fi
grep -q certificate "$tmp/said" || fail "without the certificate it says: $(cat "$tmp/said")"
echo 'ok - and refuses servers without it'
