#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The profile `correctness` of the command: tokens, kinds that are refused, nodes that do not pass.
. "$(dirname "$0")/lib.bash" "$@"
needs jq
inside_dev 3 "$@"
echo 'profile = correctness' >>"$tmp/unhurried"

try "$redlock" run x -- sh -c '[ "$REDLOCK_FENCE" -gt 0 ]'
expect 'a lock has a token' 0
try "$redlock" run -n --shared x -- true
expect 'a shared lock is refused, with what to do' 64 'a shared lock has no fencing token: use a mutex'
try "$redlock" run -n --profile efficiency --shared x -- true
expect '   which the command line can allow' 0
try "$redlock" run -n --guard off x -- true
expect 'it does not go without the guard' 78 'exclude each other'
try "$redlock" nodes
like 'nodes: one line has the profile and the promise' "$out" \
    '^3 independent servers, profile correctness: one holder; 1 of 3 may be away.*every lock has a token'
try "$redlock" doctor -v
like 'doctor: how many nodes pass which checks' "$out" 'profile +correctness; 3 of 3 nodes pass the safety checks \(role, identity'

for k in 2 3; do
    ask "$(port $k)" CONFIG SET maxmemory-policy allkeys-lru >/dev/null
    ask "$(port $k)" CONFIG SET maxmemory 100mb >/dev/null
done
try "$redlock" lock -q x
expect 'a majority that can evict locks grants none, and is not waited for' 69
try "$redlock" lock x
expect '   with the check' 69 'do not pass the safety checks of the profile correctness.*safety check eviction'
like '   and what to do' "$err" 'next: on the servers: CONFIG SET maxmemory-policy noeviction'
try "$redlock" doctor --json
is 'doctor fails for it' "$status $(jq -r '.checks[] | select(.check == "profile").verdict' <<<"$out")" '1 fail'
is '   and its JSON has the profile' "$(jq -r '.quorums[0].profile' <<<"$out")" correctness
like '   and the promise that is left' "$(jq -r '.quorums[0].guarantee' <<<"$out")" 'no lock is granted, as 1 of 3 nodes pass'
try "$redlock" lock -n --profile efficiency x
expect 'efficiency grants it, with a warning' 0 'evicts keys'
done_testing
