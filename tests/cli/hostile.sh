#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Values, labels and waiters that another program has planted on the nodes cannot steer a terminal,
# end a line or break JSON, whichever subcommand shows them.
. "$(dirname "$0")/lib.bash" "$@"
needs jq iconv
inside_dev 3 "$@"
export LC_ALL=C

bytes=$'[\001-\010\013-\037\177]|\302[\200-\237]|\330\234|\342\200[\216\217\250-\256]|\342\201[\246-\251]'
hex=0123456789012345678901234567890123456789

# plant WORD...: the same command on every node.
plant() {
    local k
    for k in 1 2 3; do ask "$(port $k)" "$@" >/dev/null; done
}

# calm WHAT COMMAND...: nothing of what it prints steers a terminal, and all of it is UTF-8.
calm() {
    local what=$1 file
    shift
    try "$@"
    for file in out err; do
        if LC_ALL=C grep -aqE "$bytes" "$tmp/$file" ||
            ! iconv -f UTF-8 -t UTF-8 "$tmp/$file" >/dev/null 2>&1; then
            not_ok "$what: $2" "$(cat -v "$tmp/$file")"
            return
        fi
    done
    if grep -q ' --json' <<<" $*" && ! json_lines <"$tmp/out" 2>/dev/null; then
        not_ok "$what: $2 is JSON" "$(cat -v "$tmp/out")"
        return
    fi
    ok "$what: redlock ${*:2}"
}

# show_all WHAT: every subcommand that shows a holder or a waiter of the lock h.
show_all() {
    local sub
    for sub in 'status h' 'status -v h' 'status --json h' list 'list --json' 'list -v' 'top -c 1' \
        'top -c 1 --json' 'lock -n h' 'lock -v -n h' 'lock --json -n h' 'run -n h -- true' 'hold -n h' \
        'run -v -w 1s h -- true' 'run -w 1200ms h -- true' 'extend h 00' 'extend --json h 00' \
        'unlock -v h 00' 'break --yes --holder zz h' 'break --json --yes --holder zz h'; do
        # shellcheck disable=SC2086
        calm "$1" "$redlock" $sub
    done
}

declare -A kinds=(
    [escapes]=$'\033]0;title\007\033[2J\033[31mred'
    [newlines]=$'one\ntwo\rthree\vfour'
    [C1]=$'a\302\2332Jb\302\205c'
    [direction]=$'abc\342\200\256fed\342\201\246x'
    [broken]=$'\377\376\300\200\355\240\200\360\237'
    [markup]='<b onclick="x">%s%n\"}],{"ok":false'
)
for kind in "${!kinds[@]}"; do
    bad=${kinds[$kind]}
    plant DEL redlock:h redlock.queue:h redlock.alive:h
    plant SET redlock:h "$bad" PX 60000
    show_all "a value of $kind"
    plant SET redlock:h "$hex@0198f0a1b2c $bad" PX 60000
    plant ZADD redlock.queue:h 1 "w0123456789abcdef $bad"
    plant ZADD redlock.alive:h 99999999999999 "w0123456789abcdef $bad"
    show_all "a label of $kind"
    if has_terminal; then
        for sub in 'run -w 1 h -- true' 'break h' 'status -v h'; do
            TERM=dumb terminal "TERM=dumb stty cols 200; TERM=dumb $redlock $sub </dev/null"
            finish
            if tr -d '\r' <"$tmp/screen" | LC_ALL=C grep -av '^Script' | LC_ALL=C grep -aqE "$bytes"; then
                not_ok "$kind on a terminal: $sub" "$(cat -v "$tmp/screen")"
            else
                ok "$kind on a terminal: $sub"
            fi
        done
    else
        left_out "$kind on a terminal"
    fi
    plant DEL redlock:h redlock.queue:h redlock.alive:h
    # Owner, readers and slots are fields and members of other keys.
    plant HSET redlock:h "$bad" 99999999999999
    calm "a hash of $kind" "$redlock" status -v h
    calm "a hash of $kind" "$redlock" status --json h
    plant DEL redlock:h
    plant ZADD redlock:h 99999999999999 "$bad"
    calm "a set of $kind" "$redlock" status -v h
    calm "a set of $kind" "$redlock" top -c 1
done

# What the user says is checked before it reaches a node.
for kind in escapes newlines C1 direction broken; do
    try "$redlock" lock -n --label "${kinds[$kind]}" mine
    expect "--label with $kind: 64" 64 'label takes printable text'
done
try "$redlock" lock -n --label "${kinds[markup]}" mine
expect '--label with markup is text like any other' 0
is '   and comes back as it was' "$("$redlock" status --json mine | jq -r .label)" "${kinds[markup]}"
long=$(printf 'ä%.0s' {1..40})
"$redlock" lock -t 50s --label "$long" long >/dev/null
is 'a long one is cut at a character' "$("$redlock" status --json long | jq -r .label)" "$(head -c 64 <<<"$long")"
"$redlock" lock -t 50s --label '' none >/dev/null
is 'an empty one is none' "$("$redlock" status --json none | jq -r .label)" null
like '   and the value is shown' "$("$redlock" status none)" '^none: held by [0-9a-f]{8}…, up to'
"$redlock" lock -t 50s d >/dev/null
like 'by default: user, host, process and what started it' "$("$redlock" status --json d | jq -r .label)" "^[^@]+@[^.:]+:$$ \\(bash\\)$"
like '   or which command runs' "$("$redlock" run e -- sh -c 'redlock status --json e' | jq -r .label)" '^[^@]+@[^.:]+:[0-9]+ \(sh\)$'
like '   by its name, not by its path' "$("$redlock" run e -- /bin/sh -c 'redlock status --json e' | jq -r .label)" '\(sh\)$'
long=$(printf 'w%.0s' {1..63})
if unshare -u true 2>/dev/null; then
    label=$(unshare -u sh -c "hostname $long && redlock run e -- sh -c 'redlock status --json e'" | jq -r .label)
    like 'of a long host name the process and the command are left' "$label" '^[^@]+@w+:[0-9]+ \(sh\)$'
    is '   and as much of the rest as there is room for' "${#label}" 64
else
    printf '# left out: no right to a host name of its own\n'
fi
done_testing
