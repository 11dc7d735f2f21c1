#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# redlock --service: a host with no rights on the nodes uses locks through redlockd.
. "$(dirname "$0")/lib.bash" "$@"
needs curl python3 jq openssl
inside_dev 3 "$@"
nodes=$REDLOCK_NODES
mkdir "$tmp/certs"
"$certs" "$tmp/certs" >/dev/null
printf 'a-token-of-the-test' >"$tmp/token"
chmod 600 "$tmp/token"
printf 'tester %s\n' "$(sha256sum <"$tmp/token" | cut -d' ' -f1)" >"$tmp/tokens"
rules=(--tokens "$tmp/tokens" --allow "uid:$(id -u) * acquire,read,break,admin"
    --allow 'token:tester * acquire,read' --drain 0)
secure=(--listen tls:127.0.0.1:0 --tls-cert "$tmp/certs/good.crt" --tls-key "$tmp/certs/good.key")
start "${rules[@]}" "${secure[@]}"
# The command knows no nodes.
unset REDLOCK_NODES
export REDLOCK_SERVICE=unix:$socket
eventually ready

try "$redlock" run job -- sh -c 'echo "$REDLOCK_NAME $REDLOCK_KIND ${REDLOCK_FENCE:+fenced} ${REDLOCK_VALUE-none}"; exit 7'
expect 'run: the status is that of the command' 7
is '   it knows what it has' "$out" 'job reentrant fenced none'
try "$redlock" status job
is '   and gives it back' "$status ${out%%,*}" '0 job: free'
try "$redlock" run -t 6s job -- sh -c 'sleep 7; redlock status -q --held job'
expect 'run renews past the first deadline' 0
try "$redlock" run job -- "$redlock" run -n job -- echo inner
is 'a run inside enters the lock that it already has' "$status $out" '0 inner'
try "$redlock" run job -- env -u REDLOCK_OWNER -u REDLOCK_HELD "$redlock" run -n job -- echo no
expect 'held by another: 75, with the holder' 75 'job: held by .*@.* \(env\)'
try "$redlock" run job -- env -u REDLOCK_OWNER -u REDLOCK_HELD "$redlock" run -w 2s --json job -- echo no
is '   also after a wait' "$status $(jq -r .error <<<"$out")" '75 TIMEOUT'
try "$redlock" run job -- env -u REDLOCK_OWNER -u REDLOCK_HELD "$redlock" run -n --skip-ok job -- echo no
is '   --skip-ok' "$status$out" 0
try "$redlock" run --shared r -- env -u REDLOCK_HELD "$redlock" run --shared -n r -- echo two
is 'two readers' "$status $out" '0 two'
try "$redlock" run --slots 1 s -- env -u REDLOCK_HELD "$redlock" run --slots 1 -n s -- echo two
expect 'one slot' 75
try "$redlock" run --label 'a "label" \ of it' job -- "$redlock" status --json job
is 'a label arrives as it is' "$(jq -r .label <<<"$out")" 'a "label" \ of it'

try "$redlock" run -t 9s job -- sh -c '"$0" break --yes job >/dev/null; sleep 60' "$redlock"
expect 'evicted by break: 76, and the command is ended' 76 'lost'
waits() { [ "$(curl -s --unix-socket "$socket" http://h/metrics | sed -n 's/^redlockd_waiters //p')" = "$1" ]; }
"$redlock" run look -- sh -c 'touch "$0/held"; while [ -e "$0/held" ]; do sleep 0.05; done' "$tmp" &
holder=$!
eventually test -e "$tmp/held"
try "$redlock" list
like 'list' "$out" '^look +.*@.* \(sh\) +exclusive'
try "$redlock" status -v look
like 'status -v shows what each node has' "$out" 'look: held by .*\(sh\).*fence'
is '   of all three' "$(grep -c '127.0.0.1:.* held' <<<"$out")" 3
try "$redlock" watch -c 1 --json look
is 'watch' "$(jq -r .state <<<"$out")" held
try "$redlock" wait -w 2s look
expect 'wait' 75
rm "$tmp/held"
wait "$holder"

"$redlock" leader --watch office >"$tmp/terms" &
watcher=$!
terms() { [ "$(wc -l <"$tmp/terms")" -ge "$1" ]; }
that 'leader --watch begins with none' eventually terms 1
"$redlock" lead --label 'machine one:80' office -- sh -c 'echo "$REDLOCK_TERM" >"$0"; while [ -e "$0" ]; do sleep 0.05; done' "$tmp/term" &
holder=$!
elected=$("$redlock" leader --wait office)
eventually test -s "$tmp/term"
term=$(cat "$tmp/term")
is 'leader --wait ends with the first leader' "$elected" "$term machine one:80"
"$redlock" lead office -- sh -c 'echo "$REDLOCK_TERM" >"$0"' "$tmp/next" &
waiter=$!
that '   a second candidate waits' eventually waits 1
that '   and --watch has a line' eventually terms 2
rm "$tmp/term"
wait "$holder"
wait "$waiter"
is '   until the first one resigns: it has run its command' $? 0
that '   in a later term' [ "$(cat "$tmp/next")" -gt "$term" ]
is '   none before the first' "$(head -n2 "$tmp/terms" | paste -sd,)" "none,$term machine one:80"
kill "$watcher"
wait "$watcher"
try "$redlock" leader office
expect 'no leader: 1' 1
try "$redlock" break --yes look
expect 'break: there is nothing to break' 1 'is free'

url=http://127.0.0.1:$tcp
kill -KILL "$pid"
wait "$pid" 2>/dev/null
export REDLOCK_NODES=$nodes
start "${rules[@]}" "${secure[@]}"
unset REDLOCK_NODES
url=http://127.0.0.1:$tcp
try "$redlock" run --service "$url" --token-file "$tmp/token" job -- echo tcp
is 'TCP with a token' "$status $out" '0 tcp'
try env REDLOCK_SERVICE="$url" REDLOCK_TOKEN_FILE="$tmp/token" "$redlock" list
expect '   both from the environment' 0
printf 'service = %s\ntoken-file = %s\n' "$url" "$tmp/token" >"$tmp/redlock.conf"
try env -u REDLOCK_SERVICE REDLOCK_CONFIG="$tmp/redlock.conf" "$redlock" run job -- echo file
is '   both from the file' "$status $out" '0 file'
try "$redlock" break --yes --service "$url" --token-file "$tmp/token" job
expect '   without the right to' 1
try "$redlock" run -n --service "$url" job -- echo no
expect '   no token: 77' 77 'check the token'
chmod 644 "$tmp/token"
try "$redlock" list --service "$url" --token-file "$tmp/token"
like '   a token that others can read is warned of' "$err" 'the token'
chmod 600 "$tmp/token"
try "$redlock" run --service "https://127.0.0.1:$tls" --tls-ca "$tmp/certs/ca.crt" --token-file "$tmp/token" job -- echo tls
is 'TLS' "$status $out$err" '0 tls'
try "$redlock" run -n --service "https://127.0.0.1:$tls" --token-file "$tmp/token" job -- echo no
expect '   a certificate of an authority that is not known' 69 'certificate'
try "$redlock" run -n --service "https://127.0.0.2:$tls" --tls-ca "$tmp/certs/ca.crt" job -- echo no
expect '   and of another host' 69
openssl ec -aes128 -passout pass:secret -in "$tmp/certs/client.key" -out "$tmp/protected.key" 2>/dev/null
try setsid -w "$redlock" run -n --service "https://127.0.0.1:$tls" --tls-ca "$tmp/certs/ca.crt" --token-file "$tmp/token" \
    --tls-cert "$tmp/certs/client.crt" --tls-key "$tmp/protected.key" job -- echo no <<<secret
expect '   for a passphrase it asks neither a terminal nor standard input' 69 'TLS key .* passphrase: give one without'
encoded=http+unix://${socket//\//%2F}
try "$redlock" run --service "$encoded" job -- echo encoded
is 'a socket in a URL' "$status $out" '0 encoded'

can_stall
named=(env REDLOCK_STALL=names "REDLOCK_STALL_WHILE=$tmp/hangs" "LD_PRELOAD=$tmp/stall.so" "$redlock" run -q
    --service "http://localhost:$tcp" --token-file "$tmp/token")
touch "$tmp/hangs"
"${named[@]}" job -- echo no &
waiter=$!
looks_up() { [ "$(ls "/proc/$waiter/task" | wc -l)" -gt 1 ]; }
that 'a wait whose look-up hangs' eventually looks_up
kill -TERM "$waiter"
wait "$waiter"
is '   is ended by TERM' $? 143
rm "$tmp/hangs"
try "${named[@]}" job -- sh -c 'touch "$0"; exit 5' "$tmp/hangs"
is 'a look-up that hangs when the command has ended delays its status no longer than the release may take' "$status" 5
rm "$tmp/hangs"

try "$redlock" run -n --service unix:/nonexistent/socket job -- echo no
expect 'no service there: 69' 69 'cannot be reached: /nonexistent/socket: No such file'
# Waited for, with the reason, until there is one.
"$redlock" run --service "unix:$tmp/later" job -- echo at last >"$tmp/out" 2>"$tmp/err" &
waiter=$!
says_why() { grep -q 'cannot be reached: .*/later: No such file.*; trying until it can (-w TIME' "$tmp/err"; }
that 'a service that is not there yet: the reason is printed at once' eventually says_why
ln -s "$socket" "$tmp/later"
wait "$waiter"
is '   and the lock is taken when it is' "$? $(cat "$tmp/out")" '0 at last'
try "$redlock" run -w 2s --service unix:/nonexistent/socket job -- echo no
expect '   a wait with an end: 69' 69 'cannot be reached: /nonexistent/socket: No such file'
"$redlock" wait --service unix:/nonexistent/socket job 2>"$tmp/err" &
waiter=$!
says_why() { grep -q 'cannot be reached: .*; asking until it can' "$tmp/err"; }
that '   wait says so, too' eventually says_why
kill "$waiter"
wait "$waiter"

# Its file goes, and the connection stays until the command has ended.
ln -s "$socket" "$tmp/leaves"
try "$redlock" run --service "unix:$tmp/leaves" job -- rm "$tmp/leaves"
expect 'no service to give the lock back to: the status of the command, and the reason' 0 \
    'done, but the service cannot be reached: .*/leaves: No such file.*; what is left .* expires'

printf -v long 'a..%0250d' 0
try "$redlock" run -n --service "http://$long" job -- echo no
expect 'a host with a name of 253 characters: the reason is printed, too' 69 'cannot be reached: a\.\.0*: [A-Z]'

# What waiting does not change ends a wait without an end. No resolver knows such a name.
for subcommand in 'run job -- echo no' 'wait job'; do
    what=${subcommand%% *}
    # shellcheck disable=SC2086 # words
    {
        try timeout 60 "$redlock" $what --service http://a..b ${subcommand#* }
        expect "$what: an unknown host ends the wait: 69" 69 'cannot be reached: a\.\.b: '
        try timeout 60 "$redlock" $what --service "https://127.0.0.1:$tcp" ${subcommand#* }
        expect "$what: TLS where there is none" 69 'cannot be reached: TLS: .*without TLS'
        try timeout 60 "$redlock" $what --service "https://127.0.0.1:$tls" ${subcommand#* }
        expect "$what: an unknown certificate" 69 'cannot be reached: TLS: .*certificate'
        try timeout 60 "$redlock" $what --service "http://127.0.0.1:$tcp" ${subcommand#* }
        expect "$what: no token: 77" 77 'check the token'
    }
done

# Any address of this machine but loopback will do: nothing is sent to it.
try timeout 60 "$redlock" run --service "http://0.0.0.0:$tcp" job -- echo no
expect 'a lease is sent to no other machine without TLS' 64 'is another machine.*use https://, or --insecure'
try timeout 60 "$redlock" status --service "http://0.0.0.0:$tcp" --token-file "$tmp/token" job
expect '   nor is a token' 64 'is another machine'
try timeout 60 "$redlock" status --service "http://0.0.0.0:$tcp" job
unlike '   where there is none, it is asked' "$err" 'is another machine'
try timeout 60 "$redlock" run -n --insecure --service "http://0.0.0.0:$tcp" --token-file "$tmp/token" job -- echo yes
unlike '   nor with --insecure' "$err" 'is another machine'
printf 'insecure = yes\n' >"$tmp/redlock.conf"
try timeout 60 env REDLOCK_CONFIG="$tmp/redlock.conf" "$redlock" run -n --service "http://0.0.0.0:$tcp" --token-file "$tmp/token" job -- echo yes
unlike '   nor with insecure in the file' "$err" 'is another machine'
try "$redlock" run -n --service ftp://h job -- echo no
expect 'another kind of URL' 78 'none of unix:/path'
try "$redlock" run -n --service http://user:secret@h job -- echo no
expect 'a secret in the URL' 78 'token goes into --token-file'
try "$redlock" run --service "unix:$socket" --nodes 127.0.0.1:1 job -- echo no
expect '--nodes beside it' 64 'contradict'
try "$redlock" lock job
expect 'a subcommand that needs nodes' 78 'no nodes.*a service is for run, status'
try "$redlock" run a b -- echo no
expect 'several names' 64 'one name at a time'
try "$redlock" run -n a/../b -- echo no
expect 'a name that a proxy would rewrite' 64 'segment'
try "$redlock" run -n -t 1d a -- echo no
expect 'a TTL beyond what the nodes allow' 64

python3 -B "$(dirname "$0")/impostor.py" "$tmp/other" &
other=$!
eventually test -s "$tmp/other"
url=http://127.0.0.1:$(cat "$tmp/other")
for subcommand in 'run -n job -- echo no' 'status job' list 'break --yes job' 'wait -n job'; do
    # shellcheck disable=SC2086 # words
    try "$redlock" ${subcommand%% *} --service "$url" $([[ $subcommand != *' '* ]] || printf '%s' "${subcommand#* }")
    expect "success of another program is no answer: ${subcommand%% *}" 69 'no answer of a redlockd, but HTTP status 200'
done
kill "$other"
wait "$other" 2>/dev/null

python3 -B "$(dirname "$0")/losing_proxy.py" "$tmp/proxy" "$socket" "$tmp/requests" &
proxy=$!
eventually test -S "$tmp/proxy"
before=$(now_ms)
try "$redlock" run -t 60s --service "unix:$tmp/proxy" job -- echo at last
is 'two answers to PUT are lost: the third has it' "$status $out" '0 at last'
that '   long before the TTL is over' [ $(($(now_ms) - before)) -lt 50000 ]
is '   each was deleted' "$(cut -d' ' -f1 "$tmp/requests" | tr '\n' ' ')" 'PUT DELETE PUT DELETE PUT DELETE '
is '   and no id was used twice' "$(grep PUT "$tmp/requests" | cut -d' ' -f2 | sort -u | wc -l)" 3
try "$redlock" run -t 5s --service "unix:$tmp/proxy" job -- sh -c 'echo $REDLOCK_DEADLINE'
sent=$(grep PUT "$tmp/requests" | sed -n '4s/.* //p')
that 'the deadline counts from the request, however late its answer comes' [ "$out" -lt $((sent + 5000000000)) ]
try "$redlock" run --service "unix:$tmp/proxy" job -- true
is 'a lost answer to DELETE is no loss of the lock' "$status $err" '0 '
is '   it was sent again' "$(tail -n 3 "$tmp/requests" | cut -d' ' -f1 | tr '\n' ' ')" 'PUT DELETE DELETE '
kill "$proxy"
wait "$proxy" 2>/dev/null
stop
unlike 'no sanitizer complains' "$(cat "$tmp/log")" 'Sanitizer|runtime error'
unlike 'no token is in the log' "$(cat "$tmp/log")" 'a-token'
done_testing
