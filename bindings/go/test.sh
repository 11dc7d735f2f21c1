#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# test.sh REDLOCKD CERTS-SCRIPT: the client for Go is vetted, formatted, within its size, and keeps its promises
# against a fake service and real ones; the program of its README runs.
. "$(dirname "$0")/../../tests/service/lib.bash" "$@"
needs go
inside_dev 3 "$@"
unhurried
clients=$(readlink -f "$(dirname "$0")")
cd "$clients" || exit 1
export REDLOCKD=$redlockd CERTS=$tmp/certs GO111MODULE=on GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local
GOCACHE=$(go_cache) HOME=$tmp
export GOCACHE HOME
mkdir "$CERTS"
"$certs" "$CERTS" || exit 1

is 'gofmt has nothing to say' "$(gofmt -l . ../../examples/service)" ''
try go vet ./...
expect 'go vet has nothing to say' 0
files=$(ls ./*.go | grep -v _test)
# shellcheck disable=SC2086 # a list of names
that 'it has at most 900 lines of code' [ "$(cat $files | grep -v '^[[:space:]]*$' | grep -vc '^[[:space:]]*//')" -le 900 ]
is 'it imports the standard library alone' \
    "$(go list -deps -f '{{if not .Standard}}{{.ImportPath}}{{end}}' .)" redlock
# shellcheck disable=SC2086
is 'every exported name has its sentence' "$(awk '/^(func|type|var) (\([^)]*\) )?[A-Z]/ && last !~ /^\/\// { print FILENAME ": " $0 }
    { last = $0 }' $files)" ''

race=()
[ -z "${REDLOCK_RACE:-}" ] || race=(-race) # make test-clients
try go test "${race[@]}" -count 1 -timeout 300s ./...
expect "go test ${race[*]}" 0
[ "$status" = 0 ] || sed 's/^/# /' "$tmp/out"

# ---- the program of the README ----

mkdir "$tmp/program"
sed -n '/^```go$/,/^```$/p' README.md | sed '1d;$d' >"$tmp/program/main.go"
is 'it is formatted' "$(gofmt -l "$tmp/program")" ''
that 'it has at most ten lines' [ "$(grep -c . "$tmp/program/main.go")" -le 10 ]
start
that 'the daemon is ready' eventually ready
cd "$tmp/program" || exit 1
printf '#!/bin/sh\necho reported >>out\n' >report
chmod +x report
try go mod init program
try go mod edit -require=redlock@v0.0.0 -replace=redlock="$clients"
try env REDLOCK_SERVICE="unix:$socket" go run .
expect 'the program of the README runs' 0
is '   and has done its work' "$(cat out)" reported
stop
exit $failed
