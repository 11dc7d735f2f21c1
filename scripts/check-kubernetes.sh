#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# check-kubernetes.sh BUILD_DIR: packaging/kubernetes against the schemas of the API, which come from npm, and then what its
# containers run, without a cluster: the job, redlockd with its probes, and the one beside an application, on servers with
# the users of the Secret, whose password is changed meanwhile.
set -euo pipefail
build=$(cd "${1:?usage: check-kubernetes.sh BUILD_DIR}" && pwd)
cd "$(dirname "$0")/.."
if [ -z "${REDLOCK_DEV:-}" ]; then
    unset REDLOCK_CONFIG REDLOCK_PASSWORD REDLOCK_SERVICE
    exec timeout -k 10 300 "$build/redlock" dev -c 3 --no-init -- bash "$0" "$build"
fi
PATH=$build:$PATH
nodes=$REDLOCK_NODES
tmp=$(mktemp -d)
daemons=()
cleanup() {
    [ ${#daemons[@]} = 0 ] || kill "${daemons[@]}" 2>/dev/null || true
    wait
    rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 143' HUP INT TERM
fail() {
    echo "not ok - $*"
    exit 1
}
ok() { echo "ok - $*"; }

# ---- schemas ---------------------------------------------------------------------------------

npm install --prefix "$tmp" --no-audit --no-fund --loglevel=error kubernetes-models@5.1.0 js-yaml@4.1.0 >/dev/null 2>&1 ||
    fail 'npm gives no schemas'
printf '%s\n' old-secret new-secret | packaging/kubernetes/secrets.sh >"$tmp/secrets.yaml"
node scripts/check-kubernetes.mjs "$tmp" packaging/kubernetes/redlock.yaml "$tmp/secrets.yaml" >"$tmp/documents" || exit 1
ok "$(jq length "$tmp/documents") documents fit the schemas of the API, without an unknown field"
sed 's/serviceName:/serviceNames:/' packaging/kubernetes/redlock.yaml >"$tmp/wrong.yaml"
if node scripts/check-kubernetes.mjs "$tmp" "$tmp/wrong.yaml" >/dev/null 2>&1; then fail 'a misspelt field is not found'; fi

# ---- what the volumes hold -------------------------------------------------------------------

get() { jq -er "$@" "$tmp/documents"; } # FILTER, with these names for documents
named() { echo ".[] | select(.kind == \"$1\" and .metadata.name == \"$2\")"; }
mkdir -p "$tmp/etc/redlock/secret" "$tmp/etc/redlockd" "$tmp/etc/redlockd-tls" "$tmp/etc/redlockd-tokens" "$tmp/run/redlock"
# moved: paths of the containers are below $tmp here, and their nodes and user are those of this machine.
moved() {
    sed "s|/etc/redlock|$tmp/etc/redlock|g; s|/run/redlock|$tmp/run/redlock|g; s|^nodes = .*|nodes = $nodes|
        s|0\.0\.0\.0:9443|127.0.0.1:0|; s|uid:65532|uid:$(id -u)|"
}
get "$(named ConfigMap redlock) | .data[\"redlock.conf\"]" | moved >"$tmp/etc/redlock/redlock.conf"
get "$(named ConfigMap redlockd) | .data[\"redlockd.conf\"]" | moved >"$tmp/etc/redlockd/redlockd.conf"
umask 077
write_password() { get "$(named Secret valkey-password) | .data.password" | base64 -d >"$tmp/etc/redlock/secret/password"; }
write_password
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=redlockd \
    -addext subjectAltName=DNS:redlockd -keyout "$tmp/etc/redlockd-tls/tls.key" -out "$tmp/etc/redlockd-tls/tls.crt" 2>/dev/null
redlockd token app | tee "$tmp/token" | sed -n '4p' >"$tmp/etc/redlockd-tokens/tokens"
token=$(sed -n 2p "$tmp/token")
ports=$(tr , "\n" <<<"$nodes" | sed 's/.*://')
# As valkey-server reads its aclfile.
write_users() {
    local port line
    for port in $ports; do
        get "$(named Secret valkey-users) | .stringData[\"users.acl\"]" | sort -r | while read -r _ line; do
            # shellcheck disable=SC2086 # words of a rule
            redis-cli -p "$port" ${1:+--user admin --pass "$1" --no-auth-warning} ACL SETUSER ${line/ / resetpass } >/dev/null
        done
    done
}
for port in $ports; do redis-cli -p "$port" ACL SETUSER admin on '>admin' '~*' '&*' +@all >/dev/null; done
write_users ''

# ---- what the containers run -----------------------------------------------------------------

container() { echo "[$(named "$1" "$2") | .spec.template.spec | .containers[], .initContainers[]? | select(.name == \"$3\")][0]"; }
# words FILTER: into the array $words.
words() { mapfile -t words < <(get "$1 | .[]" | moved); }
# The environment goes before the file: a shorter time than 62 s to wait.
export REDLOCK_CONFIG=$tmp/etc/redlock/redlock.conf REDLOCK_MAX_TTL=2s
unset REDLOCK_NODES
words "$(container Job redlock-init init).command"
"${words[@]}" >"$tmp/printed" 2>&1 || fail "the job: $(cat "$tmp/printed")"
grep -q '^3 of 3 nodes may vote$' "$tmp/printed" || fail "the job prints: $(cat "$tmp/printed")"
"${words[@]}" 2>&1 | grep -q 'nothing was to be done' || fail 'the job does something again'
ok 'the job lets servers with these users vote, once'

words "$(container Deployment redlockd redlockd).args"
redlockd "${words[@]}" --check >"$tmp/printed" 2>&1 || fail "redlockd: $(cat "$tmp/printed")"
redlockd "${words[@]}" 2>"$tmp/log" &
daemons+=($!)
port_of() { sed -n 's/.*listening on tls:127.0.0.1:\([0-9]*\)$/\1/p' "$tmp/log"; }
eventually() {
    for ((i = 0; i < 300; i++)); do
        "$@" >/dev/null 2>&1 && return
        sleep 0.1
    done
    fail "still not so: $*; $(cat "$tmp/log")"
}
listens() { [ -n "$(port_of)" ]; }
eventually listens
# As the kubelet asks: by an address, and with any certificate.
probe() { curl -fsSk -o /dev/null "https://127.0.0.1:$(port_of)$(get "$(container Deployment redlockd redlockd).$1.httpGet.path")"; }
eventually probe livenessProbe
eventually probe readinessProbe
put() {
    curl -sSk -o "$tmp/answer" -w '%{http_code}' -X PUT -H "Authorization: Bearer $token" -H "Lease-Id: $(openssl rand -hex 16)" \
        -H 'Content-Type: application/json' -d '{}' "https://127.0.0.1:$(port_of)/v1/locks/$1"
}
[ "$(put app/one)" = 201 ] || fail "redlockd: $(cat "$tmp/answer")"
[ "$(put other)" = 403 ] || fail "a name of others: $(cat "$tmp/answer")"
ok 'redlockd is alive and ready by its probes, and gives a lock to a token'

words "$(container Deployment leader redlockd).args"
redlockd "${words[@]}" 2>"$tmp/log2" &
daemons+=($!)
ready() { redlockd --ready --listen "unix:$tmp/run/redlock/redlockd.sock"; }
eventually ready
service=$(get "$(container Deployment leader leader).env[] | select(.name == \"REDLOCK_SERVICE\").value" | moved)
words "$(container Deployment leader leader).command"
REDLOCK_SERVICE=$service "${words[@]}" >"$tmp/leader" 2>&1 &
leader=$!
leads() { env -u REDLOCK_MAX_TTL redlock status --service "$service" leader | grep -q 'held by'; }
eventually leads
kill "$leader"
wait "$leader" || true
ok 'an application leads by the redlockd beside it'

# ---- another password ------------------------------------------------------------------------

printf '%s\n' new-secret | packaging/kubernetes/secrets.sh >"$tmp/secrets.yaml"
node scripts/check-kubernetes.mjs "$tmp" packaging/kubernetes/redlock.yaml "$tmp/secrets.yaml" >"$tmp/documents"
write_password
redlock run -w 20s between -- true || fail 'the new password is not accepted beside the old one'
write_users admin
redlock run -w 20s after -- true || fail 'the new password alone is not accepted'
printf old-secret >"$tmp/etc/redlock/secret/password"
! redlock run -n after -- true 2>"$tmp/printed" || fail 'the old password is still accepted'
grep -q password "$tmp/printed" || fail "without it: $(cat "$tmp/printed")"
ok 'the Valkeys accept the old password and the new one, then the new one alone'
