#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# -n does not wait for a holder. Nodes that did not answer in time are asked again, twice; nodes that
# refused are not.
. "$(dirname "$0")/lib.bash" "$@"
inside_dev 3 "$@"
hurried

# attempts: how many acquires the first server has seen since the last reset.
attempts() {
    local fd line size
    exec {fd}<>"/dev/tcp/127.0.0.1/$(port 1)"
    printf 'INFO commandstats\r\n' >&"$fd"
    IFS= read -r -t 5 size <&"$fd"
    IFS= read -r -t 5 -N "${size//[!0-9]/}" line <&"$fd"
    exec {fd}>&-
    sed -n 's/^cmdstat_set:calls=\([0-9]*\),.*/\1/p' <<<"$line"
}

try_lock() {
    ask "$(port 1)" CONFIG RESETSTAT >/dev/null
    try timeout 30 "$redlock" lock -n --guard off --no-native --node-timeout "$1" name
}

"$redlock" dev hang 2
"$redlock" dev hang 3
try_lock 300ms
expect 'two of three hang: 69' 69 '1 of 3 nodes could vote, 2 needed: '
is '   after three attempts' "$(attempts)" 3
unlike '   silent nodes are not called late' "$err" 'answers after'
like '   what to do' "$err" 'next: bring back enough nodes for a majority'
eventually free name
ok '   nothing is left behind'
"$redlock" dev resume 2
"$redlock" dev resume 3
try_lock 5s
is 'enough nodes: one attempt' "$status:$(attempts)" 0:1
try_lock 5s
is 'held by another: one attempt' "$status:$(attempts)" 75:1
"$redlock" dev kill 2
"$redlock" dev kill 3
ask "$(port 1)" DEL redlock:name >/dev/null
try_lock 5s
is 'two of three are gone: one attempt' "$status:$(attempts)" 69:1
done_testing
