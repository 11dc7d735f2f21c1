#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# GET /v1/status?locks=N: locks and trouble in the order of importance; and the page at /, without a browser.
. "$(dirname "$0")/lib.bash" "$@"
needs curl python3 jq openssl sha256sum
inside_dev 3 "$@"
unhurried
printf 'reader %s\n' "$(digest secret)" >"$tmp/tokens"
start --tokens "$tmp/tokens" --allow "uid:$(id -u) * acquire,read,break,admin" --allow 'token:reader old read' \
    --allow 'token:reader evicted read'
get() { curl -sS -m 60 --unix-socket "$socket" "$@"; }
eventually ready
count=0
# hold NAME BODY [CURL-ARGUMENT...]. In the background, count is raised by the caller.
hold() {
    count=$((count + 1))
    get -X PUT -H "Lease-Id: lease-of-the-status-test-$count" --json "$2" "${@:3}" "http://h/v1/locks/$1"
}
# has FILTER: true of the status.
has() { get 'http://h/v1/status?locks=100' >"$tmp/status" && jq -e "$1" "$tmp/status" >/dev/null; }

# ---- locks ----

is 'without locks=N no node is asked' "$(get http://h/v1/status | jq -c '[.locks, .look]')" '[null,null]'
for bad in 0 1001 x '' '5&locks=5'; do
    is "locks=$bad is refused" "$(get "http://h/v1/status?locks=$bad" | jq -r .code)" QUERY
done
# Renewed by processes, however long the test takes.
keeps() { # LABEL NAME [OPTION]
    sleep 1000 | "$redlock" hold --label "$1" "${@:3}" "$2" >"$tmp/kept-$1" &
    eventually grep -qs held "$tmp/kept-$1"
}
keeps first old
keeps it busy
keeps r1 readers --shared
keeps r2 readers --shared
keeps elsewhere outside
waiters=
for i in 1 2 3; do
    hold busy '{"wait_ms":40000}' >/dev/null &
    waiters+=" $!" count=$((count + 1))
done
"$redlock" lock -w 40s old >/dev/null 2>&1 &
waiters+=" $!"
that 'what most wait for comes first, then what is held for longest' eventually has \
    '(.locks | map(.name)) == ["busy", "old", "readers", "outside"]'
that '   all that wait here are counted, and those of other programs' eventually has \
    '(.locks | map(.waiters)) == [3, 1, 0, 0]'
is '   holders' "$(jq -c '[.locks[] | [.kind, .holder_count, (.holders | map(.label) | sort)]]' "$tmp/status")" \
    '[["mutex",1,["it"]],["mutex",1,["first"]],["shared",2,["r1","r2"]],["mutex",1,["elsewhere"]]]'
that '   age and remaining time' jq -e '.locks[0] | .held_ms >= 0 and .remaining_ms > 0 and .held' "$tmp/status"
"$redlock" run --every 1h --label 'of a run' job -- true
ask "$(port 1)" DEL redlock:job.every >/dev/null
that 'the record of a run comes last' eventually has '(.locks | map(.name))[4] == "job.every"'
that '   and is marked' jq -e '.locks[4] | .record and .holders[0].label == "of a run"' "$tmp/status"
is '   no other is' "$(jq -c '.locks[:4] | map(.record)' "$tmp/status")" '[false,false,false,false]'
# A second look that finds the same makes trouble of what the nodes disagree about.
"$redlock" lock -t 50s split >/dev/null
ask "$(port 1)" DEL redlock:split >/dev/null
that '   nodes that have forgotten it are no trouble' eventually has \
    '[.locks[] | select(.disagree) | .name] == ["split"]'
is '   nor are they of the lock alone' "$(get http://h/v1/locks/job.every | jq -c '[.record, .disagree]')" '[true,false]'
for k in 1 2 3; do ask "$(port $k)" DEL redlock:split redlock:job.every >/dev/null; done
that '   both are gone' eventually has '(.locks | length) == 4'
is 'as many as were asked for' "$(get 'http://h/v1/status?locks=1' | jq -c '[(.locks | map(.name)), .look.more]')" '[["busy"],3]'
unlike 'no value and no lease id is told' "$(cat "$tmp/status")" 'lease-of|value'

# ---- one survey for all, however many ask ----

cat >"$tmp/many.py" <<'PY'
# Thirty clients at a time for a second, each asking again as soon as it is answered: how many answers.
import http.client, socket, sys, threading, time
class Unix(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(sys.argv[1])
answers = []
def work():
    client, end = Unix('h'), time.monotonic() + 1
    while time.monotonic() < end:
        client.request('GET', '/v1/status?locks=5')
        assert client.getresponse().read()
        answers.append(time.monotonic())
threads = [threading.Thread(target=work) for _ in range(30)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
first = min(answers)
print(len(answers), len({round((at - first) * 20) for at in answers}))
PY
read -r answers moments <<<"$(timeout 60 python3 "$tmp/many.py" "$socket")"
that 'thirty clients are answered' [ "$answers" -ge 30 ]
that '   together, a few times a second' [ "$moments" -lt "$answers" ]

# ---- trouble ----

is 'no trouble' "$(jq -c .trouble "$tmp/status")" '[]'
hold gone '{"ttl_ms":2000,"label":"died"}' >/dev/null
that 'a lease that was never released' eventually has '.trouble | any(.name == "gone" and .state == "expired" and .label == "died")'
hold evicted '{}' >/dev/null
mark=$(get http://h/v1/locks/evicted | jq -r '.holders[0].fingerprint')
get --json "{\"fingerprint\":\"$mark\"}" http://h/v1/breaks/evicted >/dev/null
that 'a holder that was evicted is worse' eventually has '(.trouble | map(.state)) == ["broken", "expired"]'
is 'a reader is told names that it may read, and no other' "$(get -H 'Authorization: Bearer secret' \
    'http://h/v1/status?locks=100' | jq -c '[(.locks | map(.name)), (.trouble | map(.name)), .nodes, .look.unasked]')" \
    '[["old"],["evicted"],null,null]'
# Renewed after 5 s; its nodes have 4 s to answer, and the script 6 s to let them go on.
hold stream '{"ttl_ms":15000,"label":"worker"}' -N -H 'Accept: text/event-stream' >"$tmp/stream" 2>/dev/null &
stream=$!
that 'a stream holds' eventually has '.streams == 1'
get -N http://h/v1/events >"$tmp/events" 2>/dev/null &
feed=$!
"$redlock" dev hang 1 >/dev/null
"$redlock" dev hang 2 >/dev/null
that 'what was known of locks stays, and says how old it is' eventually has '.look.age_ms > 400 and (.locks | length > 0)'
that 'a stream in jeopardy is the worst' eventually has '.trouble[0] | .name == "stream" and .state == "jeopardy" and .reason == "NOQUORUM"'
"$redlock" dev resume 1 >/dev/null
"$redlock" dev resume 2 >/dev/null
is '   and counted' "$(jq -c '[.jeopardy, .streams]' "$tmp/status")" '[1,1]'
that 'a stream that has recovered is no trouble any more' eventually has '(.trouble | all(.name != "stream")) and .jeopardy == 0'
that '   which is an event' eventually grep -q '^event: recovered' "$tmp/events"
kill $stream $feed
# shellcheck disable=SC2086 # a list of numbers
kill $waiters 2>/dev/null
# shellcheck disable=SC2086
wait $stream $feed $waiters 2>/dev/null

# ---- the page ----

curl -sS -m 60 -D "$tmp/head" -o "$tmp/page" "http://127.0.0.1:$tcp/"
like 'the page needs no right, having no data' "$(cat "$tmp/head")" '^HTTP/1.1 200'
like '   it is HTML' "$(cat "$tmp/head")" '^Content-Type: text/html; charset=utf-8'
policy=$(sed -n 's/^Content-Security-Policy: \(.*\)\r$/\1/p' "$tmp/head")
like '   its policy allows nothing of other origins' "$policy" "^default-src 'self'; script-src 'sha256-[^ ]*'; style-src 'sha256-[^ ]*'; img-src data:;"
unlike '   nor what is written into the page later' "$policy" 'unsafe'
for tag in script style; do
    hash=$(python3 -c "import re, sys; sys.stdout.write(re.search(r'<$tag>(.*?)</$tag>', open('$tmp/page').read(), re.S).group(1))" |
        openssl dgst -sha256 -binary | openssl base64)
    like "   but this very $tag" "$policy" "$tag-src 'sha256-${hash//+/\\+}'"
done
unlike 'the page names no other address' "$(cat "$tmp/page")" "(src|href)=[\"']?(https?:|//)"
unlike '   and writes no markup' "$(cat "$tmp/page")" 'innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\('
is 'the page is only read' "$(curl -sS -m 60 -X POST -d '{}' -H 'Content-Type: application/json' "http://127.0.0.1:$tcp/" | jq -r .code)" METHOD_NOT_ALLOWED

# ---- the words of `redlock top` ----

# titles SECTION: of the columns of its table, in capitals.
titles() { sed -n "/<section id=\"$1\"/,/<\/thead>/p" "$tmp/page" | grep -o '<th [^>]*>[^<]*' | sed 's/.*>//' | tr a-z A-Z | paste -sd' '; }
"$redlock" top -c 1 >"$tmp/top"
is 'the titles of nodes are those of top' "$(titles nodes)" "QUORUM $(sed -n '/^NODE/s/  */ /gp' "$tmp/top" | sed 's/ $//') WHY"
is '   and those of locks' "$(titles locks) CHG/S" "$(sed -n '/^NAME/s/  */ /gp' "$tmp/top" | sed 's/ $//')"
like 'top has the verdict of the page' "$(head -n 1 "$tmp/top")" "$(get http://h/v1/status | jq -r '.quorums[0] | "\(.voting) of \(.nodes) vote, \(.needed) needed;"')"
like '   which makes it of the same words' "$(cat "$tmp/page")" 'q.voting \+ " of " \+ q.nodes \+ " vote, " \+ q.needed \+ " needed"'
for word in exclusive shared slots; do
    like "a kind is $word in both" "$(grep '^const KINDS' "$tmp/page")" "\"$word\""
    like "   in top, too" "$(cat "$here/../../cli/ui/kind.c")" "shown = \"$word\""
done
stop
is 'TERM ends it' "$status" 0
unlike 'no sanitizer complains' "$(cat "$tmp/log")" 'Sanitizer|runtime error'
done_testing
