#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# quickstart.sh REDLOCK PAGE: the examples of redlock-quickstart(7), run as they are written, in order.
#
# What a reader does with a block is what is done here: the first one is typed into a shell, a line of
# redlock.conf goes into the file of the machine, a line of a crontab is what cron makes of it, and a
# question is answered on a terminal. Any other block is a script. ./NAMEs write their name to `ran`.
. "$(dirname "$0")/../cli/lib.bash" "$1"
page=$(readlink -f "${2:?}")
. "$(dirname "$0")/six.bash"
unset REDLOCK_NODES

awk -v dir="$tmp/block" '
    BEGIN { system("mkdir -p " dir) }
    /^\.Bd -literal/ { inside = 1; name = sprintf("%s/%02d", dir, ++count); next }
    /^\.Ed/ { inside = 0; close(name); next }
    inside { gsub(/\\e/, "\\"); print >name }' "$page"
is 'the page has as many examples as this test knows' "$(find "$tmp/block" -type f | wc -l)" 9

# block N: its text.
block() { cat "$tmp/block/0$1"; }

# The shell of the first line reads the others, and their last one fails.
echo 'node-timeout = 500ms' >"$tmp/patient" # a busy machine may take its time to answer
export REDLOCK_CONFIG=$tmp/patient
try timeout 60 bash <"$tmp/block/01"
expect 'try it: with three of five hung or dead, status 69' 69 'too few nodes|could vote'
like '   five servers' "$out" '^one holder at a time$'
like '   two of them gone' "$out" '^three of five are a majority$'
unlike '   three of them gone' "$out" 'never printed'

block 2 | cat - "$tmp/patient" >"$tmp/redlock.conf"
export REDLOCK_CONFIG=$tmp/redlock.conf
try bash -e "$tmp/block/03"
expect 'doctor finds nothing that fails on new servers' 0
like '   and names init for those that do not vote yet' "$(paste -sd' ' <<<"$out" | tr -s ' ')" 'redlock init'
is 'init is the command of its block' "$(block 4)" 'redlock init'
if has_terminal; then
    terminal "$(block 4)"
    shows '\[y/N\]' || :
    printf 'y\n' >&"$keys"
    finish
    is '   it asks, and y is the answer' "$status" 0
else
    left_out 'the question of init'
    "$redlock" init --yes >/dev/null
fi
try "$redlock" run -n first -- true
expect '   and from then on the servers vote' 0

# cron takes five fields for the time, and gives the rest to a shell.
like 'the line for cron has a time' "$(block 5)" '^([0-9*/,-]+ ){5}redlock run '
for machine in 1 2 3; do
    crontab "$tmp/block/05" try
    expect "machine $machine: cron has nothing to mail" 0
    is '   and says nothing' "$err$out" ''
done
is '   one of them ran the command' "$(cat ran)" 'make report'

for number in 6 7 8; do
    rm -f ran
    programs "$tmp/block/0$number"
    try timeout 60 bash -e "$tmp/block/0$number" </dev/null
    expect "recipe $number runs" 0
    is '   with all of its commands' "$(paste -sd' ' ran)" \
        "$(grep -oE '\./[a-z.-]+' "$tmp/block/0$number" | cut -c3- | paste -sd' ')"
done

"$redlock" run --label 'the deployer' deploy -- sleep 60 2>"$tmp/evicted" &
deployer=$!
holds() { "$redlock" status -q --held deploy; }
that 'a lock is held meanwhile' eventually holds
block 9 >"$tmp/looks"
while IFS= read -r line; do
    what=${line%%  *#*}
    case $line in
    'redlock top '*)
        # Until the reader has seen enough.
        try timeout --preserve-status -s INT 1 bash -c "exec ${line%%#*}"
        expect 'top, until it is interrupted' 130
        ;;
    'redlock break '*)
        if has_terminal; then
            terminal "$line"
            shows 'the deployer' || :
            printf 'y\n' >&"$keys"
            finish
            out=$screen
        else
            left_out 'the question of break'
            try bash -c "${line%%#*} --yes"
        fi
        is 'break' "$status" 0
        ;;
    *)
        try bash -c "$line"
        expect "$what" 0
        ;;
    esac
    [[ $line == *nodes* ]] || like "$what names the holder" "$out" 'the deployer'
done <"$tmp/looks"
wait $deployer
is 'what was evicted ends with 76' $? 76
done_testing
