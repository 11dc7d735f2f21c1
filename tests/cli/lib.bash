# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Sourced by the tests of the command. Each test is a bash script that takes the path of the
# redlock binary, prints `ok - what` or `not ok - what`, and exits with 1 if anything was not.

set -u
redlock=$(readlink -f "${1:?usage: $0 PATH-OF-REDLOCK}")
# shellcheck disable=SC2034 # used by the tests
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")

# Settings of the user that runs the tests must not reach them.
unset REDLOCK_MAX_TTL REDLOCK_SERVICE REDLOCK_TOKEN_FILE REDLOCK_PASSWORD REDLOCK_VALUE REDLOCK_SERVER REDLOCK_OWNER REDLOCK_HELD NO_COLOR
[ -n "${REDLOCK_DEV:-}" ] || unset REDLOCK_NODES
export REDLOCK_CONFIG=/dev/null

# Children that `redlock run` starts should find this very binary.
PATH=$(dirname "$redlock"):$PATH

# Files that others can write are refused: the tests make theirs as most users do.
umask 022
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

. "${BASH_SOURCE[0]%/*}/../support/assert.bash"

# json_lines: standard input is lines, and each of them is one JSON value in UTF-8. jq also takes
# broken UTF-8 and numbers that are none in JSON: these are looked for outside of strings.
json_lines() {
    cat >"$tmp/json"
    [ -s "$tmp/json" ] && iconv -f UTF-8 -t UTF-8 "$tmp/json" >/dev/null &&
        jq -R fromjson "$tmp/json" >/dev/null &&
        ! LC_ALL=C sed -E 's/"([^"\\]|\\.)*"//g' "$tmp/json" |
        grep -E '(^|[^0-9.eE+-])-?(0[0-9]|[+.])|[.]([^0-9]|$)|[Nn]a[Nn]|[Ii]nf'
}

# What a test needs is looked for before it begins. needs THING...: a program, or `terminal`. Where
# one is missing, the whole test is skipped, with a sentence.
needs() {
    local thing
    for thing; do
        case $thing in
        terminal) has_terminal || skip "$no_terminal" ;;
        *) command -v "$thing" >/dev/null || skip "$thing is not installed" ;;
        esac
    done
}

# channel_rights: do the servers know rules with `&`? Those before 6.2 do not.
channel_rights() {
    local k
    for k in 1 2 3; do
        [ "$(ask "$(port $k)" ACL SETUSER of-the-test '&*')" = +OK ] || return 1
    done
}
no_channel_rights='a server has no rights for channels (before 6.2)'

# skip WHY: ends the test; ctest reads 77 as "skipped".
skip() {
    printf '# skipped: %s\n' "$1"
    [ $failed = 0 ] && exit 77
    exit 1
}

# left_out WHAT: a part of a test, for want of a terminal.
left_out() {
    printf '# left out: %s: %s\n' "$1" "$no_terminal"
}

# has_terminal: can one be opened? Not in a root directory without devpts, for one.
has_terminal() {
    if [ -z "${terminal_status:-}" ]; then
        terminal_status=0
        timeout --foreground 10 script -q -e -c 'exit 7' /dev/null </dev/null >/dev/null 2>&1 ||
            terminal_status=$?
    fi
    [ "$terminal_status" = 7 ]
}
no_terminal='script(1) is missing, or cannot open a pseudo-terminal'

# inside_dev 'N [OPTION...]' "$@": runs the rest of the script inside N servers of `redlock dev`, unhurried.
inside_dev() {
    local options
    read -r -a options <<<"$1"
    shift
    if [ -n "${REDLOCK_DEV:-}" ]; then
        unhurried
        return
    fi
    rm -rf "$tmp"
    exec "$redlock" dev -c "${options[@]}" -- bash "$0" "$@"
}

# inside_cluster "$@": the same inside `redlock dev --cluster`, not initialised; ${port[K]} is that of the K-th node.
inside_cluster() {
    if [ -z "${REDLOCK_DEV:-}" ]; then
        find_server
        has_bus_port
        rm -rf "$tmp"
        exec "$redlock" dev --cluster --no-init -- bash "$0" "$@"
    fi
    IFS=+ read -r -a port <<<"x+${REDLOCK_NODES#cluster://}"
    port=("${port[@]##*:}")
    unhurried
}

# unhurried: a busy machine may take its time to answer. hurried: by default, where nodes hang.
unhurried() {
    echo 'node-timeout = 3s' >"$tmp/unhurried"
    export REDLOCK_CONFIG=$tmp/unhurried
}
hurried() { export REDLOCK_CONFIG=/dev/null; }

# can_stall: makes $tmp/stall.so, for LD_PRELOAD into a `redlock run` that is to stop at REDLOCK_STALL.
can_stall() {
    export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0
    "${CC:-cc}" -D_GNU_SOURCE -shared -fPIC -o "$tmp/stall.so" "$here/stall.c" -ldl || exit 1
}

# port K: of the K-th server.
port() {
    local list
    IFS=, read -r -a list <<<"$REDLOCK_NODES"
    printf '%s' "${list[$1 - 1]##*:}"
}

# take_port K: ends the K-th server of `redlock dev` and prints its port, which `redlock dev` keeps from all others:
# for a program that the test starts itself, as no port that merely looks free stays so.
take_port() {
    "$redlock" dev kill "$1" >/dev/null && port "$1"
}

# ask PORT WORD...: sends a command to a server without any client; prints the first line back.
ask() {
    local fd line
    exec {fd}<>"/dev/tcp/127.0.0.1/$1"
    shift
    printf '*%d\r\n' $# >&"$fd"
    for word in "$@"; do
        printf '$%d\r\n%s\r\n' "${#word}" "$word" >&"$fd"
    done
    IFS= read -r -t 60 line <&"$fd"
    exec {fd}>&-
    printf '%s' "${line%$'\r'}"
}

# find_server: $server is one that a test can start itself. own_servers: it adds their pids to `servers`,
# and they end with it.
find_server() {
    server=$(command -v "${REDLOCK_SERVER:-redis-server}" || command -v valkey-server) ||
        skip 'there is no server to start'
}
own_servers() {
    find_server
    servers=()
    trap end_servers EXIT
}
end_servers() {
    [ ${#servers[@]} = 0 ] || kill "${servers[@]}" 2>/dev/null
    wait
    rm -rf "$tmp"
}
# has_bus_port: a server takes the port of its cluster bus.
has_bus_port() {
    "$server" --port 0 --cluster-port 1 --bind-source-addr 127.0.0.1 --test-of-directives 2>&1 | grep -q 'test-of-directives' ||
        skip 'this server has no cluster-port (before 7.0)'
}

# port_of NAME, pid_of NAME, role_of NAME: of a server of `redlock dev`; master: which one is it.
port_of() { redlock dev list | awk -v name="$1" '$1 == name { sub(/.*:/, "", $2); print $2 }'; }
pid_of() { redlock dev list | awk -v name="$1" '$1 == name { print $5 }'; }
role_of() { redlock dev list | awk -v name="$1" '$1 == name { print $3 }'; }
master() { redlock dev list | awk '$3 == "master" { print $1 }'; }

# answer PORT LINE: all of a reply, a line for each of its parts.
answer() {
    local fd line
    exec {fd}<>"/dev/tcp/127.0.0.1/$1"
    printf '%s\r\nPING\r\n' "$2" >&"$fd"
    while IFS= read -r -t 60 line <&"$fd" && [ "$line" != $'+PONG\r' ]; do
        printf '%s\n' "${line%$'\r'}"
    done
    exec {fd}>&-
}

# held NAME, free NAME: is its key on the first server? free_all NAME: removes it everywhere.
held() {
    [ "$(ask "$(port 1)" EXISTS "redlock:$1")" = :1 ]
}

free() {
    ! held "$1"
}

free_all() {
    local k
    for k in 1 2 3; do ask "$(port $k)" DEL "redlock:$1" >/dev/null; done
}

# gone PID: there is no such process.
gone() {
    ! kill -0 "$1" 2>/dev/null
}

# eventually COMMAND...: until it succeeds, for at most a minute.
eventually() {
    local until=$((SECONDS + 60))
    exec {never}<> <(:)
    while ! "$@"; do
        [ $SECONDS -lt $until ] || return 1
        read -r -t 0.02 -u "$never" _ || :
    done
    exec {never}>&-
}

# now_ms: of the clock that deadlines are in.
now_ms() {
    local up
    read -r up _ </proc/uptime
    printf '%s' $((${up/./}0))
}

# terminal COMMAND: runs it on a terminal of its own. Keys go to descriptor $keys, what the
# terminal shows is in $tmp/screen, and the exit status comes from `finish`.
terminal() {
    has_terminal || skip "$no_terminal"
    rm -f "$tmp/keys" "$tmp/screen"
    mkfifo "$tmp/keys"
    # Background jobs of a shell ignore INT and QUIT; what runs on a terminal does not.
    # bash waits for what it runs before it dies of an interrupt; other shells do not.
    SHELL=$BASH TERM=xterm env --default-signal=INT,QUIT timeout --foreground -k 1 120 \
        script -q -e -f -c "$1" "$tmp/screen" <"$tmp/keys" >/dev/null 2>&1 &
    session=$!
    exec {keys}>"$tmp/keys"
}

shows() {
    eventually grep -aqs -- "$1" "$tmp/screen"
}

finish() {
    wait $session
    status=$?
    exec {keys}>&-
    screen=$(tr -d '\0\r' <"$tmp/screen")
}

# queued NAME [N]: so many wait for it on the first server (one). unqueued NAME: no waiter
# is left on any server.
queued() {
    [ "$(ask "$(port 1)" ZCARD "redlock.queue:$1")" = ":${2:-1}" ]
}

unqueued() {
    local k
    for k in 1 2 3; do
        [ "$(ask "$(port $k)" EXISTS "redlock.queue:$1")" = :0 ] || return 1
    done
}

done_testing() {
    exit $failed
}
