#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `lock`, `extend`, `unlock` and `status`: a lock that goes from process to process.
. "$(dirname "$0")/lib.bash" "$@"
inside_dev 3 "$@"

try "$redlock" lock -t 30s a
expect 'lock' 0
is '   and nothing but one line' "$(wc -l <"$tmp/out"):$err" 1:
read -r value token <<<"$out"
like '   which is the value and the token' "$out" '^[0-9a-f]{40}@[0-9a-f]{11}%20[^ ]+ [1-9][0-9]*$'
is 'the key is there after the process has ended' "$(ask "$(port 1)" EXISTS redlock:a)" :1
ttl=$(ask "$(port 2)" PTTL redlock:a)
between '   and expires' "${ttl#:}" 5000 30000

try "$redlock" status a b
expect 'status' 0
like 'status of a held lock: holder, time left' "$out" \
    "^a: held by [^,]+,.* up to [0-9.]+ (s|ms) more, fence $token$"
like 'free' "$out" '^b: free$'
unlike 'the value is not given away' "$out$err" "$value"
try "$redlock" status -v a
like 'status -v: node by node' "$out" "127.0.0.1:$(port 3) +held +[^ ]+ +exclusive"
unlike '   nor there' "$out$err" "$value"
try "$redlock" status --held a
expect 'status --held: held is 0' 0
try "$redlock" status --held -q a b
is 'some free is 1, and -q is silent' "$status:$out$err" 1:

try "$redlock" extend -t 55s a "$value"
expect 'extend' 0
is '   is silent' "$out$err" ''
ttl=$(ask "$(port 1)" PTTL redlock:a)
between '   and renews' "${ttl#:}" 31000 55000
is 'the lock is still there afterwards' "$(ask "$(port 2)" EXISTS redlock:a)" :1
try "$redlock" extend -t 2s a "$value"
ttl=$(ask "$(port 1)" PTTL redlock:a)
between 'it never shortens' "${ttl#:}" 2001 55000
status=0
echo "$value" | "$redlock" extend a - || status=$?
is 'extend: the value from standard input' $status 0
try env REDLOCK_VALUE="$value" "$redlock" extend a
expect '   and from REDLOCK_VALUE' 0
try "$redlock" extend a 0000
expect 'extend with a wrong value: 76' 76 'not renewed, it has another value: held by '
unlike 'the value is not given away' "$out$err" "$value"
try "$redlock" extend never "$value"
expect 'extend what was never held: 76' 76 'no such key'
is '   and it was not made' "$(ask "$(port 1)" EXISTS redlock:never)" :0

try "$redlock" unlock a 0000
expect 'unlock with a wrong value: 76' 76 'it has another value: held by '
is '   and the lock is untouched' "$(ask "$(port 1)" EXISTS redlock:a)" :1
for k in 1 2; do "$redlock" dev hang $k >/dev/null; done
for sub in unlock extend; do
    try "$redlock" $sub a 0000
    expect "$sub with a wrong value, and one node that answers: 69" 69 "127.0.0.1:$(port 3) +held"
    unlike '   it does not say that the key is missing' "$err" 'no such key'
done
for k in 1 2; do "$redlock" dev resume $k >/dev/null; done
printf '%s\r\n' "$value" >"$tmp/value"
try "$redlock" unlock a - <"$tmp/value"
expect 'unlock, the value from standard input' 0
is '   is silent' "$out$err" ''
is '   and the key is gone' "$(ask "$(port 1)" EXISTS redlock:a)" :0
try "$redlock" unlock a "$value"
expect 'unlock again: 76' 76 'already expired'

value=$("$redlock" lock -t 2s a)
expired() { [ "$(ask "$(port 1)" EXISTS redlock:a)$(ask "$(port 2)" EXISTS redlock:a)" = :0:0 ]; }
eventually expired
try "$redlock" unlock a "$value"
expect 'unlock after it expired: 76' 76 'already expired'
try "$redlock" extend a "$value"
expect 'extend after it expired: 76' 76

line=$("$redlock" lock a)
try "$redlock" extend a "$line"
expect 'the line as it is: the token behind the value is ignored' 0
try "$redlock" extend a $line
expect '   and in words' 0
try env REDLOCK_VALUE="$line" "$redlock" extend a
expect '   and from REDLOCK_VALUE' 0
try timeout 60 "$redlock" lock a
expect 'lock tries once: busy is 75' 75 'a: held by [^,]+,.* up to '
try "$redlock" lock -n a
expect 'lock -n: busy is 75' 75 'a: held by [^,]+,.* up to '
is '   and prints no value' "$out" ''
try "$redlock" lock -w 2s a
expect 'lock -w: elapsed is 75' 75
try "$redlock" unlock a $line
expect 'unlock, in words' 0
that '   and it is' free a

# The reader of the value is gone.
status=0
"$redlock" lock -t 30s piped 2>"$tmp/err" >/dev/full || status=$?
err=$(cat "$tmp/err")
expect 'a value that cannot be written: 70' 70 'released again'
is '   and the lock was released' "$(ask "$(port 1)" EXISTS redlock:piped)" :0
mkfifo "$tmp/pipe"
("$redlock" lock -t 30s piped 2>"$tmp/err" >"$tmp/pipe"; echo $? >"$tmp/status") &
exec {gone}<"$tmp/pipe" {gone}<&-
wait
like 'a reader that went away: the value was taken or the lock released' \
    "$(cat "$tmp/status"):$(ask "$(port 1)" EXISTS redlock:piped)" '^(70::0|0::1)$'
free_all piped
"$redlock" status $(seq 1 200) 2>"$tmp/err" | head -n1 >/dev/null
is 'status | head is quiet' "$(cat "$tmp/err")" ''

# Keys as the specification has them.
ask "$(port 1)" SET redlock:hand x NX PX 60000 >/dev/null
ask "$(port 2)" SET redlock:hand x NX PX 60000 >/dev/null
try "$redlock" lock -n hand
expect 'a key set by hand is respected' 75
try "$redlock" status hand
like '   and shown: the nodes disagree' "$out" "^hand: held by x…, .* on 2 of 3 nodes, nodes disagree"
like 'so node by node' "$out" "127.0.0.1:$(port 3) +no such key"
value=$("$redlock" lock --prefix '' plain)
is 'an empty prefix gives the plain key' "$(ask "$(port 1)" EXISTS plain)" :1
try "$redlock" unlock --prefix '' plain "$value"
expect '   and finds it again' 0
done_testing
