#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `redlock watch`: a line for every change of holder, state or number of waiters, and no other.
. "$(dirname "$0")/lib.bash" "$@"
needs python3
inside_dev 3 "$@"

lines() { [ "$(wc -l <"$tmp/lines")" -ge "$1" ]; }
# watch OPTION...: in the background; its lines are in $tmp/lines.
watch() {
    : >"$tmp/lines"
    "$redlock" watch -d 50ms "$@" >"$tmp/lines" 2>"$tmp/errors" &
    watcher=$!
}
line() { sed -n "$1p" "$tmp/lines"; }

watch a
that 'the first line says what is' eventually lines 1
like '   it is free, at this time' "$(line 1)" '^20[0-9-]{8} [0-9:]{8} a: free$'
value=$("$redlock" lock -t 60s --label 'alice@web1' a)
that 'it is taken: a line' eventually lines 2
like '   with the holder' "$(line 2)" ' a: held by alice@web1$'
"$redlock" lock -w 60s --label bob a >"$tmp/bob" &
that 'another waits: a line' eventually lines 3
like '   with how many' "$(line 3)" ' a: held by alice@web1, 1 waiting$'
"$redlock" extend -t 60s a "$value"
"$redlock" unlock a "$value"
that 'it is handed over: a line' eventually grep -q 'held by bob$' "$tmp/lines"
wait $!
count=$(wc -l <"$tmp/lines")
"$redlock" extend -t 50s a "$(cat "$tmp/bob")"
looked=$(now_ms)
past_some_looks() { [ $(($(now_ms) - looked)) -gt 500 ]; }
eventually past_some_looks
is 'a renewal changes nothing' "$(wc -l <"$tmp/lines")" "$count"
for k in 1 2; do "$redlock" dev hang $k >/dev/null; done
that 'too few nodes answer: a line' eventually grep -q ' a: unknown: too few nodes' "$tmp/lines"
for k in 1 2; do "$redlock" dev resume $k >/dev/null; done
that '   and when they do again' eventually eval '[[ $(tail -n1 "$tmp/lines") == *"held by bob" ]]'
free_all a
that 'the keys are deleted: a line' eventually eval '[[ $(tail -n1 "$tmp/lines") == *"a: free" ]]'
kill -INT $watcher 2>/dev/null
kill -TERM $watcher
wait $watcher
is 'a signal ends it: 0' $? 0
is 'nothing on standard error' "$(cat "$tmp/errors")" ''

watch --json -c 4 b c
eventually lines 2
value=$("$redlock" lock -t 6s --label carol b)
eventually lines 4
wait $watcher
is '--count: it ends by itself' "$?:$(wc -l <"$tmp/lines")" 0:4
that '--json: each line is JSON' json_lines <"$tmp/lines"
is '   names, states and holders, until it has expired' \
    "$(jq -r '[.ok, .command, .name, .state, .label] | @tsv' "$tmp/lines" | tr '\t' ' ' | paste -sd'|')" \
    'true watch b free |true watch c free |true watch b held carol|true watch b free '
is '   and the time of day' "$(jq 'select(.time_ms > 1700000000000)' "$tmp/lines" | jq -s length)" 4

# Whatever the kind.
watch d
eventually lines 1
"$redlock" lock --shared -t 60s d >/dev/null
eventually lines 2
like 'a reader' "$(tail -n1 "$tmp/lines")" 'd: held by 1 reader \('
"$redlock" lock --shared -t 60s d >/dev/null
that 'and a second one' eventually grep -q 'held by 2 readers' "$tmp/lines"
kill $watcher
wait
timeout 60 "$redlock" watch -d 50ms a | head -n1 >/dev/null
is 'a reader that goes away ends it, though nothing changes' "${PIPESTATUS[0]}" 141

# A node that is silent for one look: it answers the first when the second is requested.
cat >"$tmp/silent.py" <<'END'
import asyncio, sys

async def serve(reader, writer):
    there, out = await asyncio.open_connection("127.0.0.1", int(sys.argv[1]))
    looks, held = 0, b""
    async def back():
        nonlocal held
        while data := await there.read(65536):
            held += data
            if looks != 1:
                writer.write(held)
                held = b""
    asyncio.create_task(back())
    while data := await reader.read(65536):
        looks += b"redlock:silent" in data
        if looks != 1:
            writer.write(held)
            held = b""
        out.write(data)
    out.close()

async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
END
python3 "$tmp/silent.py" "$(port 1)" >"$tmp/silent" 2>/dev/null &
silent=$!
eventually [ -s "$tmp/silent" ]
try timeout 60 "$redlock" watch --nodes "127.0.0.1:$(cat "$tmp/silent")" --node-timeout 5s -d 1h -c 1 silent
is 'one look without an answer is no news, and the next one does not wait' "$status:${out#* * }" '0:silent: free'
kill $silent
wait $silent 2>/dev/null

try "$redlock" watch
expect 'without a name: 64' 64 'NAME is missing'
try "$redlock" watch -d 10ms a
expect 'too fast: 64' 64 '50ms'
try "$redlock" watch --nodes 127.0.0.1:1 -c 1 a
is 'no nodes: unknown' "$status:${out#* * }" '0:a: unknown: too few nodes could vote'
done_testing
