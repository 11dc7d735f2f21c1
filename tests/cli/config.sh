#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Where settings come from and which one wins; mistakes are shown with file and line.
. "$(dirname "$0")/lib.bash" "$@"
unset REDLOCK_CONFIG REDLOCK_NODES
export HOME=$tmp/home XDG_CONFIG_HOME=
mkdir -p "$HOME/.config/redlock" "$tmp/xdg/redlock"
conf=$HOME/.config/redlock/redlock.conf

# nodes OPTION...: which nodes are asked? No server listens on these ports.
nodes() {
    "$redlock" nodes --json --connect-timeout 200ms "$@" | grep -o '"address":"[^"]*"' |
        cut -d'"' -f4 | paste -sd,
}

if [ ! -e /etc/redlock.conf ]; then
    try "$redlock" nodes
    expect 'there is no default node' 78 "^redlock nodes: no nodes: set REDLOCK_NODES, --nodes, or nodes in redlock.conf \\(looked in $conf and /etc/redlock.conf\\); to try things: redlock dev\$"
fi
echo 'nodes = 127.0.0.1:11' >"$conf"
is 'the file in the home directory' "$(nodes)" 127.0.0.1:11
echo 'nodes = 127.0.0.1:12' >"$tmp/xdg/redlock/redlock.conf"
is 'XDG_CONFIG_HOME' "$(XDG_CONFIG_HOME=$tmp/xdg nodes)" 127.0.0.1:12
echo 'nodes = 127.0.0.1:13' >"$tmp/env.conf"
is 'REDLOCK_CONFIG instead' "$(REDLOCK_CONFIG=$tmp/env.conf nodes)" 127.0.0.1:13
echo 'nodes = 127.0.0.1:14' >"$tmp/flag.conf"
is '--config instead' "$(REDLOCK_CONFIG=$tmp/env.conf nodes --config "$tmp/flag.conf")" 127.0.0.1:14
is 'REDLOCK_NODES before any file' \
    "$(REDLOCK_NODES=127.0.0.1:15 nodes --config "$tmp/flag.conf")" 127.0.0.1:15
is '--nodes before all' \
    "$(REDLOCK_NODES=127.0.0.1:15 nodes --config "$tmp/flag.conf" --nodes 127.0.0.1:16)" 127.0.0.1:16
is 'commas and repetition' "$(nodes --nodes 127.0.0.1:1,127.0.0.1:2 --nodes=127.0.0.1:3)" \
    127.0.0.1:1,127.0.0.1:2,127.0.0.1:3
try env REDLOCK_NODES=127.0.0.1:15 REDLOCK_MAX_TTL=20s "$redlock" lock -t 21s x
expect 'REDLOCK_MAX_TTL: the longest TTL of a client' 64 'beyond the maximum of 20'
try env REDLOCK_NODES=127.0.0.1:15 REDLOCK_MAX_TTL=20s "$redlock" lock -t 41s --max-ttl 40s x
expect '   the command line goes before it' 64 'beyond the maximum of 40'
printf 'nodes = 127.0.0.1:15\nmax-ttl = 30s\n' >"$tmp/long.conf"
try env REDLOCK_MAX_TTL=20s "$redlock" lock -t 21s --config "$tmp/long.conf" x
expect '   and it before the file' 64 'beyond the maximum of 20'
try env REDLOCK_NODES=127.0.0.1:15 REDLOCK_MAX_TTL= "$redlock" lock x
expect '   set but empty is a mistake: 78' 78 'REDLOCK_MAX_TTL'
is 'blanks and lines in REDLOCK_NODES' \
    "$(REDLOCK_NODES=$' 127.0.0.1:1\n127.0.0.1:2 \t127.0.0.1:3,' nodes)" \
    127.0.0.1:1,127.0.0.1:2,127.0.0.1:3
printf '# a comment\n\n nodes = 127.0.0.1:1 # one\r\nnodes=127.0.0.1:2,127.0.0.1:3\n' >"$conf"
is 'comments, blanks, CRLF, several lines of nodes' "$(nodes)" 127.0.0.1:1,127.0.0.1:2,127.0.0.1:3
printf 'nodes = 127.0.0.1:1' >"$conf"
is 'no newline at the end' "$(nodes)" 127.0.0.1:1

# from OPTION...: what named them?
from() {
    "$redlock" nodes --json --connect-timeout 200ms "$@" | grep -o '"nodes_from":"[^"]*"' | cut -d'"' -f4
}
is 'what named the nodes: the file' "$(from)" "$conf"
is '   the environment' "$(REDLOCK_NODES=127.0.0.1:1 from)" REDLOCK_NODES
is '   the command line' "$(REDLOCK_NODES=127.0.0.1:1 from --nodes 127.0.0.1:2)" --nodes
try "$redlock" nodes -v --connect-timeout 200ms
like '   for people, with -v' "$out" "^nodes named by $conf$"

# mistake PATTERN [TEXT]: the file in $conf, with this text, is refused.
mistake() {
    # shellcheck disable=SC2059 # it has \n, and no %
    [ $# = 1 ] || printf "$2" >"$conf"
    try "$redlock" lock -n x
    expect "$1" 78 "redlock.conf:$1"
}
mistake "2: unknown key 'noddes'; did you mean 'nodes'" 'nodes = 127.0.0.1:1\nnoddes = 127.0.0.1:2\n'
mistake "3: ttl: 'banana' is not a duration" '\n\nttl = banana\n'
mistake "1: ttl: '0' must be more than zero" 'ttl = 0\n'
mistake "1: wait: '-1' is negative" 'wait = -1\n'
mistake "1: no-native: 'maybe' is neither yes nor no" 'no-native = maybe\n'
mistake "1: guard: 'maybe' is neither on, off nor strict" 'guard = maybe\n'
mistake '1: expected: key = value' 'nodes\n'
mistake '1: expected: key = value' '= 3\n'
mistake "1: 'nodes' names no node" 'nodes = \n'
mistake "1: 'user' is empty" 'user =\n'
mistake "2: 'ttl' is given twice" 'ttl = 3\nttl = 4\n'
mistake '1: the line contains a NUL byte' 'ttl = 3\0\n'
{ echo '# fine'; head -c 5000 /dev/zero | tr '\0' a; echo; } >"$conf"
mistake '2: the line is too long'
mistake "1: unknown key 'json'" 'json = yes\n'
printf 'ttl = banana\n' >"$conf"
try "$redlock" lock -n -t 3 x
expect 'a bad value is found even where the command line wins' 78 'redlock.conf:1: ttl'
mistake '1: expected: key = value' 'redis://user:sEcReT@host/?a=b\nredis://user:sEcReT@host\n'
unlike '   and what may be a password is not shown' "$err" sEcReT
printf 'ttl = 2m\nnodes = 127.0.0.1:1\n' >"$conf"
try "$redlock" lock -n x
expect 'a TTL beyond the maximum, from the file: 78' 78 'beyond the maximum'
printf 'ttl = 2m\nmax-ttl = 3m\nnodes = 127.0.0.1:1\n' >"$conf"
try "$redlock" lock -n x
expect 'unless the file raises that too' 69
printf 'nodes = 127.0.0.1:1\nwait = 0\n' >"$conf"
try timeout 60 "$redlock" lock x
expect 'wait from the file' 69
rm "$conf"

try "$redlock" lock -n --config /nonexistent x
expect 'a file that is named must exist' 78 'cannot read the configuration file /nonexistent: No such file'
try env REDLOCK_CONFIG=/nonexistent "$redlock" lock -n x
expect 'in the environment as well' 78 'configuration file /nonexistent'
try "$redlock" lock -n --config / x
expect '   and be a file' 78 'Is a directory'
if [ "$(id -u)" != 0 ]; then
    : >"$conf"
    chmod 000 "$conf"
    try "$redlock" lock -n x
    expect 'one that is there must be readable' 78 'Permission denied'
fi
done_testing
