#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The group `service` of cases.json, played over HTTP by a client of each language: C (redlock run --service), Python,
# Node, Go with a stream and with a lease, and curl.
. "$(dirname "$0")/../../tests/service/lib.bash" "$@"
needs curl jq openssl python3 node
inside_dev 3 "$@"
unhurried
cases=$(readlink -f "$(dirname "$0")")
examples=$(readlink -f "$cases/../../examples/service")
program=$(printf '%q run -q --service {service} --token-file %s --ttl "$TTL" {name} -- "$@"' "$redlock" '"$TOKEN_FILE"')
players=("c=lease=bash -c '$program' -" "sh=lease=bash $examples/hold.sh {url}"
    "py=lease=python3 $examples/hold.py {url}" "mjs=lease=node $examples/hold.mjs {url}")
if command -v go >/dev/null; then
    build_go_example
    players+=("go=stream=$tmp/hold {url}" "go-lease=lease=$tmp/hold {url}")
else
    echo '# go is not installed: its client is left out (make test-clients installs it)'
fi
python3 -B "$cases/service.py" "${players[@]}" "$cases/cases.json" "$redlockd" service || failed=1
exit $failed
