#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# redlockd.conf: the manual page, --help, the example that is packaged and the program know the same keys,
# and whatever is wrong is told with file and line.
. "$(dirname "$0")/lib.bash" "$@"
needs openssl
tree=$(cd "$(dirname "$0")/../.." && pwd)
mkdir "$tmp/certs"
"$certs" "$tmp/certs" || exit 1
printf 'ci %064d\n' 0 >"$tmp/tokens"
echo 'nodes = 127.0.0.1:1' >"$tmp/nodes"

# ---- the keys ----

page=$(sed -n '/^\.Ss Keys/,/^\.Ss Rules/s/^\.It Li \([a-z-]*\)\( , \([a-z-]*\)\)\{0,1\}$/\1\n\3/p' \
    "$tree/man/redlockd.conf.5" | grep . | sort)
help=$("$redlockd" --help | grep -oE '^  --[a-z-]+' | cut -c 5- |
    grep -vxE 'config|check|dev|version|help' | sort)
example=$(sed -n 's/^#\{0,1\}\([a-z-]*\) = .*/\1/p' "$tree/packaging/redlockd.conf" | sort -u)
known=$(sed -n 's/^    X([A-Z_]*, "\([a-z-]*\)").*/\1/p' "$tree/redlockd/settings/settings.h" | sort)
between 'there are keys' "$(wc -w <<<"$known")" 14 40
is 'the manual page has all of them' "$page" "$known"
is '--help, too' "$help" "$known"
is 'and so has the example' "$example" "$known"

# ---- the example ----

# place: paths of a machine become those of this test.
place() {
    sed -e "s|/etc/redlock/redlockd.pem|$tmp/certs/good.crt|; s|/etc/redlock/redlockd.key|$tmp/certs/good.key|" \
        -e "s|/etc/redlock/clients.pem|$tmp/certs/ca.crt|; s|/etc/redlock/tokens|$tmp/tokens|" \
        -e "s|/etc/redlock.conf|$tmp/nodes|; s|/var/log/redlock/|$tmp/|"
}
try "$redlockd" --config "$tree/packaging/redlockd.conf" --check
expect 'the example as it is' 0
sed 's/^#\([a-z-]* = \)/\1/' "$tree/packaging/redlockd.conf" | place >"$tmp/conf"
try "$redlockd" --config "$tmp/conf" --check
expect 'with all that it shows' 0
sed -n '/^\.Sh EXAMPLES/,$p' "$tree/man/redlockd.conf.5" | grep -E '^[a-z-]+ = ' | place |
    sed "s|^\(tls-cert.*\)|\1\ntls-key = $tmp/certs/good.key|" >"$tmp/conf2"
between 'the manual page has an example' "$(wc -l <"$tmp/conf2")" 5 20
try "$redlockd" --config "$tmp/conf2" --check
expect '   which can be used' 0

# ---- what is wrong with each ----

# wrong KEY VALUE PATTERN: in line 3 of a file.
seen=
wrong() {
    seen="$seen$1"$'\n'
    printf 'listen = tls:127.0.0.1:0\n%s\n%s = %s\n' "$4" "$1" "$2" >"$tmp/bad"
    try "$redlockd" --config "$tmp/bad" --check
    expect "$1 = ${2:0:40}" 64 "$tmp/bad:3: $3"
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
wrong quorum-config "$tmp/missing" '.*missing' "$tls"
wrong tokens "$tmp/missing" 'tokens: .*missing: cannot be read' "$tls"
wrong tokens "$tmp/nodes" "$tmp/nodes:1: expected NAME and the SHA-256" "$tls"
wrong allow 'uid:x * read' 'allow: a principal is' "$tls"
wrong audit /nonexistent/audit 'audit: /nonexistent/audit: cannot be opened' "$tls"
wrong names latin1 'names: is ascii or utf8' "$tls"
wrong insecure maybe 'insecure: is yes or no' "$tls"
wrong drift-ppm 500001 'drift-ppm: is a number from 0 to 500000' "$tls"
wrong connections 0 'connections: is a number from 1 to 1000000' "$tls"
wrong drain 1h 'drain: is a number from 0 to 3600' "$tls"
is 'every key was tried' "$(sort -u <<<"$seen" | grep .)" "$known"
wrong names ascii 'names: is given twice' 'names = ascii'
wrong unknown 1 'unknown: there is no such key' "$tls"
printf 'listen = unix:/a\nlisten\n' >"$tmp/bad"
try "$redlockd" --config "$tmp/bad" --check
expect 'a line that is none' 64 "$tmp/bad:2: listen: expected key = value"
printf 'drain = 1%01100d\n' 0 >"$tmp/bad"
try "$redlockd" --config "$tmp/bad" --check
expect 'a line that is too long' 64 "$tmp/bad:1: a line: is longer than 1023 bytes"
done_testing
