#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# http.sh REDLOCK PYTHON LANGUAGE [OPTION...]: the middleware of fencing/ for LANGUAGE (wsgi, asgi, node, go):
# its answers, a token file that a crash has spoilt, the command and a second server on the same file, and paused
# holders, with the options of run.py.
. "$(dirname "$0")/../../cli/lib.bash" "$1"
inside_dev 3 "$@"
export REDLOCK_COMMAND=$redlock
python=$2 language=$3
shift 3
root=$(readlink -f "$here/../..")
resources=$root/tests/fencing/resources

# A module of its own, which needs nothing from the net.
build_go() {
    needs go
    mkdir -p "$tmp/go/redlockfence" && cp "$resources/serve.go" "$tmp/go/main.go" &&
        cp "$root/fencing/redlockfence.go" "$tmp/go/redlockfence/" && cd "$tmp/go" || exit 1
    printf 'module serve\n\ngo 1.19\n' >go.mod
    export HOME=$tmp GOPATH=$tmp/gopath GOPROXY=off
    that 'go vet finds nothing' go vet ./...
    go build -o serve . || exit 1
}

case $language in
wsgi | asgi) serve=("$python" -B "$resources/serve.py" "$language") ;;
node) needs node && serve=(node "$resources/serve.mjs") ;;
go) build_go && serve=("$tmp/go/serve") ;;
esac

# start_server NAME: for the file NAME; its port is in $port. It ends when this script does.
start_server() {
    local open
    mkfifo "$tmp/open.$1"
    "${serve[@]}" "$tmp/$1" <"$tmp/open.$1" >"$tmp/port.$1" 2>"$tmp/errors.$1" &
    # shellcheck disable=SC2034 # stays open
    exec {open}>"$tmp/open.$1"
    that "the server for $1 starts" eventually [ -s "$tmp/port.$1" ]
    port=$(<"$tmp/port.$1")
}

# status PORT [CURL-OPTION...]
status() {
    local at=$1
    shift
    curl -s -o "$tmp/answer" -w '%{http_code}' "$@" "http://127.0.0.1:$at/fenced"
}

# put TOKEN: the status of a write.
put() {
    status "$port" -X PUT -d 1 -H "Redlock-Fence: $1"
}

# record TOKEN: as it stands in a token file.
record() {
    printf '%020d %020d\n' "$1" "$1"
}

start_server a
is 'a write without a token is refused' "$(status "$port" -X PUT -d 1)" 428
is 'a read without one is not' "$(status "$port")" 200
for wrong in x -1 0 9007199254740992 ' ' 1.5 '1 2'; do
    like "'$wrong' is no token" "$(put "$wrong")" '^4(00|28)$'
done
is 'the first token is admitted' "$(put 1763500000000042)" 200
is '   and again' "$(put 1763500000000042)" 200
is '   and a larger one' "$(put 1763500000000050)" 200
is 'a smaller one is refused' "$(put 1763500000000049)" 412
like '   with the larger one' "$(<"$tmp/answer")" 1763500000000050
is '   and for a read as well' "$(status "$port" -H 'Redlock-Fence: 1763500000000049')" 412
is 'a clock that was ahead is of no matter: a larger token is admitted' "$(put 4000000000000000)" 200

# `redlock fence` and the server keep one file.
rm "$tmp/a.fence"
start_server a2
is 'another server: the first token is admitted' "$(put 7)" 200
REDLOCK_FENCE=9 try "$redlock" fence "$tmp/a2" -- true
expect 'the command writes with a larger one' 0
is '   and the server refuses what is smaller' "$(put 8)" 412
is '   and admits what is larger' "$(put 10)" 200
REDLOCK_FENCE=9 try "$redlock" fence "$tmp/a2" -- true
expect '   and the command is refused' 76

# A crash in the middle of a record: what it overwrites is lost, and the other record counts.
start_server b
new=$(record 30)$'\n' old=$(record 10)$'\n' wrong=
for cut in {0..42}; do
    rm -f "$tmp/torn"
    printf '%s%s' "${new::cut}" "${old:cut}" >"$tmp/torn"
    truncate -s 4096 "$tmp/torn"
    record 20 >>"$tmp/torn"
    cat "$tmp/torn" >"$tmp/b.fence" # the same file: a server may keep it open
    [ "$(put 19) $(put 31) $(put 30)" = '412 200 412' ] || wrong+=" $cut"
done
is 'a record that a crash has spoilt: the other one counts, and the next token takes its place' "$wrong" ''
: >"$tmp/b.fence"
is 'an empty token file admits' "$(put 5)" 200
printf 'notes of mine\n' >"$tmp/b.fence"
is 'another file is not overwritten' "$(put 6) $(<"$tmp/b.fence")" '500 notes of mine'
{ record 1 | head -c 30; head -c 4066 /dev/zero; record 2 | head -c 25; } >"$tmp/b.fence"
is 'a file in which both records are spoilt admits none' "$(put 9)" 500

# Paused holders.
servers=()
for name in c1 c2; do
    start_server $name
    servers+=("$port")
done
try "$python" -B "$resources/run.py" "$@" http "${servers[@]}"
printf '%s\n' "$out"
expect 'paused holders: updates are lost without the check, and none with it' 0
done_testing
