#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The status page in a real browser: what it shows, how soon, to whom, and what it must never do.
# REDLOCK_PICTURES names a folder for the pictures of the documentation.
. "$(dirname "$0")/lib.bash" "$@"
needs python3 sha256sum chromium
inside_dev '6 --no-init' "$@"
port=$(take_port 6)
REDLOCK_NODES=${REDLOCK_NODES%,*}
"$redlock" init --yes --node-timeout 3s >/dev/null
python3 -B "$here/../service/page.py" "$redlockd" "$tmp" "$port" || failed=1
unlike 'no sanitizer complains' "$(cat "$tmp/log")" 'Sanitizer|runtime error'
done_testing
