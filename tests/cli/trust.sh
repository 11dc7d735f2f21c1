#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Configuration, password and TLS files: what other users can write is refused, a secret that they
# can read is warned about.
. "$(dirname "$0")/lib.bash" "$@"
inside_dev 3 "$@"
channel_rights || skip "$no_channel_rights"
secret=sEcReT-0815
conf=$tmp/test.conf
echo 'node-timeout = 1s' >"$conf"
printf '%s\n' "$secret" >"$tmp/password"

# A user with a password, beside the default one without.
for k in 1 2 3; do ask "$(port $k)" ACL SETUSER friend on '>'"$secret" '~*' '&*' +@all >/dev/null; done
with=
for k in 1 2 3; do with=$with,redis://friend:$secret@127.0.0.1:$(port $k); done

lock() {
    try "$redlock" lock -n -t 9s "name$RANDOM$RANDOM" "$@"
}

# refused_if_writable WHAT FILE ARGUMENT...
refused_if_writable() {
    local what=$1 file=$2 mode
    shift 2
    for mode in 620 602 666; do
        chmod $mode "$file"
        lock "$@"
        expect "$what of mode $mode: 78" 78 "others can write to $what $file; forbid it with: chmod go-w $file"
    done
    chmod 600 "$file"
    if [ "$(id -u)" = 0 ]; then
        chown 65534 "$file"
        lock "$@"
        expect '   of another user: 78' 78 "$what $file belongs to another user, who can change it"
        chown 0 "$file"
    else
        ok '   skipped: only root can make a file of another user'
    fi
}

# read_by_others FILE MODE WHAT ARGUMENT...: it works, with a warning that says how to forbid it.
read_by_others() {
    local file=$1 mode=$2 what=$3 who=go
    [ "$(id -u)" != 0 ] || who=o
    shift 3
    chmod "$mode" "$file"
    lock "$@"
    expect "$what that others can read: a warning" 0 "warning: $file: others can read $what; forbid it with: chmod $who-rwx $file"
    unlike '   without the secret' "$out$err" "$secret"
    lock -q "$@"
    is '   which -q leaves out' "$status:$err" 0:
    chmod $who-rwx "$file"
    lock "$@"
    is '   and which is gone after that chmod' "$status:$err" 0:
    chmod 600 "$file"
    lock "$@"
    is '   mode 600: not a word' "$status:$err" 0:
}

refused_if_writable 'the configuration file' "$conf" --config "$conf"
chmod 644 "$conf"
lock --config "$conf"
is 'a configuration without a password may be read by all' "$status:$err" 0:
nodes=$REDLOCK_NODES
unset REDLOCK_NODES
echo "nodes = ${with#,}" >>"$conf"
read_by_others "$conf" 644 'the password' --config "$conf"
sed -i 's/:[^:@]*@/@/g' "$conf"
chmod 644 "$conf"
lock --config "$conf"
unlike 'a user without a password is no secret' "$err" 'others can read'
printf 'nodes = redis://:se;cret@127.0.0.1:1\n' >"$conf"
lock --config "$conf"
like 'a password may have a semicolon in it' "$err" 'others can read the password'
export REDLOCK_NODES=$nodes

mkdir -p "$tmp/home/.config/redlock"
echo 'ttl = 9s' >"$tmp/home/.config/redlock/redlock.conf"
chmod 666 "$tmp/home/.config/redlock/redlock.conf"
try env -u REDLOCK_CONFIG HOME="$tmp/home" XDG_CONFIG_HOME= "$redlock" lock -n x
expect 'the usual file is not exempt' 78 'others can write to the configuration file .*redlock.conf'
ln -s "$conf" "$tmp/link.conf"
lock --config "$tmp/link.conf"
unlike 'of a link the file counts' "$err" 'others can write'
lock --config /dev/null
is 'devices are not judged' "$status:$err" 0:
lock --config <(echo 'ttl = 9s')
is '   nor pipes' "$status:$err" 0:

refused_if_writable 'the password file' "$tmp/password" --user friend --password-file "$tmp/password"
read_by_others "$tmp/password" 644 'the password' --user friend --password-file "$tmp/password"
lock --user friend --password-file <(printf '%s\n' "$secret")
is 'a password from a pipe' "$status:$err" 0:
if [ "$(id -u)" = 0 ]; then
    chmod 640 "$tmp/password"
    lock --user friend --password-file "$tmp/password"
    is 'a file of root that a group may read is usual' "$status:$err" 0:
else
    read_by_others "$tmp/password" 640 'the password' --user friend --password-file "$tmp/password"
fi

# TLS files are judged before they are used.
for file in ca cert key; do echo "no PEM" >"$tmp/$file.pem"; done
refused_if_writable 'the TLS CA file' "$tmp/ca.pem" --tls-ca "$tmp/ca.pem"
refused_if_writable 'the TLS certificate file' "$tmp/cert.pem" --tls-cert "$tmp/cert.pem"
refused_if_writable 'the TLS key file' "$tmp/key.pem" --tls-cert "$tmp/cert.pem" --tls-key "$tmp/key.pem"
chmod 644 "$tmp/cert.pem" "$tmp/key.pem"
lock --tls-cert "$tmp/cert.pem" --tls-key "$tmp/key.pem"
like 'a key that others can read' "$err" "warning: $tmp/key.pem: others can read the TLS key; forbid it with: chmod g?o-rwx $tmp/key.pem"
unlike '   the certificate beside it is no secret' "$err" 'cert\.pem:'
lock --tls-cert "$tmp/cert.pem"
like '   unless the key is in it' "$err" "warning: $tmp/cert.pem: others can read the TLS key"
done_testing
