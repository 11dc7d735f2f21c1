#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# readme.sh REDLOCK BUILD-DIRECTORY FILE: the examples of a Markdown file, run as they are written.
#
# Every fenced block with the name of a language is run, in order, from a directory of its own:
#   sh, bash  by bash -e, one after another. A program ./NAME of the block, and every target of make,
#             is one that writes its name to `ran`; *.c is the last C block above it.
#   c         compiled with the library; it ends with 0, and without nodes with another status.
#   crontab   as by cron, line by line.
#   python    by python3. js: by node, if there is one.
# A block that cannot be run says why in the line above its fence, <!-- not run: WHY -->; any other
# language needs that, too. The nodes are six servers, 10.0.0.1 to 10.0.0.6 or redis1 to redis6, in a
# network of their own; each block begins with empty ones that may vote.
. "$(dirname "$0")/../cli/lib.bash" "$1"
build=$(readlink -f "${2:?}") file=$(readlink -f "${3:?}")
needs curl openssl "${CC:-cc}" pkg-config
. "$(dirname "$0")/six.bash"
unhurried

awk -v dir="$tmp/block" '
    BEGIN { system("mkdir -p " dir) }
    inside && /^ *```/ { inside = 0; close(name); next }
    inside { print substr($0, indent + 1) >name; next }
    match($0, /^ *```[a-z]+ *$/) {
        match($0, /^ */); indent = RLENGTH
        language = $0; gsub(/[` ]/, "", language)
        inside = 1; name = sprintf("%s/%03d.%s", dir, ++count, language); printf "" >name
        if (match(before, /^ *<!-- not run: .*[^ ].* -->$/))
            print substr(before, RSTART) >sprintf("%s/%03d.why", dir, count)
        next
    }
    /^ *```/ { inside = 1; indent = 0; name = "/dev/null"; next }
    { before = $0 }' "$file"

# pkg-config finds the library where it was built; scripts/check-install.sh installs it.
export PKG_CONFIG_PATH=$tmp LD_LIBRARY_PATH
LD_LIBRARY_PATH=$(dirname "$(find "$build" -name libredlock.so | head -n1)")
printf 'Name: redlock\nDescription: as built\nVersion: 0\nCflags: -I%s\nLibs: -L%s -lredlock\n' \
    "$(readlink -f "$here/../../include")" "$LD_LIBRARY_PATH" >"$tmp/redlock.pc"
default=redis://10.0.0.1,redis://10.0.0.2,redis://10.0.0.3
export REDLOCK_NODES=$default
source=
# nodes_of FILE: those that it exports; else those of the blocks before it.
nodes_of() {
    local line
    line=$(grep -oE '^(export )?REDLOCK_NODES=.*' "$1" | tail -n1)
    [ -z "$line" ] || eval "${line%%#*}"
    printf '%s' "$REDLOCK_NODES"
}

compile_and_run() {
    source=$1
    try "${CC:-cc}" -std=c11 -Wall -Wextra -Werror -o example "$1" $(pkg-config --cflags --libs redlock)
    expect "block $2 (c) compiles" 0
    try timeout 60 ./example
    expect "block $2 (c) runs" 0
    for k in 1 2 3; do kill -STOP "${servers[k - 1]}"; done
    try timeout 60 ./example
    for k in 1 2 3; do kill -CONT "${servers[k - 1]}"; done
    that "block $2 (c) does not exit with 0 when it failed" [ "$status" != 0 ]
}

ran=0 left=0
for block in "$tmp"/block/*.*; do
    number=$(basename "${block%.*}") language=${block##*.}
    [ "$language" != why ] || continue
    if [ -e "${block%.*}.why" ]; then
        left=$((left + 1))
        printf '# not run: block %s (%s): %s\n' "$number" "$language" "$(sed 's/.*not run: //; s/ -->//' "${block%.*}.why")"
        continue
    fi
    ran=$((ran + 1))
    REDLOCK_NODES=$(nodes_of "$block")
    afresh "$REDLOCK_NODES"
    case $language in
    c) compile_and_run "$block" "$number" ;;
    sh | bash)
        programs "$block"
        try timeout 100 bash -e "$block" </dev/null
        expect "block $number ($language) runs" 0
        ;;
    crontab)
        crontab "$block" try timeout 60
        expect "block $number ($language) runs" 0
        ;;
    python)
        try timeout 60 python3 "$block" </dev/null
        expect "block $number ($language) runs" 0
        ;;
    js | javascript)
        if ! command -v node >/dev/null; then
            printf '# left out: block %s: node is not installed\n' "$number"
            continue
        fi
        try timeout 60 node "$block" </dev/null
        expect "block $number ($language) runs" 0
        ;;
    *) not_ok "block $number: how is $language run? <!-- not run: WHY --> above it says why not" ;;
    esac
done
printf '# %d blocks were run, %d were not\n' "$ran" "$left"
that 'there are examples' [ "$ran" -gt 0 ]

# Only one file has it.
[ "$(basename "$file")" = README.md ] || done_testing

DOORS=3 COMMANDS_MAX=3 LINES_MAX=200 CODE_COLUMNS_MAX=92
is 'it begins with its doors' "$(grep '^## ' "$file" | head -n $DOORS | grep -c '^## I have ')" $DOORS
for ((door = 1; door <= DOORS; door++)); do
    commands=$(awk -v door=$door '/^## /{ at++ } at == door && /^```/{ fences++; next } at == door && fences == 1' "$file" | grep -c .)
    that "$commands commands lead through door $door to a held lock" \
        [ "$commands" -ge 1 -a "$commands" -le $COMMANDS_MAX ]
done
that 'it is short' [ "$(wc -l <"$file")" -le $LINES_MAX ]
is 'no line of its code is cut off on a page' \
    "$(awk -v max=$CODE_COLUMNS_MAX '/^```/{ code = !code; next } code && length > max' "$file")" ''

cron=$(grep -lE ' redlock run .*--every .* -- ' "$tmp"/block/*.crontab | head -n1)
that 'an example has a line for cron' [ -n "$cron" ]
rm -f ran
afresh "$default"
for k in 0 1 2 3 4 5 6 7 8 9; do
    (
        read -r -t "0.$k" _ <> <(:)
        crontab "$cron" </dev/null
    ) >"$tmp/cron.$k" 2>&1 &
    machines[k]=$!
done
wrong=0
for k in "${!machines[@]}"; do wait "${machines[k]}" || wrong=$((wrong + 1)); done
is 'the line for cron runs its job once on ten machines' "$(wc -l <ran)" 1
is '   and each of them ends with 0' "$wrong" 0
is '   without a word' "$(cat "$tmp"/cron.? | grep -v '^$')" ''
command=$(grep -oE 'redlock run .*--every .*' "$cron")
for where in 'redlock help' 'redlock help run' redlock.1 redlock-quickstart.7; do
    case $where in
    *.[1-9]) text=$(cat "$here/../../man/$where") ;;
    *) text=$($where) ;;
    esac
    that "$where has the same line" grep -qF -- "$command" <<<"$text"
done
done_testing
