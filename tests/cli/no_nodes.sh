#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# No nodes are configured: there is no default, and every subcommand that needs nodes says so at once.
. "$(dirname "$0")/lib.bash" "$@"
unset REDLOCK_CONFIG REDLOCK_NODES REDLOCK_DEV XDG_CONFIG_HOME
[ ! -e /etc/redlock.conf ] || skip 'this machine has a configuration of its own'
said='no nodes: set REDLOCK_NODES, --nodes, or nodes in redlock.conf \(looked in .*/etc/redlock.conf\); to try things: redlock dev$'

# As cron starts a job: hardly any environment.
cron=(env -i HOME="$tmp" LOGNAME=user SHELL=/bin/sh PATH=/usr/bin:/bin timeout 20)

# none WORD...: this command line ends with 78, whatever it would have waited for.
none() {
    try "${cron[@]}" "$redlock" "$@"
    expect "78 without nodes: redlock $*" 78 "^redlock $1: $said"
}
none run -n name -- touch "$tmp/ran"
none run name -- touch "$tmp/ran"
none lock name
none lock -w forever name
none nodes --where name

# Every subcommand that talks to nodes, with whatever words make a whole command line of it.
for sub in $("$redlock" help | sed -n 's/^  \([a-z]\+\)  *[a-z].*/\1/p'); do
    case $sub in
    dev | fence | help | version | redlock) continue ;; # the last: examples
    run) none run name -- true && continue ;;
    esac
    for words in '' '--yes' 'name' '--yes name' 'name value'; do
        # shellcheck disable=SC2086 # words
        try "${cron[@]}" "$redlock" $sub $words </dev/null
        [ $status != 64 ] || continue
        break
    done
    expect "78 without nodes: redlock $sub $words" 78 "^redlock $sub: $said"
done
is 'nothing was run' "$(ls "$tmp/ran" 2>&1 | grep -c 'No such')" 1
try "${cron[@]}" "$redlock" lock --json name
is '   with --json it is one object' "$status:$(grep -c '"ok":false,"command":"lock","error":"CONFIG","message":"no nodes: .*"exit_status":78' <<<"$out")" 78:1
mkdir -p "$tmp/.config/redlock"
echo 'prefix = a:' >"$tmp/.config/redlock/redlock.conf"
try "${cron[@]}" "$redlock" lock name
expect 'a file without nodes is named' 78 "nodes in redlock.conf \\(looked in $tmp/.config/redlock/redlock.conf\\)"
rm -r "$tmp/.config"
try env -i PATH=/usr/bin:/bin "$redlock" lock name
expect 'without HOME there is the file of the system only' 78 '\(looked in /etc/redlock.conf\)'

done_testing
