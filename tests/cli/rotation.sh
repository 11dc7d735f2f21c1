#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A password that changes while `redlock run` holds a lock: from a file, and from a command.
. "$(dirname "$0")/lib.bash" "$@"
inside_dev 3 "$@"
channel_rights || skip "$no_channel_rights"

# each WORD...: the command on every server.
each() {
    local k
    for k in 1 2 3; do ask "$(port $k)" "$@" >/dev/null; done
}
set_password() { each ACL SETUSER friend reset on ">$1" '~redlock*' '&redlock*' +@all; }
aged() { [ "$(ask "$(port 1)" PTTL redlock:x | tr -d :)" -lt 5000 ]; }
renewed() { [ "$(ask "$(port 1)" PTTL redlock:x | tr -d :)" -gt 5500 ]; }

# rotate OPTION...: a lock is held while the password changes and every connection is ended.
rotate() {
    printf '%s\n' old >"$tmp/password"
    set_password old
    mkfifo "$tmp/go" "$tmp/held"
    "$redlock" run -t 6s --user friend "$@" x -- sh -c "echo >$tmp/held; read -r _ <$tmp/go" 2>"$tmp/err" &
    pid=$!
    read -r _ <"$tmp/held"
    printf '%s\n' new >"$tmp/password"
    set_password new # reset: the old one is gone
    each CLIENT KILL USER friend
    that "the lock goes on without a renewal ($1)" eventually aged
    that '   and is renewed after the rotation' eventually renewed
    echo >"$tmp/go"
    status=0
    wait "$pid" || status=$?
    is '   and the command ends as it would' "$status" 0
    that '   with its lock released' eventually free x
    rm "$tmp/go" "$tmp/held"
}

rotate --password-file "$tmp/password"
printf '#!/bin/sh\ncat %s\n' "$tmp/password" >"$tmp/command"
chmod 700 "$tmp/command"
rotate --password-command "$tmp/command"
try "$redlock" lock -n --password-command 'cat secret' y
expect 'a command without a path is refused' 78 'must begin with the absolute path of a program'
try "$redlock" lock -n --password-command "$tmp/command" --password-file "$tmp/password" y
expect 'a file and a command exclude each other' 78 'give one of password, password_file and password_command'
done_testing
