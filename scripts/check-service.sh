#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# check-service.sh BUILD_DIR: what redlockd reports of itself, judged by programs that others wrote. The
# document at /openapi.json by a validator from npm, the answer of /metrics by promtool of Prometheus.
set -euo pipefail
build=$(cd "${1:?usage: check-service.sh BUILD_DIR}" && pwd)
validator=@seriousme/openapi-schema-validator@2.2.5 # the last for Node 18
if [ -z "${REDLOCK_DEV:-}" ]; then
    exec "$build/redlock" dev -c 3 -- bash "$0" "$build"
fi

tmp=$(mktemp -d)
"$build/redlockd" --listen "unix:$tmp/socket" 2>"$tmp/log" &
daemon=$!
trap 'kill "$daemon"; rm -rf "$tmp"' EXIT
ask() { curl -fsS -m 20 --unix-socket "$tmp/socket" "$@"; }
ask --retry 9 --retry-all-errors -o /dev/null http://localhost/readyz

lease=$(openssl rand -hex 16)
ask -o /dev/null -X PUT -H "Lease-Id: $lease" --json '{}' http://localhost/v1/locks/demo
ask -X DELETE -H "Lease-Id: $lease" http://localhost/v1/locks/demo
ask http://localhost/metrics >"$tmp/metrics"
promtool check metrics <"$tmp/metrics"
echo "promtool: $(grep -c '^# TYPE' "$tmp/metrics") metrics, nothing to complain of"

ask http://localhost/openapi.json >"$tmp/openapi.json"
cd "$tmp"
npm install --no-audit --no-fund --loglevel=error "$validator" >/dev/null
node_modules/.bin/validate-api openapi.json | tee verdict
grep -q '"valid": true' verdict
