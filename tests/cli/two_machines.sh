#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Two machines (network namespaces), each with a server of its own at 127.0.0.1:6379 and a cron job
# without any configuration: neither may run it, as both would.
. "$(dirname "$0")/lib.bash" "$@"
unset REDLOCK_CONFIG REDLOCK_NODES REDLOCK_DEV XDG_CONFIG_HOME
[ ! -e /etc/redlock.conf ] || skip 'this machine has a configuration of its own'
server=$(command -v "${REDLOCK_SERVER:-valkey-server}" || command -v redis-server) ||
    skip 'there is no server to start'
needs ip unshare
machine=(unshare --user --map-root-user --net)
"${machine[@]}" ip link set lo up 2>/dev/null || skip 'network namespaces are not allowed here'

# one_machine K: a server, then the job as cron runs it; its status in $tmp/status.K.
cat >"$tmp/one_machine" <<'END'
ip link set lo up
mkdir "$1.data"
"$2" --port 6379 --dir "$1.data" --save '' --daemonize no >"$1.log" 2>&1 &
server=$!
until (exec 3<>/dev/tcp/127.0.0.1/6379) 2>/dev/null; do
    kill -0 "$server" || exit 1
    read -r -t 0.05 <> <(:) || :
done
# The server is new, so it is vouched for: otherwise the guard, not the missing nodes, would refuse.
"$3" init --yes --nodes 127.0.0.1:6379 --node-timeout 3s >/dev/null
env -i HOME="$1.data" PATH=/usr/bin:/bin timeout 60 "$3" run -n nightly -- touch "$1.ran" 2>"$1.err"
echo $? >"$1.status"
env -i HOME="$1.data" PATH=/usr/bin:/bin timeout 60 "$3" run -n --nodes 127.0.0.1:6379 \
    --node-timeout 3s nightly -- true 2>/dev/null
echo $? >"$1.named"
kill "$server"
wait "$server"
END
for k in 1 2; do
    timeout 180 "${machine[@]}" bash "$tmp/one_machine" "$tmp/$k" "$server" "$redlock" &
done
wait
for k in 1 2; do
    is "machine $k: the job did not run, status 78" "$(cat "$tmp/$k.status"):$([ -e "$tmp/$k.ran" ] && echo ran)" 78:
    like '   and it says why' "$(cat "$tmp/$k.err")" 'no nodes: set REDLOCK_NODES, --nodes, or nodes in redlock.conf'
    is '   a single node is accepted when it is named' "$(cat "$tmp/$k.named")" 0
done
done_testing
