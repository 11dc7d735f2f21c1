#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The unit for systemd: it is one, and how exposed systemd finds it.
. "$(dirname "$0")/lib.bash" "$@"
needs systemd-analyze
packaging=$(readlink -f "$here/../../packaging")
sed "s|@CMAKE_INSTALL_FULL_BINDIR@|$(dirname "$redlockd")|" "$packaging/redlockd.service.in" >"$tmp/redlockd.service"
cp "$packaging/redlockd.socket" "$tmp"
try systemd-analyze verify --man=no "$tmp/redlockd.socket" "$tmp/redlockd.service"
is 'systemd finds nothing wrong with the unit and its socket' "$status $(grep redlockd <<<"$err")" '0 '
try systemd-analyze security --offline=true --no-pager --threshold=15 "$tmp/redlockd.service"
is '   and its exposure is at most 1.5' "$status" 0
done_testing
