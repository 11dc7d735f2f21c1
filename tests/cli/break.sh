#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `redlock break` evicts the holder that it has shown, never one that came after it.
. "$(dirname "$0")/lib.bash" "$@"
needs jq
inside_dev 3 "$@"

# A command under `redlock run` is ended when the run notices.
"$redlock" run -t 9s --label 'alice@web1:7 (make)' deploy -- sh -c 'echo $$ >"$0"; exec sleep 60' "$tmp/pid" 2>"$tmp/run" &
runner=$!
eventually [ -s "$tmp/pid" ]
"$redlock" run --label 'bob@web2:9 (sh)' deploy -- sh -c 'redlock status deploy' >"$tmp/next" 2>/dev/null &
next=$!
eventually queued deploy
try "$redlock" break deploy
expect 'without a terminal it does not ask, and does nothing' 64 'no terminal to ask on; --yes'
try "$redlock" status --held -q deploy
expect '   and nothing has changed' 0
try "$redlock" break --yes deploy
expect 'with --yes' 0
like '   it says whom, and how long that may act' "$out" '^deploy: evicted alice@web1:7 \(make\); it may still act for up to [0-9.]+ (s|ms)$'
wait $runner
is 'the evicted run ends with 76' $? 76
that '   and its command is gone' gone "$(cat "$tmp/pid")"
like '   with a word' "$(cat "$tmp/run")" 'redlock run: deploy: .*lost'
wait $next
is 'the waiter was woken' $? 0
like '   and has it' "$(cat "$tmp/next")" '^deploy: held by bob@web2:9 \(sh\), '
try "$redlock" break --yes deploy
expect 'what is free cannot be broken: 1' 1 'deploy is free: there is nothing to break'

# Several holders.
"$redlock" lock -t 60s --slots 4 --label 'first one' gpu >/dev/null
"$redlock" lock -t 60s --slots 4 --label 'second one' gpu >/dev/null
try "$redlock" break --yes gpu
expect 'of several holders one has to be named' 64 'gpu has several holders: name one with --holder'
like '   they are listed' "$err" '^  [0-9a-f]{8}  [0-9.]+ s  first one$'
like '   all of them' "$err" '^  [0-9a-f]{8}  [0-9.]+ s  second one$'
mark=$(grep -o '^  [0-9a-f]\{8\}.*second' <<<"$err" | cut -c3-10)
try "$redlock" break --yes --holder "$mark" gpu
expect '   by its mark' 0
like '   only that one goes' "$("$redlock" status gpu)" '^gpu: 1 of 4 slots taken \(first one\)'
try "$redlock" break --yes --holder 'second one' gpu
expect '   which is gone then' 64 'names none of its holders'
"$redlock" lock -t 60s --slots 4 --label 'third one' gpu >/dev/null
"$redlock" lock -t 60s --slots 4 --label 'fourth one' gpu >/dev/null
try "$redlock" break --yes --holder 'third one' gpu
expect '   or by its label' 0
try "$redlock" break --yes --all --json gpu
expect '--all: all of them' 0
is '   a line of JSON for each' "$(jq -r .label <<<"$out" | sort | paste -sd,)" 'first one,fourth one'
like '   and it is free' "$("$redlock" status gpu)" '^gpu: free$'
"$redlock" lock -t 60s -s --label r1 readers >/dev/null
value=$("$redlock" lock -t 60s -s --label r2 readers)
try "$redlock" break --yes --holder r1 readers
expect 'a reader' 0
try "$redlock" extend readers "$value"
expect '   while the other one stays' 0

# An owner's holds go together.
for i in 1 2; do "$redlock" lock -t 60s --owner me --label mine mine >/dev/null; done
try "$redlock" break --yes mine
expect 'all holds of an owner' 0
like '   at once' "$("$redlock" status mine)" '^mine: free, fence [0-9]+$'

# The holder that was shown is meant, whatever happens until the answer.
if has_terminal; then
    value=$("$redlock" lock -t 60s --label before race)
    terminal "$redlock break race"
    that 'on a terminal: whom it would evict' shows 'race: held by before, '
    shows 'Evict it? .y/N'
    "$redlock" unlock race "$value"
    value=$("$redlock" lock -t 60s --label after race)
    printf 'y\n' >&"$keys"
    finish
    is '   the holder that came after is not evicted: 1' "$status" 1
    like '   and it says so' "$screen" 'not evicted: it had given the lock back'
    try "$redlock" extend race "$value"
    expect '   it holds the lock as before' 0
    for answer in n y; do
        terminal "$redlock break race"
        shows 'Evict it? .y/N'
        printf '%s\n' $answer >&"$keys"
        finish
        [ $answer = y ] || is '   n is no: 1' "$status" 1
    done
    is '   y is yes: 0' "$status" 0
    try "$redlock" extend race "$value"
    expect '   and its holder has lost it' 76
else
    left_out 'the question'
fi

# Nodes that are missing.
"$redlock" lock -t 60s --label left x >/dev/null
"$redlock" dev kill 1 >/dev/null
try "$redlock" break --yes x
expect 'a majority is enough' 0
"$redlock" lock -t 60s --label left x >/dev/null
"$redlock" dev kill 2 >/dev/null
try "$redlock" break --yes x
expect 'a minority is not: 69' 69 '127.0.0.1:[0-9]+ +connection refused'
for bad in '' 'a b' '--all --holder x a' '--holder= a'; do
    # shellcheck disable=SC2086
    try "$redlock" break --yes $bad
    expect "break $bad" 64
done
done_testing
