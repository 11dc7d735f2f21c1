#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# databases.sh REDLOCK PYTHON KIND [OPTION...]: paused holders at PostgreSQL or MariaDB (postgresql,
# postgresql-trigger, mariadb), which it starts in a directory of its own, on a unix socket, as a user
# without rights.
. "$(dirname "$0")/../../cli/lib.bash" "$1"
inside_dev 3 "$@"
export REDLOCK_COMMAND=$redlock
python=$2 kind=$3
shift 3
registers=(r1 r2 r3 r4 r5)
server=
here=$(dirname "$(readlink -f "$0")")

as=()
chmod 755 "$tmp"
mkdir "$tmp/data"
if [ "$(id -u)" = 0 ]; then
    as=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
    chown nobody:nogroup "$tmp/data"
fi
cd "$tmp/data" || exit 1
trap '[ -z "$server" ] || { kill "-$end" "$server"; wait "$server"; }; rm -rf "$tmp"' EXIT

case $kind in
postgresql*)
    end=INT # it waits for no client
    bin=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n1)
    try "${as[@]}" "$bin/initdb" -D "$tmp/data/db" -U postgres --auth=trust
    expect 'a cluster is made' 0
    "${as[@]}" "$bin/postgres" -D "$tmp/data/db" -k "$tmp/data" -h '' >"$tmp/log" 2>&1 &
    server=$!
    that 'PostgreSQL starts' eventually "$bin/pg_isready" -q -h "$tmp/data"
    for register in "${registers[@]}"; do
        "$bin/psql" -q -h "$tmp/data" -U postgres -d postgres -c "CREATE DATABASE $register" || exit 1
    done
    places=("${registers[@]/#/$tmp/data/}")
    ;;
mariadb)
    end=TERM
    try "${as[@]}" mariadb-install-db --no-defaults --datadir="$tmp/data/db" --skip-test-db \
        --auth-root-authentication-method=normal
    expect 'the tables of the server are made' 0
    "${as[@]}" "$(command -v mariadbd || echo /usr/sbin/mariadbd)" --no-defaults --datadir="$tmp/data/db" --skip-networking \
        --socket="$tmp/data/socket" --pid-file="$tmp/data/pid" >"$tmp/log" 2>&1 &
    server=$!
    client=(mariadb --no-defaults -u root -S "$tmp/data/socket")
    that 'MariaDB starts' eventually "${client[@]}" -e 'SELECT 1' >/dev/null 2>&1
    for register in "${registers[@]}"; do
        "${client[@]}" -e "CREATE DATABASE $register" || exit 1
    done
    places=("${registers[@]/#/$tmp/data/socket/}")
    ;;
esac
[ $failed = 0 ] || { tail "$tmp/log" && exit 1; }

try "$python" -B "$here/run.py" "$@" "$kind" "${places[@]}"
printf '%s\n' "$out"
expect 'paused holders: updates are lost without the check, and none with it' 0
done_testing
