#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Locks over HTTP from clients that were not written for redlockd, on real servers, with two replicas.
. "$(dirname "$0")/lib.bash" "$@"
needs curl python3 jq
inside_dev 3 "$@"
unhurried
start

that 'readyz says when a majority votes' eventually ready

# ---- a lease, field by field ----

new_id
http PUT /v1/locks/billing/nightly "$id" -d '{"ttl_ms":30000,"label":"web3 invoice run"}'
is 'PUT grants' "$code" 201
is '   the fields of the answer' "$(jq -r 'keys | join(" ")' <<<"$body")" \
    'after_ms deadline_boottime_ns fence grant name remaining_ms ttl_ms'
grant=$(field grant)
is '   its name' "$(field name)" billing/nightly
between '   its fence' "$(field fence)" 1 4503599627370496
between '   its validity' "$(field remaining_ms)" 1 29400
mine=$id
http GET /v1/locks/billing/nightly ''
is 'GET tells who holds it' "$code $(field 'holders[0].label') $(field held) $(field kind)" \
    '200 web3 invoice run true mutex'
mark=$(field 'holders[0].fingerprint')
unlike '   and neither the lease id nor a value' "$body" "$id|value"
new_id
http PUT /v1/locks/billing/nightly "$id" -d '{}'
is 'another lease is refused' "$code $(field code) $(field holder.label)" '423 BUSY web3 invoice run'
is '   with what each node did, in the words of --json' "$(field 'nodes | map(.vote) | join(" ")')" 'TAKEN TAKEN TAKEN'
new_id
http PUT /v1/locks/billing/nightly "$id" -d '{"wait_ms":2000}'
is '   after a wait, too' "$code $(field code)" '423 TIMEOUT'
http POST /v1/locks/billing/nightly "$mine" -H "Grant: $grant" -d '{"ttl_ms":50000}'
is 'POST renews' "$code $(field ttl_ms)" '200 50000'
http GET '/v1/locks?prefix=bill' ''
is 'the list has it' "$code $(field 'names | join(",")') $(field more)" '200 billing/nightly false'
http GET '/v1/locks?prefix=other' ''
is '   not under another prefix' "$(field 'names | length')" 0
http GET '/v1/locks?after=billing/nightly' ''
is '   nor behind itself' "$(field 'names | length')" 0
http GET '/v1/locks?limit=0' ''
is '   a limit is 1 to 1000' "$code" 400
http DELETE "/v1/locks/billing/nightly?break=$mark" "$mine"
is 'a DELETE with a parameter releases nothing' "$code $(field code)" '400 QUERY'
http POST /v1/breaks/billing/nightly '' -d "{\"fingerprint\":\"$(tr 0-9a-f 1-9a-f0 <<<"$mark")\"}"
is 'a break with the fingerprint of another is 412' "$code $(field code)" '412 EXPIRED'
http POST /v1/breaks/billing/nightly '' -d "{\"fingerprint\":\"$mark\"}"
is 'a break with its fingerprint evicts it' "$code $(field label) $(field fingerprint)" "200 web3 invoice run $mark"
between '   and says how long it may still act' "$(field remaining_ms)" 1 50000
http POST /v1/locks/billing/nightly "$mine" -H "Grant: $grant"  -d '{}'
is '   its renewal is 410' "$code" 410
http DELETE /v1/locks/billing/nightly "$mine"
is '   and so is its release' "$code" 410

# ---- kinds ----

new_id
a=$id
http PUT /v1/locks/k "$a" -d '{"kind":"shared"}'
new_id
http PUT /v1/locks/k "$id" -d '{"kind":"shared"}'
is 'two readers' "$code $(field fence)" '201 null'
new_id
http PUT /v1/locks/k "$id" -d '{}'
is '   keep a writer out' "$code" 423
new_id
http PUT /v1/locks/k "$id" -d '{"kind":"shared","fenced":true}'
is '   and have no fence' "$code $(field code)" '422 INVAL'
for slot in 1 2; do
    new_id
    http PUT /v1/locks/s "$id" -d '{"kind":"semaphore","slots":2}'
    is "slot $slot of a semaphore" "$code" 201
done
new_id
http PUT /v1/locks/s "$id" -d '{"kind":"semaphore","slots":2}'
is '   the third is refused' "$code" 423
for hold in 1 2; do
    new_id
    http PUT /v1/locks/r "$id" -d '{"kind":"reentrant","owner":"me"}'
    is "hold $hold of an owner" "$code" 201
done
new_id
http PUT /v1/locks/r "$id" -d '{"kind":"reentrant","owner":"you"}'
is '   another owner is refused' "$code" 423

# ---- what is refused ----

refused() { # WHAT STATUS CODE METHOD PATH ID [CURL-ARGUMENT...]
    local what=$1 status=$2 word=$3
    shift 3
    http "$@"
    is "$what" "$code $(field code)" "$status $word"
}
new_id
refused 'no lease id' 400 LEASE_ID PUT /v1/locks/a '' -d '{}'
refused 'a short lease id' 400 LEASE_ID PUT /v1/locks/a short -d '{}'
refused 'two lease ids' 400 LEASE_ID PUT /v1/locks/a "$id" -H "Lease-Id: $id" -d '{}'
refused 'no grant to renew with' 400 GRANT POST /v1/locks/a "$id" -d '{}'
refused 'a grant that was made up' 400 GRANT POST /v1/locks/a "$id" -H 'Grant: nonsense' -d '{}'
refused 'no name' 400 NAME PUT /v1/locks/ "$id" -d '{}'
refused 'a name that a proxy would rewrite' 400 NAME PUT /v1/locks/a/%2e%2e/b "$id" -d '{}'
refused 'a body that is not JSON' 400 JSON PUT /v1/locks/a "$id" -d '{'
refused 'a misspelt field' 422 INVALID PUT /v1/locks/a "$id" -d '{"fence":true}'
refused 'a wait beyond 50 s' 422 INVALID PUT /v1/locks/a "$id" -d '{"wait_ms":50001}'
refused 'a TTL of 0' 422 INVALID PUT /v1/locks/a "$id" -d '{"ttl_ms":0}'
refused 'a TTL that the nodes do not allow' 422 INVAL PUT /v1/locks/a "$id" -d '{"ttl_ms":80000000}'
refused 'a label that steers terminals' 422 INVAL PUT /v1/locks/a "$id" -d '{"label":"\u001b[2J"}'
refused 're-entrant without an owner' 422 INVALID PUT /v1/locks/a "$id" -d '{"kind":"reentrant"}'
for kind in '"rwlock"' '"Mutex"' '""' '"unknown"' 0 null '["mutex"]'; do
    refused "kind $kind, which does not exist" 422 INVALID PUT /v1/locks/a "$id" -d "{\"kind\":$kind}"
    like '   and the answer has those that do' "$(field detail)" '^kind is one of( [a-z]+){4,}$'
done
refused 'a stream through a proxy' 400 PROXIED PUT /v1/locks/a "$id" \
    -H 'Accept: text/event-stream' -H 'Via: 1.1 proxy' -d '{}'
refused 'a renewal as a stream' 400 NO_STREAM POST /v1/locks/a "$id" \
    -H 'Accept: text/event-stream' -H "Grant: $grant" -d '{}'
refused 'a parameter that does not exist' 400 QUERY PUT '/v1/locks/a?x=1' "$id" -d '{}'
is 'TCP has no rights without a token' "$(curl -sS -m 60 -X PUT -H "Lease-Id: $id" -d '{}' \
    -H 'Content-Type: application/json' "http://127.0.0.1:$tcp/v1/locks/a" | jq -r .code)" UNAUTHORIZED
is '   nor to look' "$(curl -sS -m 60 "http://127.0.0.1:$tcp/metrics" | jq -r .code)" UNAUTHORIZED
http GET /v1/locks/a ''
is '   nothing of that is held' "$(field held)" false

# ---- how it is ----

http GET /v1/nodes ''
is 'nodes: there are three' "$code $(field 'nodes | length')" '200 3'
all_vote() {
    http GET /v1/nodes ''
    [ "$(field 'nodes | map(.votes) | all')" = true ]
}
that '   and all vote' eventually all_vote
http GET /v1/status ''
is 'status: the verdict of the quorum' "$(field 'quorums[0] | "\(.voting) of \(.nodes), \(.needed) needed"')" \
    '3 of 3, 2 needed'
http GET /metrics ''
is 'metrics' "$code" 200
for metric in build_info waiters yours_total disconnected_waiters_total acquire_wait_seconds_count \
    node_up node_votes node_rtt_seconds node_quarantine_seconds node_clock_offset_seconds quorum_margin; do
    like "   has $metric" "$body" "^redlockd_$metric[{ ]"
done
unlike '   and no name of a lock' "$body" 'billing|nightly'
if command -v promtool >/dev/null; then
    that '   promtool finds nothing' promtool check metrics <"$tmp/body"
fi

# ---- python: waiting, and a client that is killed while it waits ----

cat >"$tmp/client.py" <<'PY'
import http.client, json, socket, sys, threading, time, os

class Unix(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(sys.argv[1])

def ask(method, id, body=None, grant=None):
    client = Unix('h')
    headers = {'Lease-Id': id, 'Content-Type': 'application/json'}
    if grant:
        headers['Grant'] = grant
    client.request(method, '/v1/locks/python', None if body is None else json.dumps(body), headers)
    answer = client.getresponse()
    text = answer.read()
    return answer.status, json.loads(text) if text else None

def id_of(n):
    return 'python-lease-%020d' % n

# Ten clients at a time: never two holders, and fences in the order of the grants.
holders, fences, wrong = 0, [], []
guard = threading.Lock()
def work(n):
    global holders
    for turn in range(5):
        id = id_of(n * 100 + turn)
        status, told = ask('PUT', id, {'ttl_ms': 30000, 'wait_ms': 50000})
        if status != 201:
            wrong.append(told)
            return
        with guard:
            holders += 1
            fences.append(told['fence'])
            if holders != 1:
                wrong.append('two holders')
        with guard:
            holders -= 1
        status, told = ask('DELETE', id, grant=told['grant'])
        if status != 204:
            wrong.append((status, told))
threads = [threading.Thread(target=work, args=(n,)) for n in range(10)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not wrong, wrong
assert fences == sorted(fences) and len(set(fences)) == 50, fences

# A client that is killed while it waits is out of the queue, and takes nothing afterwards.
status, told = ask('PUT', id_of(9000), {'ttl_ms': 30000})
assert status == 201
child = os.fork()
if child == 0:
    ask('PUT', id_of(9001), {'wait_ms': 50000})
    os._exit(0)
def waiters():
    client = Unix('h')
    client.request('GET', '/metrics')
    text = client.getresponse().read().decode()
    return int(text.split('\nredlockd_waiters ')[1].split('\n')[0])
def until(wanted):
    end = time.monotonic() + 60
    while waiters() != wanted:
        assert time.monotonic() < end, waiters()
until(1)
os.kill(child, 9)
os.waitpid(child, 0)
until(0)
assert ask('DELETE', id_of(9000), grant=told['grant'])[0] == 204
status, told = ask('PUT', id_of(9002), {})
assert status == 201, told
assert ask('DELETE', id_of(9002), grant=told['grant'])[0] == 204
print('fine')
PY
is "python: ten clients, one holder at a time, and a waiter that is killed" \
    "$(timeout 120 python3 "$tmp/client.py" "$socket" 2>&1 | tail -3)" fine

# ---- the end ----

stop
is 'TERM ends it' "$status" 0
unlike 'no sanitizer complains' "$(cat "$tmp/log")" 'Sanitizer|runtime error'
unlike 'no lease id is in the log' "$(cat "$tmp/log")" 'lease-0'
done_testing
