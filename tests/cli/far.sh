#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Nodes that are far away: many locks are requested at once, not one after another.
. "$(dirname "$0")/lib.bash" "$@"
needs python3
inside_dev 3 "$@"

# A proxy for each node: what it is sent arrives so many seconds later. Prints its ports and stays.
cat >"$tmp/far.py" <<'END'
import asyncio, sys

async def copy(reader, writer, delay):
    try:
        while data := await reader.read(65536):
            asyncio.get_running_loop().call_later(delay, writer.write, data)
    finally:
        asyncio.get_running_loop().call_later(delay, writer.close)

async def main():
    ports = []
    for node in sys.argv[1].split(","):
        host, port = node.rsplit(":", 1)
        async def serve(reader, writer, host=host, port=port):
            there, out = await asyncio.open_connection(host, port)
            await asyncio.gather(copy(reader, out, float(sys.argv[2])), copy(there, writer, 0))
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        ports.append(str(server.sockets[0].getsockname()[1]))
    print(",".join("127.0.0.1:" + p for p in ports), flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
END
for i in $(seq 40); do "$redlock" lock -t 59s "many-$i" >/dev/null; done
# far SECONDS: in $nodes, by $proxy.
far() {
    rm -f "$tmp/nodes"
    python3 "$tmp/far.py" "$REDLOCK_NODES" "$1" >"$tmp/nodes" 2>/dev/null &
    proxy=$!
    eventually [ -s "$tmp/nodes" ]
    nodes=$(cat "$tmp/nodes")
}
far 1

# took PATTERN: in $took, how long the list of these takes.
took() {
    local start
    start=$(now_ms)
    try "$redlock" list --nodes "$nodes" "$1"
    took=$(($(now_ms) - start))
}
took many-1
one=$took
is 'one of them' "$(grep -c '^many-' <<<"$out")" 1
took 'many-*'
is 'all of them' "$(grep -c '^many-' <<<"$out")" 40
that '   in much less than forty round trips' [ $((took - one)) -lt 20000 ]
kill $proxy
wait $proxy
far 0.1

# A node timeout that is too short for them: every subcommand names the way out.
export REDLOCK_CONFIG=/dev/null
try timeout 60 "$redlock" doctor --nodes "$nodes"
like 'doctor says how late they answer' "$out" 'reachable +answers after [1-9][0-9][0-9]+ ms, 50 ms are allowed'
unlike '   and no shorter time' "$out" 'answers after [0-9]{2} ms'

# prints PATTERN COMMAND...: what it prints has the pattern, now or later: how late a node is can only be
# seen by a command that was not kept waiting itself.
prints() {
    local pattern=$1
    shift
    "$@" >"$tmp/printed" 2>&1
    grep -Eq -- "$pattern" "$tmp/printed"
}
that 'list names the way out' eventually prints '--node-timeout' timeout 60 "$redlock" list --nodes "$nodes" 'many-*'
that 'watch names the way out' eventually prints 'a: unknown: .*--node-timeout' timeout 60 "$redlock" watch -c 1 --nodes "$nodes" a
that 'wait without a limit names the way out' eventually prints '--node-timeout' timeout -k 5 10 "$redlock" wait --nodes "$nodes" a
for sub in nodes 'top -c 2 -d 300ms'; do
    # shellcheck disable=SC2086
    that "$sub: a node is late, and by how much" \
        eventually prints '^ *127[.0-9:]+ +late .*answers after [0-9.]+ ms' timeout 60 "$redlock" $sub --nodes "$nodes"
done
kill $proxy
wait $proxy

# Further away than the machine keeps a command waiting: none of the answers is in time.
far 10
for sub in 'status a' 'unlock a b' 'extend a b' 'break --yes a' 'init --yes' 'run -n a -- true' 'lock -n a' 'wait -w 1s a'; do
    # shellcheck disable=SC2086
    try timeout 60 "$redlock" ${sub%% *} --nodes "$nodes" ${sub#* }
    expect "$sub: 69, and what would help" 69 '--node-timeout'
done
kill $proxy
wait $proxy
done_testing
