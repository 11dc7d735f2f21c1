#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# --json: one well-formed value per line on standard output, for successes, failures and mistakes.
. "$(dirname "$0")/lib.bash" "$@"
needs jq iconv
inside_dev 3 "$@"

# json WHAT STATUS PATTERN COMMAND...: the answer is JSON, contains PATTERN, and is all there is.
json() {
    local what=$1 want=$2 pattern=$3
    shift 3
    try "$@"
    if ! json_lines <"$tmp/out" 2>"$tmp/why"; then
        not_ok "$what: well-formed" "$(cat "$tmp/why"); $(seen)"
    elif [ "$status" != "$want" ] || ! grep -Eq -- "$pattern" <<<"$out"; then
        not_ok "$what" "expected $want and '$pattern'; $(seen)"
    elif [ -n "$err" ]; then
        not_ok "$what: nothing on standard error" "$err"
    else
        ok "$what"
    fi
}

for bad in '' '{' '{"a":01}' '["a",]' '{"a":"\x"}' $'"\t"' $'"\xff"' '{} {}' 'nul' '{"a":+1}' '[1.]' '[-.5]' NaN; do
    printf '%s\n' "$bad" | json_lines 2>/dev/null && not_ok "the checker takes $bad"
done
that 'the checker takes what is well-formed' json_lines <<<'{"a":[0,-1.5e-3,10,true,null,"1. +.0\"01"]}'
ok 'the checker refuses what is broken'

json 'lock' 0 '^\{"ok":true,"command":"lock","name":"a","kind":"mutex","value":"[0-9a-f]{40}@[0-9a-f]{11}%20[^ "]+","fence":[0-9]+,"slot":null,"ttl_ms":50000,"remaining_ms":[0-9]+,' \
    "$redlock" lock --json -t 50 a
value=$(grep -o '"value":"[^"]*"' <<<"$out" | cut -d'"' -f4)
like '   with its nodes' "$out" "\"nodes\":\[\{\"address\":\"127.0.0.1:$(port 1)\",\"vote\":\".*\"GRANTED\""
json 'lock, busy' 75 '"ok":false,"command":"lock","error":"BUSY",.*"exit_status":75,"name":"a",.*"remaining_ms":[0-9]+' \
    "$redlock" lock --json -n a
json 'run, busy' 75 '"error":"BUSY"' "$redlock" run --json -n a -- echo ran
json 'run, wait elapsed' 5 '"error":"TIMEOUT".*"exit_status":5' "$redlock" run --json -E 5 -w 900ms a true # short: a longer wait is reported
json 'status' 0 '"name":"a","held":true,"kind":"mutex","votes":3,"label":[^,]+,"holder":"[^"]+…","holders":1,"owner":null,"slots":null,"held_ms":[^,]+,"held_at_least":[a-z]+,"remaining_ms":[0-9]+,"fence":[0-9]+,"waiters":0,"disagree":false,"record":false,"held_by":.*"quorum":2' \
    "$redlock" status --json a b
like '   of each name' "$out" '"name":"b","held":false,"kind":null,"votes":0,"label":null,"holder":null,'
unlike '   without the value' "$out" "$value"
json 'extend' 0 '"ok":true,"command":"extend","name":"a","ttl_ms":60000,"remaining_ms":' \
    "$redlock" extend --json -t 60 a "$value"
json 'unlock' 0 '"ok":true,"command":"unlock","name":"a"' "$redlock" unlock --json a "$value"
json 'unlock again' 76 '"error":"EXPIRED".*"exit_status":76.*"vote":"MISSING"' \
    "$redlock" unlock --json a "$value"
json 'extend what is gone' 76 '"error":"LOST"' "$redlock" extend --json a "$value"
json 'nodes' 0 '"state":"up","answered":true,"quarantined":false,"quarantine_ms":null,"version":"(redis|valkey) [^"]*","rtt_us":[0-9]+,"clock_error_us":[0-9]+,"clock_offset_us":-?[0-9]+,"tls":false' \
    "$redlock" nodes --json
json 'init' 0 '"ok":true,"command":"init","changed":(true|false),"quorum":2,"nodes":\[\{"address":"[^"]*","vote":"GRANTED"' "$redlock" init --json --yes
json 'init, not confirmed' 64 '"error":"USAGE"' "$redlock" init --json --max-ttl 59s
json 'doctor' 0 '"ok":true,"command":"doctor","summary":\{"ok":[0-9]+,"warn":0,"fail":0,"unknown":0\},"checks":\[\{"node":null,"check":"number","verdict":"ok","text":"[^"]+","remedy":null\}' \
    "$redlock" doctor --json
json 'dev list' 0 '"nodes":\[\{"number":1,"address":"127.0.0.1:[0-9]+","state":"up","pid":[0-9]+\}' \
    "$redlock" dev list --json
try "$redlock" run --json a -- echo plain
is 'run: the output is that of the command' "$out$err" plain

odd=$(printf 'q"\\/\001\n\t\177 \303\244 \342\202\254 \360\237\224\222 \377\300\200 \355\240\200 end')
json 'a name of odd bytes' 0 '"name":"q\\"\\\\/\\u0001\\u000a\\u0009\\u007f ä € 🔒 (\\ufffd)+ (\\ufffd)+ end"' \
    "$redlock" status --json "$odd"
json 'lock with it' 0 '"ok":true' "$redlock" lock --json -t 9 "$odd"

json 'a mistake' 64 '"error":"USAGE","message":"unknown option --bogus' "$redlock" lock --json --bogus x
json '   found before --json' 64 '"error":"USAGE"' "$redlock" lock --bogus x --json
json '   no subcommand' 64 '"command":null' "$redlock" frob --json
json 'a wrong node' 78 '"error":"CONFIG"' "$redlock" lock --json --nodes rdis://x y
json 'a wrong file' 78 '"error":"CONFIG"' "$redlock" lock --json --config /nonexistent y
json 'no such command' 127 '"error":"NOT_FOUND"' "$redlock" run --json a -- /nonexistent
json 'lost' 76 '"ok":false,"command":"run".*"exit_status":76' "$redlock" run --json -t 30s a -- \
    bash -c "$(declare -f ask port); for k in 1 2 3; do ask \"\$(port \$k)\" DEL redlock:a >/dev/null; done"
json 'dev, no such node' 64 '"message":"there is no such node' "$redlock" dev kill 9 --json
"$redlock" run a -- true
json 'status, with a fence' 0 '"name":"a","held":false,.*"fence":[0-9]+,' "$redlock" status --json a
"$redlock" dev kill 2 >/dev/null
json 'doctor, a node down' 1 '"ok":false,"command":"doctor","error":"UNHEALTHY",.*"exit_status":1,.*"check":"reachable","verdict":"fail","text":"[^"]+","remedy":"[^"]+"' \
    "$redlock" doctor --json
for k in 1 2; do "$redlock" dev kill $k >/dev/null; done
for sub in 'lock -n x' 'run -n x true' 'extend x 00' 'unlock x 00' 'status x' nodes; do
    read -r -a words <<<"$sub"
    json "$sub without a majority" 69 '"error":"NOQUORUM".*"nodes":\[' \
        "$redlock" "${words[0]}" --json "${words[@]:1}"
done
json 'doctor without a majority' 69 '"error":"NOQUORUM",.*"exit_status":69' "$redlock" doctor --json
"$redlock" dev start 1 >/dev/null 2>&1
"$redlock" dev start 2 >/dev/null 2>&1
json 'lock, in quarantine' 69 '"error":"GUARDED",.*"exit_status":69,.*"advice":"wait [^"]*redlock init[^"]*",.*"vote":"GUARDED"' \
    "$redlock" lock --json -n x
json 'nodes, in quarantine' 0 '"quarantined":true,"quarantine_ms":[0-9]+,.*"why":"[^"]+"' "$redlock" nodes --json
done_testing
