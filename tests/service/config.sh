#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# redlockd.conf: the manual page, --help, the example that is packaged and the program know the same keys,
# and whatever is wrong is reported with file and line.
. "$(dirname "$0")/lib.bash" "$@"
needs openssl
tree=$(cd "$(dirname "$0")/../.." && pwd)
mkdir "$tmp/certs"
"$certs" "$tmp/certs" || exit 1
printf 'ci %064d\n' 0 >"$tmp/tokens"
echo 'nodes = 127.0.0.1:1' >"$tmp/nodes"
(cd "$tmp/certs" && openssl ca -gencrl -crldays 30 -config ca.cnf -cert ca.crt -keyfile ca.key -out "$tmp/crl") 2>/dev/null

page=$(sed -n '/^\.Ss Keys/,/^\.Ss Rules/s/^\.It Li \([a-z-]*\)\( , \([a-z-]*\)\)\{0,1\}$/\1\n\3/p' \
    "$tree/man/redlockd.conf.5" | grep . | sort)
help=$("$redlockd" --help | grep -oE '^  --[a-z-]+' | cut -c 5- |
    grep -vxE 'config|check|ready|dev|version|help' | sort)
example=$(sed -n 's/^#\{0,1\}\([a-z-]*\) = .*/\1/p' "$tree/packaging/redlockd.conf" | sort -u)
known=$(grep -oE '^    \[SETTING_[A-Z_]+\] = *\{"[a-z-]+' "$tree/redlockd/settings/settings.c" | sed 's/.*"//' | sort)
between 'there are keys' "$(wc -w <<<"$known")" 14 40
is 'the manual page has all of them' "$page" "$known"
is '--help, too' "$help" "$known"
is 'and so has the example' "$example" "$known"

# place: paths of a machine become those of this test.
place() {
    sed -e "s|/etc/redlock/redlockd.pem|$tmp/certs/good.crt|; s|/run/credentials/redlockd.service/tls-key|$tmp/certs/good.key|" \
        -e "s|/etc/redlock/clients.pem|$tmp/certs/ca.crt|; s|/etc/redlock/tokens|$tmp/tokens|" \
        -e "s|/etc/redlock/revoked.pem|$tmp/crl|; s|/run/redlockd/|$tmp/|" \
        -e "s|/etc/redlock.conf|$tmp/nodes|; s|/var/log/redlock/|$tmp/|"
}
try "$redlockd" --config "$tree/packaging/redlockd.conf" --check
expect 'the example as it is' 0
sed 's/^#\([a-z-]* = \)/\1/' "$tree/packaging/redlockd.conf" | place >"$tmp/conf"
try "$redlockd" --config "$tmp/conf" --check
expect 'with all that it shows' 0
sed -n '/^\.Sh EXAMPLES/,$p' "$tree/man/redlockd.conf.5" | grep -E '^[a-z-]+ = ' | place >"$tmp/conf2"
between 'the manual page has an example' "$(wc -l <"$tmp/conf2")" 5 20
try "$redlockd" --config "$tmp/conf2" --check
expect '   which can be used' 0

# wrong KEY VALUE PATTERN BEFORE: in the last line of a file, behind the lines BEFORE.
seen=
wrong() {
    seen="$seen$1"$'\n'
    printf 'listen = tls:127.0.0.1:0\n%s\n%s = %s\n' "$4" "$1" "$2" >"$tmp/bad"
    try "$redlockd" --config "$tmp/bad" --check
    expect "$1 = ${2:0:40}" 78 "$tmp/bad:$(wc -l <"$tmp/bad"): $3"
}
cat "$tmp/certs/good.crt" "$tmp/certs/good.key" >"$tmp/both.pem"
tls="tls-cert = $tmp/both.pem"
wrong listen 127.0.0.1 '127.0.0.1 is neither unix:/path nor ADDRESS:PORT' "$tls"
wrong listen 192.0.2.1:80 '192.0.2.1:80: plain TCP is for loopback' "$tls"
wrong listen unix:relative 'unix:relative: a unix socket needs an absolute path' "$tls"
wrong listen 'unix:/a mode=999' 'listen: behind unix:/path may stand' "$tls"
wrong host '' 'host: needs a value' "$tls"
wrong tls-cert "$tmp/nodes" 'there is no usable PEM' ''
wrong tls-cert "$tmp/missing" 'cannot read the TLS certificate file' ''
wrong tls-key "$tmp/certs/ca.key" 'the TLS key file .* has no key' "$tls"
wrong tls-client-ca "$tmp/tokens" 'there is no usable PEM in the TLS client CA file' "$tls"
wrong tls-client-crl "$tmp/certs/ca.crt" 'there is no usable PEM in the TLS client CRL file' "$tls
tls-client-ca = $tmp/certs/ca.crt"
wrong tls-client-crl "$tmp/crl" 'tls-client-crl needs tls-client-ca' "$tls"
wrong quorum-config "$tmp/missing" '.*missing' "$tls"
wrong tokens "$tmp/missing" 'tokens: .*missing: cannot be read' "$tls"
wrong tokens "$tmp/nodes" "$tmp/nodes:1: expected NAME and the SHA-256" "$tls"
wrong allow 'uid:x * read' 'allow: a principal is' "$tls"
wrong class 'a b' 'class: a pattern is printable ASCII without blanks' "$tls"
wrong audit /nonexistent/audit 'audit: /nonexistent/audit: cannot be opened' "$tls"
wrong names latin1 'names: is utf8 or ascii' "$tls"
wrong insecure maybe 'insecure: is yes or no' "$tls"
wrong drift-ppm 500001 'drift-ppm: is a number from 0 to 500000' "$tls"
wrong connections 0 'connections: is a number from 1 to 1000000' "$tls"
wrong drain 1h 'drain: is a number from 0 to 3600' "$tls"
is 'every key was tried' "$(sort -u <<<"$seen" | grep .)" "$known"
wrong names ascii "'names' is given twice" 'names = ascii'
wrong unknown 1 "unknown key 'unknown'" "$tls"
printf 'listen = unix:/a\nlisten\n' >"$tmp/bad"
try "$redlockd" --config "$tmp/bad" --check
expect 'a line that is none' 78 "$tmp/bad:2: expected: key = value"
printf 'drain = 1%04100d\n' 0 >"$tmp/bad"
try "$redlockd" --config "$tmp/bad" --check
expect 'a line that is too long' 78 "$tmp/bad:1: the line is too long: at most 4095 bytes"

# warned WHAT LINE PATTERN LINES...: status 0, and a warning about that line.
warned() {
    local what=$1 line=$2 pattern=$3
    shift 3
    printf '%s\n' "$@" >"$tmp/odd"
    try "$redlockd" --config "$tmp/odd" --check
    expect "$what" 0 "warning: ${line:+$tmp/odd:$line: }$pattern"
    like '   it says that there are warnings' "$out" 'in spite of the warnings, as .*\(uid [0-9]+\)'
}
here="listen = unix:$tmp/socket"
warned 'no listener' '' 'nothing to listen on' 'drain = 1'
warned 'a token without tokens' 2 'allow: token:ci is no client: there are no tokens' "$here" 'allow = token:ci * read'
warned 'a token that the file does not have' 3 'allow: token:co is no client: .* has no token of that name' \
    "$here" "tokens = $tmp/tokens" 'allow = token:co * read'
warned 'a certificate without an authority' 2 'allow: cert:a is no client: there is no tls-client-ca' "$here" 'allow = cert:a * read'
warned 'a port that no client can use' 1 'listen: no client can use 127.0.0.1:0: set tokens' 'listen = 127.0.0.1:0'
warned 'a TLS port that no client can use' 2 'listen: no client can use tls:127.0.0.1:0: set tokens or tls-client-ca' \
    "$tls" 'listen = tls:127.0.0.1:0'
warned 'a proxy without tokens' 1 'listen: no client behind the proxy' "$here peer=proxy"
warned 'a directory that is not there' 1 'listen: no socket can be made in /nonexistent/: No such file' \
    'listen = unix:/nonexistent/socket'
warned 'a group that is not there' 1 'listen: group=no-such-group: there is no such group' "$here group=no-such-group"
warned 'a rule behind one that decides' 3 'allow: the rule for uid:1 a/ in line 2 decides before this one' \
    "$here" 'allow = uid:1 a/ read' 'allow = uid:1 a/b acquire'
: >"$tmp/empty"
warned 'an empty file of tokens' 2 "tokens: there is no token in $tmp/empty" "$here" "tokens = $tmp/empty"
if [ "$(id -u)" = 0 ]; then
    (umask 077 && cp "$tmp/tokens" "$tmp/private")
    warned 'a file that only root can read' 2 "tokens: $tmp/private can be read by its owner only" \
        "$here" "tokens = $tmp/private"
fi
credentials=/run/credentials/redlockd-of-this-test.service
warned 'a key that comes with the unit' 3 "cannot read the TLS key file $credentials/key: No such file.*\\(systemd provides it" \
    "$here" "tls-cert = $tmp/certs/good.crt" "tls-key = $credentials/key"
printf 'nodes = 127.0.0.1:1\npassword-file = %s/password\n' "$credentials" >"$tmp/nodes.conf"
warned 'a password that comes with the unit' 2 "password-file: cannot read $credentials/password: .*\\(systemd provides it" \
    "$here" "quorum-config = $tmp/nodes.conf"
if [ ! -e /var/log/redlock ]; then
    warned 'a log in a directory that comes with the unit' 2 'audit: /var/log/redlock/of-this-test: .*\(systemd provides it' \
        "$here" 'audit = /var/log/redlock/of-this-test'
fi
printf '%s\n' "$here" "tokens = $tmp/tokens" 'allow = token:ci a/ read' 'allow = token:ci * acquire' >"$tmp/odd"
try "$redlockd" --config "$tmp/odd" --check
expect 'nothing odd' 0
is '   no warning' "$err" ''
like '   as which user it looked' "$out" "^the settings can be used, as $(id -un) \\(uid $(id -u)\\) sees them$"

try "$redlockd" token robot
expect 'a new token' 0
is '   and its line' "$(sed -n 4p <<<"$out")" "robot $(digest "$(sed -n 2p <<<"$out")")"
between '   of 256 bits' "$(sed -n 2p <<<"$out" | tr -d '\n' | wc -c)" 64 64
unlike '   another each time' "$("$redlockd" token robot)" "$(sed -n 2p <<<"$out")"
try "$redlockd" token 'two words'
expect '   of no name' 64 'a name has no blanks'
done_testing
