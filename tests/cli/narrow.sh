#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What is shown on a terminal fits its width: columns are left out and words go on in the next line.
# A dumb terminal gets no escape codes at all.
. "$(dirname "$0")/lib.bash" "$@"
needs terminal stty
inside_dev 5 "$@"
export LC_ALL=C.UTF-8

# widest: columns of the widest line on the screen, without the lines of script(1) and escape codes.
widest() {
    grep -av '^Script' "$tmp/screen" | tr '\r' '\n' | sed $'s/\033\\[[0-9;?]*[A-Za-z]//g' | wc -L
}

"$redlock" run -t 50s --label 'a label of several words, and of as many bytes as it may have:64' long -- sleep 600 2>/dev/null &
holders=$!
"$redlock" run -t 50s --label 'deploy@web3.example.com:4711 (make)' "$(printf 'name%060d' 7)" -- sleep 600 2>/dev/null &
holders+=" $!"
eventually held long
eventually held "$(printf 'name%060d' 7)"
"$redlock" run --label 'somebody@else:1 (true)' long -- true 2>/dev/null &
waiter=$!
eventually queued long
"$redlock" dev kill 2 >/dev/null
"$redlock" dev start 2 >/dev/null 2>&1
"$redlock" dev kill 4 >/dev/null
for columns in 80 60; do
    for sub in list 'status' nodes doctor 'lock -v -n long' 'top -c 1' 'extend long 00' 'status -v long' \
        'run -w 6 long -- true'; do
        terminal "stty rows 40 cols $columns; $redlock $sub"
        finish
        that "$columns columns are enough for $sub" [ "$(widest)" -le $columns ]
        that '   and there is something to see' [ "$(grep -avc '^Script' "$tmp/screen")" -ge 1 ]
    done
done
terminal "stty rows 40 cols 80; $redlock nodes"
finish
like 'what cannot be shown in 80 columns is left out from the right' "$screen" 'NODE +STATE +VOTES +VERSION +WHY'
like '   and why a node does not vote goes on between words' "$screen" '^ {50,}vote in [0-9]+ s'
terminal "stty rows 40 cols 200; $redlock nodes"
finish
like 'all of it in 200' "$screen" 'CONNECTS +WHY'
terminal "stty rows 40 cols 200; $redlock top -c 1"
finish
like 'wide windows do not tear the columns apart' "$screen" 'NAME {60,64}HOLDER {2,64}KIND {2,20}FOR'
terminal "stty cols 80; $redlock init --force --max-ttl 59s"
shows 'y/N'
printf 'n\n' >&"$keys"
finish
that 'the question of init fits 80 columns' [ "$(widest)" -le 80 ]
like '   and yes is the answer to do it' "$screen" 'may they vote now\? \[y/N\]'

# Without escape codes.
terminal "stty cols 80; TERM=dumb $redlock top -c 1"
finish
unlike 'a dumb terminal: no codes of top' "$screen" $'\033'
like '   but a frame' "$screen" ' vote, '
terminal "stty cols 80; TERM=dumb $redlock run -w 6 long -- true"
finish
unlike '   nor of a wait' "$screen" $'\033'
is '   which says once what it waits for' "$(grep -c 'waiting for long: 2nd in line, held by' <<<"$screen")" 1
for sub in list nodes doctor 'status -v long'; do
    terminal "TERM=dumb $redlock $sub"
    finish
    unlike "   nor of $sub" "$screen" $'\033'
done
# shellcheck disable=SC2086
kill $waiter $holders
wait
done_testing
