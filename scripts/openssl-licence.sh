#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# openssl-licence.sh SYSROOT: prints the version, the copyright and the licence of the OpenSSL there, which a package with
# OpenSSL inside owes its users.
set -eu
sed -n 's/^libssl-dev \([^ ]*\) .*/Inside of the compiled files of this package: OpenSSL \1 of Debian 12.\n/p' "$1/PARTS"
sed '/^Files: debian/,$d' "$1/usr/share/doc/libssl-dev/copyright"
cat "$1/usr/share/common-licenses/Apache-2.0"
