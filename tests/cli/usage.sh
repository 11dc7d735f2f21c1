#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Bad input: every mistake has a message of its own and the right status, and nothing is sent.
. "$(dirname "$0")/lib.bash" "$@"
inside_dev 1 "$@"
hurried

# The server numbers its connections: it will show whether a client came.
first=$(ask "$(port 1)" CLIENT ID)
long=$(printf '%0513d' 0)
sixteen=$(seq -s, -f 'h%.0f' 16)

declare -A messages

# mistake STATUS PATTERN ARGUMENT...: fails with a message of its own.
mistake() {
    local want=$1 pattern=$2
    shift 2
    try "$redlock" "$@"
    expect "$want: redlock ${*//$long/<513 bytes>}" "$want" "$pattern"
    is "   nothing on standard output" "$out" ""
    local first=${err%%$'\n'*}
    if [ -n "${messages[$first]:-}" ]; then
        not_ok "   its message is its own" "$first"
    fi
    messages[$first]=1
}

mistake 64 'subcommand is missing'
mistake 64 "unknown subcommand 'rum'; did you mean 'run'" rum
mistake 64 "unknown subcommand 'frobnicate'" frobnicate
mistake 64 "unknown subcommand 'zzyzx'$" zzyzx
mistake 64 "unknown subcommand 'release'; did you mean 'unlock'" release
mistake 64 'unknown option --josn; did you mean --json' --josn status
mistake 64 'unknown option --skip-ok; options of a subcommand go behind it' --skip-ok run
mistake 64 'unknown option -n; options of a subcommand go behind it' -n run name -- true
mistake 64 'unknown option -; options' - run
mistake 64 '\-\-prefix needs a value' --prefix
mistake 64 'redlock dev: unknown option --nodes' --nodes x dev
mistake 64 'redlock run: NAME is missing: which lock' run
mistake 64 'COMMAND is missing' run name
mistake 64 'NAME is missing in front of --' run -- true
mistake 64 'lock name is empty' run '' -- true
mistake 64 'has 513 bytes; at most 512' run "$long" -- true
mistake 64 'unknown option --skip; did you mean --skip-ok' run --skip name -- true
mistake 64 'unknown option --tll; did you mean --ttl' run --tll 3 name -- true
mistake 64 'unknown option --zzzzzz$' run --zzzzzz name -- true
mistake 64 'unknown option -z' run -z name -- true
mistake 64 '\-t needs a value' run name -t
mistake 64 '\-\-ttl needs a value' run name --ttl
mistake 64 '\-\-skip-ok takes no value' run --skip-ok=yes name -- true
mistake 64 '\-n and -w contradict' run -n -w 3 name -- true
mistake 64 '\-q and -v contradict' run -q -v name -- true
mistake 64 'busy-status takes a number from 0 to 255' run -E 256 name -- true
mistake 64 "'0' must be more than zero" run -t 0 name -- true
mistake 64 "ttl: '-1' is negative" run -t -1 name -- true
mistake 64 "'banana' is not a duration" run -t banana name -- true
mistake 64 "'1e3' is not a duration" run -t 1e3 name -- true
mistake 64 "'5 s' is not a duration" run -t '5 s' name -- true
mistake 64 "'0.0001' is shorter than a millisecond" run -t 0.0001 name -- true
mistake 64 'a TTL of 9 ms is too short: at least 10 ms' run -t 9ms name -- true
mistake 64 'a TTL of 1 min 1 s is beyond the maximum of 1 min 0 s' run -t 61s name -- true
mistake 64 'renews the lock by itself while COMMAND runs, and 30 s is enough.* `redlock init --max-ttl 5m` .* then --max-ttl 5m' \
    run -t 5m name -- true
mistake 64 "'25h' is too long: at most 1d" run -t 25h name -- true
mistake 64 "wait: '366d' is too long: at most 365d" run -w 366d name -- true
mistake 64 "'99999999999999999999' is too long" run -w 99999999999999999999 name -- true
mistake 64 "'soon' is not a duration" run -w soon name -- true
mistake 64 "wait: '' is not a duration" run -w '' name -- true
mistake 64 'grace may be at most half' run --grace 16s name -- true
mistake 64 "min-hold: 'x' is not" run --min-hold x name -- true
mistake 64 "on-lost: .maybe. is neither term, kill, ignore nor" run --on-lost maybe name -- true
mistake 64 "on-lost: .SIGSTOP. is neither" run --on-lost SIGSTOP name -- true
mistake 64 "'perhaps' is neither on, off nor strict" run --guard perhaps name -- true
mistake 64 "'speed' is neither efficiency nor correctness" run --profile speed name -- true
mistake 64 'the nodes are named with --nodes' init 127.0.0.1:1
mistake 64 'unexpected word' doctor 127.0.0.1:1
mistake 64 'redlock doctor: a TTL of 1 min 1 s is beyond' doctor -t 61s
mistake 64 'redlock lock: NAME is missing' lock
mistake 64 'redlock extend: NAME is missing' extend
mistake 64 'VALUE is missing' unlock name
mistake 64 'the value is empty' unlock name ''
mistake 64 'the value is too long' unlock name "$(printf '%0161d' 0)"
mistake 64 'NAME is missing: --held is' status --held
mistake 64 'nodes are named with --nodes' nodes 127.0.0.1:1
mistake 64 'count takes a number from 1 to 15' dev -c 16
mistake 64 'port takes a number from 1 to 65535' dev --port 0
mistake 64 'leaves no room' dev --port 65533
mistake 64 "unknown action 'kil'; did you mean 'kill'" dev kil 1
mistake 64 'a command to run goes behind --' dev make
mistake 64 'COMMAND is missing behind --' dev --
mistake 64 'which node' dev kill
mistake 64 'kill takes a number' dev kill two
try env -u REDLOCK_DEV "$redlock" dev list
expect '64: redlock dev list, outside' 64 'REDLOCK_DEV is not set'

mistake 78 'nodes names no node' lock --nodes '' name
mistake 78 '16 nodes are given; a lock has at most 15' lock --nodes "$sixteen" name
mistake 78 'redlock lock: .*scheme' lock --nodes rdis://host name
mistake 78 'redlock lock: .*port' lock --nodes host:99999 name
mistake 78 'redlock lock: .*(same|twice)' lock --nodes host,host:6379 name
mistake 78 'password-file: cannot read /nonexistent/file: No such file' \
    lock --password-file /nonexistent/file name
mistake 78 'password-file: cannot read /: Is a directory' lock --password-file / name
mistake 78 'tls-ca: cannot read' lock --tls-ca /nonexistent name
mistake 78 'tls-key is given without tls-cert' lock --tls-key /dev/null name
mistake 64 "prefix: .*at most 64 bytes" lock --prefix "$(printf '%065d' 0)" name
mistake 64 "node-timeout: '2m' is too long" lock --node-timeout 2m name
mistake 64 "max-ttl: '2d' is too long" lock --max-ttl 2d name

mistake 64 'bench makes up the names' bench name
mistake 64 'delay takes a time from 50ms to 1h' watch -d 49ms x
mistake 64 'delay takes a time from 100ms to 1h' top -d 61m
mistake 64 'count takes a number from 1 on' watch -c 0 x
mistake 64 "min-hold: 'soon'" run --min-hold soon x -- true
mistake 64 'callers takes a number from 1 to 10000' bench --callers 0
mistake 64 'clients takes a number from 1 to 64' bench --clients 65
mistake 64 '--clients 9 are more than the 8 callers; raise --callers' bench --callers 8 --clients 9
mistake 64 'count takes a number from 1' bench -c -5
mistake 64 'rate takes a number of locks per second' bench -r 1e3
mistake 64 'duration takes a time of at most 1h' bench --duration 2h
mistake 64 'hold takes a time' bench --hold x
mistake 64 'hold: 1.5 s is more than half of the TTL of 2.0 s; .* with -t' bench --hold 1.5
mistake 64 '-w goes with --one-name only' bench -w 5s

try env REDLOCK_NODES= "$redlock" lock name
expect '78: REDLOCK_NODES set but empty' 78 'REDLOCK_NODES names no node'

last=$(ask "$(port 1)" CLIENT ID)
is 'nothing was sent' $((${last#:} - ${first#:})) 1

for sub in run lock extend unlock status list break top nodes doctor init bench dev; do
    try "$redlock" $sub --help
    expect "$sub --help" 0
    like "   it has an example" "$out" "^Examples?:"
    is "   and fits 80 columns" "$(awk 'length > 80' "$tmp/out")" ""
    help=$out
    try "$redlock" help $sub
    is "help $sub says the same" "$out" "$help"
done
try "$redlock" --help
expect '--help' 0
for way in --version -V version '--json --version' '--prefix x version'; do
    # shellcheck disable=SC2086 # words
    try "$redlock" $way
    like "$way" "$status:$out" '^0:(redlock [0-9]+\.[0-9]+\.[0-9]+ |\{"ok":true,"command":"version","version":"[0-9.]+"\})'
done
try "$redlock" --json --nodes "$REDLOCK_NODES" --node-timeout=3s nodes
like 'shared options before the subcommand' "$status:$out" '^0:\{"ok":true,"command":"nodes"'
try "$redlock" --json --nodes '' nodes
like '   are those of the subcommand' "$status:$out" '^78:\{"ok":false,"command":"nodes".*names no node'
try "$redlock" -q --prefix a: run --node-timeout 3s -n name -- echo --json
is '   and leave COMMAND alone' "$status:$out:$err" 0:--json:
try "$redlock" --json help lock
like '   help too' "$status:$out" '^0:Usage: redlock lock '
try "$redlock" run -n -q --nodes 127.0.0.1:1 name true --help
unlike 'an option behind COMMAND is not ours' "$out" Usage
done_testing
