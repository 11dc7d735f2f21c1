#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# class = PATTERN: wait, hold, timeouts, losses and expiries by class, in the metrics and in /v1/status.
. "$(dirname "$0")/lib.bash" "$@"
needs curl jq
inside_dev 3 "$@"
unhurried
cat >"$tmp/conf" <<END
allow = uid:$(id -u) * acquire,read,break,admin
class = jobs/*/nightly
class = jobs/*
class = say"so\\\\/*
END
start --config "$tmp/conf"
eventually ready

# metric NAME CLASS: its value.
metric() { curl -sS -m 60 --unix-socket "$socket" http://h/metrics | grep -F "redlockd_class_$1{class=\"$2\"} " | cut -d ' ' -f 2; }
shows() { [ "$(metric "$1" "$2")" = "$3" ]; }
class() { curl -sS -m 60 --unix-socket "$socket" http://h/v1/status | jq -c ".classes[] | select(.class == \"$1\") | $2"; }

is 'a class is there before it has a lock' "$(metric wait_seconds_count 'jobs/*') $(metric lost_total 'jobs/*')" '0 0'
is '   without times' "$(class 'jobs/*' '[.granted, .wait_us, .hold_us]')" '[0,null,null]'
that 'a quote and a backslash of a pattern are escaped' eventually shows lost_total 'say\"so\\\\/*' 0

for name in jobs/db/nightly jobs/web/nightly jobs/db/hourly other; do
    new_id
    http PUT "/v1/locks/$name" "$id" --data '{}'
    http DELETE "/v1/locks/$name" "$id"
done
is 'a name counts for the first class that it matches' \
    "$(metric wait_seconds_count 'jobs/*/nightly') $(metric wait_seconds_count 'jobs/*')" '2 1'
is '   its holds, too' "$(metric hold_seconds_count 'jobs/*/nightly') $(metric hold_seconds_count 'jobs/*')" '2 1'
is '   and in the status' "$(class 'jobs/*/nightly' '[.granted, .wait_us > 0, .hold_us > 0]')" '[2,true,true]'

new_id
http PUT /v1/locks/jobs/db/nightly "$id" --data '{"ttl_ms":2000}'
holder=$id
new_id
http PUT /v1/locks/jobs/db/nightly "$id" --data '{"wait_ms":0}'
is 'an attempt that does not wait is no timeout' "$(metric timeouts_total 'jobs/*/nightly')" 0
that 'what expires without a release' eventually shows expired_unreleased_total 'jobs/*/nightly' 1
is '   is not lost' "$(metric lost_total 'jobs/*/nightly')" 0
new_id
http PUT /v1/locks/jobs/db/nightly "$id" --data '{"ttl_ms":60000}'
holder=$id grant=$(field grant)
new_id
http PUT /v1/locks/jobs/db/nightly "$id" --data '{"wait_ms":2000}'
is 'a wait that ends without the lock' "$code $(field code) $(metric timeouts_total 'jobs/*/nightly')" '423 TIMEOUT 1'
http GET /v1/locks/jobs/db/nightly ''
http POST /v1/breaks/jobs/db/nightly '' --data "{\"fingerprint\":\"$(field 'holders[0].fingerprint')\"}"
http POST /v1/locks/jobs/db/nightly "$holder" -H "Grant: $grant" --data '{}'
is 'a lock that was broken is lost to its holder' "$code $(metric lost_total 'jobs/*/nightly')" '410 1'

try "$redlock" top --by class -c 1 --service "unix:$socket"
expect 'redlock top --by class' 0
like '   has the columns of the page' "$out" '^CLASS +GRANTED +WAIT +HOLD +TIMEOUTS +LOST +EXPIRED$'
like '   and a row of each class' "$out" '^jobs/\*/nightly +4 +[0-9.]+(ms|s) +[0-9.]+(ms|s) +1 +1 +1$'
like '   also of one without locks' "$out" '^say"so.* +0 +- +- +0 +0 +0$'
try "$redlock" top --by class -c 2 -d 100ms --json --service "unix:$socket"
is '   one object a frame' "$(jq -c '[.command, (.classes[] | select(.class == "jobs/*") | .granted, .wait_us > 0, .lost)]' <<<"$out" | uniq -c | tr -s ' ')" ' 2 ["top",1,true,0]'
try env -u REDLOCK_SERVICE "$redlock" top --by class -c 1
expect '   is for a service' 64
try "$redlock" top -c 1 --service "unix:$socket"
expect '   and a service is for it' 64
try "$redlock" top --by class -c 1 --service "unix:$socket.none"
expect '   69 without one' 69

sed -i '/^class = jobs\/\*$/d' "$tmp/conf"
echo 'class = ci/*' >>"$tmp/conf"
kill -HUP "$pid"
that 'HUP reads classes again' eventually shows lost_total 'ci/*' 0
is '   those that stay go on' "$(metric lost_total 'jobs/*/nightly')" 1
is '   others go' "$(metric lost_total 'jobs/*')" ''
unlike 'names are no labels' "$(curl -sS -m 60 --unix-socket "$socket" http://h/metrics)" 'jobs/db'
stop
start --config "$tmp/conf" --allow "uid:$(id -u) * read"
eventually ready
try "$redlock" top --by class -c 1 --service "unix:$socket"
expect 'without the right to see them' 77
like '   it says which' "$out" 'the right `admin`'
stop

# ---- what is refused ----

# check LINE...: what --check says about these.
check() { printf '%s\n' "$@" >"$tmp/wrong" && "$redlockd" --config "$tmp/wrong" --check 2>&1; }
like 'a pattern has at most 64 characters' "$(check "class = $(printf 'x%.0s' {1..65})")" 'wrong:1: class: .*1 to 64 characters'
like 'a pattern stands once' "$(check 'class = a/*' 'class = a/*')" 'wrong:2: class: a/\* stands twice'
like 'a pattern has no blanks' "$(check 'class = a b')" 'wrong:1: class: .*without blanks'
mapfile -t many < <(printf 'class = c%d/*\n' {1..101})
like 'there are at most 100' "$(check "${many[@]}")" 'wrong:101: class:? .*at most 100'
unlike 'no sanitizer complains' "$(cat "$tmp/log")" 'Sanitizer|runtime error'
done_testing
