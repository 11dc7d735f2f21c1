#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `redlock status`: every kind, the waiters, the list of all locks, and nodes that disagree.
. "$(dirname "$0")/lib.bash" "$@"
inside_dev 3 "$@"
# So long that none of these locks expires before the end.
export REDLOCK_MAX_TTL=10m
"$redlock" init --yes >/dev/null 2>&1

try "$redlock" status
expect 'nothing is there' 0 'no locks'
is '   which is no line of output' "$out" ''
mutex=$("$redlock" lock -t 10m plain)
for k in 1 2 3; do ask "$(port $k)" SCRIPT FLUSH >/dev/null; done
like 'everything that is there, also before the servers know the script' "$("$redlock" status)" '^plain  .* exclusive'
"$redlock" lock -t 10m -s readers >/dev/null
like 'one reader' "$("$redlock" status readers)" '^readers: held by 1 reader.*, for [0-9a-z. ]+, up to [0-9a-z. ]+ more$'
"$redlock" lock -t 5m -s readers >/dev/null
"$redlock" lock -t 10m --owner me mine >/dev/null
"$redlock" lock -t 10m --owner me mine >/dev/null
"$redlock" lock -t 10m --slots 4 gpu >/dev/null
"$redlock" lock -t 10m 'odd *?[x] name' >/dev/null

try "$redlock" status
expect 'a line for each' 0
like '   plain' "$out" '^plain +[^ ].* exclusive +[^ ]+ +[0-9ms]+ +0$'
like '   readers, and the longest of them' "$out" '^readers +2 readers.* shared +[^ ]+ +[5-9]m[0-9]+s +0$'
like '   re-entrant' "$out" '^mine +[^ ].* exclusive +[^ ]+ +[0-9ms]+ +0$'
like '   slots' "$out" '^gpu +1 of 4.* slots +[^ ]+ +[0-9ms]+ +0$'
like '   any name' "$out" '^odd \*\?\[x\] name  [^ ]'
is '   in the order of their names' "$(tail -n +2 <<<"$out" | sed 's/  .*//' | paste -sd,)" 'gpu,mine,odd *?[x] name,plain,readers'
is '   as list and ls do' "$(for sub in list ls; do "$redlock" $sub | cut -c1-16; done)" "$(cut -c1-16 <<<"$out"$'\n'"$out")"
is 'a pattern' "$("$redlock" list 'p*' '?pu' | tail -n +2 | cut -d' ' -f1 | paste -sd,)" gpu,plain
try "$redlock" list 'x*'
expect 'a pattern that matches nothing' 0 'no lock has such a name'
like 'status of one: the owner, and how often' "$("$redlock" status mine)" '^mine: held by [^,]+,.* 2 times,.* up to [0-9a-z. ]+ more, fence [0-9]+$'
like '   slots' "$("$redlock" status gpu)" '^gpu: 1 of 4 slots taken.*, for [0-9a-z. ]+, up to [0-9a-z. ]+ more$'
like '   readers' "$("$redlock" status readers)" '^readers: held by 2 readers.*, the first for [0-9a-z. ]+, up to [5-9] min [0-9]+ s more$'
is '   -v: each of them, for how long, and what it has left' \
    "$("$redlock" status -v readers | grep -cE '^  [^@ ]+@[^ ]+ \([a-z]+\) +[0-9.]+ [0-9a-z ]+  [0-9]+ min [0-9]+ s$')" 2
try "$redlock" status 'rea*'
expect 'a pattern is taken as a name, and list is named' 0 "redlock list 'rea\*'"
is '   which is said beside the answer' "$out" 'rea*: free'
try "$redlock" status --json 'rea*'
is '   but not with --json' "$err" ''
is '   and nothing else' "$("$redlock" status --prefix nobody: 2>&1)" 'redlock status: no locks'
like 'what stands beside locks is no prefix' "$("$redlock" status --prefix redlock.fence: 2>&1)" 'beside locks'
is 'another prefix' "$("$redlock" status --prefix redlock:od 2>/dev/null | tail -n +2 | sed 's/  .*//')" 'd *?[x] name'
is 'a prefix of wildcards' "$("$redlock" status --prefix 'redlock?' 2>&1)" 'redlock status: no locks'
like 'without a prefix, keys as they are' "$("$redlock" status --prefix '')" '^redlock:plain  '
unlike '   but not our own' "$("$redlock" status --prefix '')" '^redlock\.'
like '-v: node by node' "$("$redlock" status -v mine)" "127.0.0.1:$(port 2) +held +[^ ]+ +exclusive +2 +[0-9]"
try "$redlock" status --held
expect '--held needs a name' 64 'NAME is missing: --held'
for k in 1 2 3; do ask "$(port $k)" SET redlock:split "value-of-$k" PX 600000 >/dev/null; done
like 'three values on three nodes: not free, and held by none' "$("$redlock" status split | paste -sd' ')" \
    '^split: no holder has a majority, though set on 3 of 3 nodes, nodes disagree'
ask "$(port 3)" DEL redlock:split >/dev/null
like '   two of them' "$("$redlock" status split | paste -sd' ')" '^split: no holder has a majority, though set on 2 of 3 nodes'
ask "$(port 2)" DEL redlock:split >/dev/null
like '   one of them: it can be had' "$("$redlock" status split | paste -sd' ')" '^split: free, though set on 1 of 3 nodes'
ask "$(port 1)" DEL redlock:split >/dev/null

# JSON.
try "$redlock" status --json readers
like 'json: kind, holders, waiters, disagree' "$out" '"kind":"shared",.*"holders":2,.*"waiters":0,"disagree":false'
like '   of every node' "$out" '"rtt_us":[0-9]+,"kind":"shared","holders":2,"waiters":0,"differs":false'
try "$redlock" status --json mine
like '   owner' "$out" '"owner":"me","slots":null'
try "$redlock" status --json gpu
like '   slots' "$out" '"kind":"semaphore",.*"holders":1,.*"slots":4'
try "$redlock" status --json nothing
like '   nothing' "$out" '"held":false,"kind":null,.*"holders":0,"owner":null'
is '   a line for each' "$("$redlock" status --json | wc -l)" 5
owner=$("$redlock" run a -- sh -c 'redlock status a; echo $REDLOCK_OWNER')
unlike 'a made up owner is not given away' "$(head -n 1 <<<"$owner")" "$(tail -n 1 <<<"$owner")"

# Waiters.
"$redlock" run plain -- true &
one=$!
eventually queued plain 1
"$redlock" run -s plain -- true &
eventually queued plain 2
like 'how many wait, and the first of them' "$("$redlock" status plain)" 'up to [0-9a-z. ]+ more, fence [0-9]+, 2 waiting'
like '   in JSON' "$("$redlock" status --json plain)" '"waiters":2,'
like '   who they are' "$("$redlock" status plain)" ', 2 waiting \([^@ ]+@[^ ]+:[0-9]+ \(true\), [^@ ]+@[^ ]+ \(true\)\)$'
like '   -v: and for how long each' "$("$redlock" status -v plain)" "^  [^@ ]+@[^ ]+:$one \\(true\\) +[0-9a-z. ]+$"
is '   in JSON' "$("$redlock" status --json plain | grep -o '"waiting":.*"quorum"' | grep -o '"label":"[^"]*(true)"' | wc -l)" 2
kill $one
wait $one
like '   one less' "$("$redlock" status plain)" ', 1 waiting'
"$redlock" unlock plain "$mutex"
wait

# Disagreement.
ask "$(port 2)" DEL redlock:mine >/dev/null
try "$redlock" status mine
like 'a node without the key' "$out" '^mine: held by .*, on 2 of 3 nodes, fence [0-9]+, nodes disagree$'
like '   it is marked' "$out" "127.0.0.1:$(port 2) +no such key .*differs$"
is '   alone' "$(grep -c differs <<<"$out")" 1
try "$redlock" status --json mine
like '   in JSON' "$out" '"disagree":true'
is '   once' "$(grep -o '"differs":true' <<<"$out" | wc -l)" 1
ask "$(port 3)" DEL redlock:gpu >/dev/null
ask "$(port 3)" SET redlock:gpu intruder PX 600000 >/dev/null
try "$redlock" status gpu
like 'a node with another kind' "$out" "127.0.0.1:$(port 3) +held +intruder… +exclusive .*differs$"
if has_terminal; then
    terminal "$redlock status mine"
    finish
    like 'in colour on a terminal' "$screen" $'\033\\[31mnodes disagree\033\\[0m'
else
    left_out 'in colour on a terminal'
fi
try "$redlock" status mine
unlike '   and only there' "$out" $'\033'

# Nodes that are missing.
"$redlock" dev kill 3 >/dev/null
try "$redlock" status
expect 'a majority is enough' 0
like '   for the listing' "$out" '^readers +2 readers'
"$redlock" dev kill 2 >/dev/null
try "$redlock" status
expect 'a minority is not' 69 '1 of 3 nodes could vote'
is '   and shows nothing' "$out" ''
done_testing
