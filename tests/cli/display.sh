#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What comes from outside, names of locks and arguments alike, cannot drive a terminal or be shown
# as something else; a URL with a password in it is never repeated.
. "$(dirname "$0")/lib.bash" "$@"
needs jq iconv
inside_dev 3 "$@"

# C0, DEL, C1 (CSI), line separators and the characters that change the direction of writing.
steering=$'\033[31m\177\302\233\302\200\302\237\330\234\342\200\216\342\200\217\342\200\250\342\200\251\342\200\252\342\200\256\342\201\246\342\201\251'
name=a${steering}z
shown='a\?\[31m\?{13}z'
bytes=$'[\001-\010\013-\037\177]|\302[\200-\237]|\330\234|\342\200[\216\217\250-\256]|\342\201[\246-\251]'

# harmless WHAT FILE: no character in it steers a terminal.
harmless() {
    local found
    if found=$(LC_ALL=C grep -aE "$bytes" "$2"); then
        not_ok "$1" "$(cat -v <<<"$found")"
    else
        ok "$1"
    fi
}

# calm WHAT STATUS COMMAND...: runs it; nothing of what it prints steers a terminal.
calm() {
    local what=$1 want=$2
    shift 2
    try "$@"
    expect "$what" "$want"
    harmless '   its output is harmless' "$tmp/out"
    harmless '   its messages are harmless' "$tmp/err"
}

value=$("$redlock" lock -t 50s "$name")
calm 'status' 0 "$redlock" status "$name"
like '   shows the name' "$out" "^$shown: "
calm 'status of all' 0 "$redlock" status
like '   shows the name' "$out" "^$shown  .*exclusive"
calm 'top' 0 "$redlock" top -c 1
like '   shows the name' "$out" '^a\?\[31m\?{10,}…  .*exclusive'
calm 'lock, busy' 75 "$redlock" lock -n "$name"
like '   shows the name' "$err" "$shown"
calm 'run, busy' 75 "$redlock" run -n "$name" -- true
calm 'run, waiting' 75 "$redlock" run -v -w 1s "$name" -- true
like '   shows the name' "$err" "waiting for $shown"
calm 'run -v' 0 "$redlock" run -v "free$name" -- true
calm 'unlock with a wrong value' 76 "$redlock" unlock "$name" 00
calm 'extend with a wrong value' 76 "$redlock" extend "$name" 00
calm 'nodes --where' 0 "$redlock" nodes --where "$name"
calm 'nested' 64 "$redlock" run "outer$name" other -- "$redlock" run "outer$name" -- true

# In JSON the name stays what it is: escaped, and the same after decoding.
escaped='"name":"a\\u001b\[31m\\u007f\\u009b\\u0080\\u009f\\u061c\\u200e\\u200f\\u2028\\u2029\\u202a\\u202e\\u2066\\u2069z"'
for sub in "status --json" "top --json -c 1" "lock --json -n" "nodes --json --where"; do
    # shellcheck disable=SC2086
    try "$redlock" $sub "$(case $sub in top*) printf %s -q ;; *) printf %s "$name" ;; esac)"
    that "$sub is JSON" json_lines <"$tmp/out"
    harmless '   and harmless' "$tmp/out"
    like '   and its name is escaped' "$out" "$escaped"
done
is 'other characters are left as they are' \
    "$("$redlock" status --json 'ä€🔒 ‐‑—“”' | grep -o '"name":"[^"]*"')" '"name":"ä€🔒 ‐‑—“”"'
"$redlock" unlock "$name" "$value" || not_ok unlock

# Arguments that come back in messages.
while read -r want option; do
    calm "$option" "$want" "$redlock" lock -n "$option" "redlock.$steering" x
done <<'END'
78 --prefix
77 --user
78 --password-file
78 --tls-ca
78 --tls-cert
78 --config
78 --nodes
64 --ttl
64 --wait
64 --no-such-option
END
calm 'an unknown subcommand' 64 "$redlock" "$steering"
calm 'a command that is not there' 127 "$redlock" run x -- "./$steering"
calm 'a server that is not there' 78 "$redlock" dev --server "./$steering" -- true
calm 'a directory for dev that is a file' 78 "$redlock" dev --dir "$redlock/$steering" -- true
calm 'a directory without a dev' 69 "$redlock" dev --dir "$tmp/$steering" list
calm 'a configuration file with a mistake' 78 "$redlock" lock -n \
    --config <(printf 'ttl = %s\n' "$steering") x
socket=$tmp/$'s\302\233\342\200\256'
for sub in 'lock -n x' 'status x' 'nodes -v --where x' 'init --yes' doctor 'run -n x true'; do
    # shellcheck disable=SC2086
    try "$redlock" ${sub%% *} --nodes "unix://$socket" $(cut -s -d' ' -f2- <<<"$sub")
    harmless "a socket of such a name: $sub" "$tmp/out"
    harmless '   and its messages' "$tmp/err"
done

# hidden ARGUMENT...: a URL where a path or a name belongs is not repeated with its password.
secret=sEcReT-0815
hidden() {
    try "$redlock" "$@"
    [ "$status" != 0 ] || not_ok "it succeeded: ${*//$secret/...}"
    unlike "not repeated: redlock ${*//$secret/...}" "$out$err" "$secret"
    try "$redlock" "${@:1:1}" --json "${@:2}"
    unlike '   nor with --json' "$out$err" "$secret"
}
cd "$tmp" || exit 1
for url in "redis://:$secret@h" "redis://me:$secret@h:1/2" "rediss://$secret:@h" "me:$secret@h"; do
    for option in --config --password-file --tls-ca --tls-cert --ttl --no-such-option; do
        hidden lock "$option" "$url" -n x
    done
    hidden dev --dir "$url" list
    [ "${url#redis}" = "$url" ] || hidden dev --dir "$url" -- true
    hidden dev --server "$url" -- true
    hidden run x -- "$url"
done
try env REDLOCK_CONFIG="redis://:$secret@h" "$redlock" lock -n x
expect 'in REDLOCK_CONFIG' 78 'cannot read the configuration file \*\*\*@h: No such file'
unlike '   neither' "$err" "$secret"
try "$redlock" lock -n --config "$tmp/unit@1.conf" x
expect 'a path with an @ in it is shown' 78 "configuration file $tmp/unit@1.conf: No such file"
done_testing
