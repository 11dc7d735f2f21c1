#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# local.sh REDLOCK PYTHON KIND [OPTION...]: paused holders at a resource that needs no server but Redis: sqlite,
# redis or file, with the options of run.py; and what the check refuses besides.
. "$(dirname "$0")/../../cli/lib.bash" "$1"
inside_dev 3 "$@"
export REDLOCK_COMMAND=$redlock
python=$2 kind=$3
shift 3
fencing=$(readlink -f "$here/../../fencing")
resources=$(readlink -f "$(dirname "$0")")
cd "$tmp" || exit 1

# sql STATEMENT: in the database `one`.
sql() {
    "$python" -c 'import sqlite3, sys
connection = sqlite3.connect("one", isolation_level=None)
print(*connection.execute(sys.argv[1]).fetchone() or ())' "$1"
}

case $kind in
sqlite)
    places=(a b)
    "$python" -c 'import sqlite3, sys
sqlite3.connect("one").executescript(open(sys.argv[1]).read())' "$fencing/sqlite.sql" || exit 1
    for token in 100 "'100'" 101; do
        try sql "INSERT INTO redlock_fence VALUES ('orders', $token)"
        expect "the token $token is admitted" 0
    done
    for token in 100 "'99'" NULL "'x'" 1.5; do
        try sql "INSERT INTO redlock_fence VALUES ('orders', $token)"
        expect "   and then $token is refused" 1 'later holder|constraint'
    done
    is 'one token is kept' "$(sql 'SELECT count(*), max(token) FROM redlock_fence')" '1 101'
    ;;
redis)
    places=("127.0.0.1:$(port 1)")
    script=$(<"$fencing/redis.lua")
    # eval TOKEN COMMAND...
    fenced() {
        ask "$(port 2)" EVAL "$script" 2 '{a}:fence' '{a}:n' "$@"
    }
    is 'a token is admitted' "$(fenced 1763500000000042 SET '{a}:n' 7)" +OK
    is '   and again' "$(fenced 1763500000000042 INCR '{a}:n')" :8
    like '   and then a smaller one is refused' "$(fenced 1763500000000041 INCR '{a}:n')" '^-STALE'
    for wrong in '' x -1 9007199254740992; do
        like "   and '$wrong' is none" "$(fenced "$wrong" INCR '{a}:n')" '^-ERR not a fencing token'
    done
    is 'what was refused has done nothing' "$(fenced 1763500000000043 INCR '{a}:n')" :9
    is 'the token is kept without an end' "$(ask "$(port 2)" PTTL '{a}:fence')" :-1
    ;;
file) places=("$tmp/a" "$tmp/b") ;;
esac

try "$python" -B "$resources/run.py" "$@" "$kind" "${places[@]}"
printf '%s\n' "$out"
expect 'paused holders: updates are lost without the check, and none with it' 0
done_testing
