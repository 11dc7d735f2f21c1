#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Where no pseudo-terminal can be opened, a test that needs one says so and is skipped; a
# test that needs one for a part of what it does says that it left the part out.
. "$(dirname "$0")/lib.bash" "$@"
needs terminal unshare
enter=(unshare --mount)
[ "$(id -u)" = 0 ] || enter+=(--map-root-user)
"${enter[@]}" mount -t tmpfs none /dev/pts 2>/dev/null || skip 'a mount namespace is not permitted'

# without COMMAND...: as in a root directory that has no devpts.
without() {
    "${enter[@]}" sh -c 'mount -t tmpfs none /dev/pts && { [ -L /dev/ptmx ] || mount --bind /dev/null /dev/ptmx; } && exec "$@"' \
        sh "$@"
}

try without bash "$here/terminal.sh" "$redlock"
[ "$status" != 0 ] || skip 'a pseudo-terminal opens without devpts too'
for test in $(grep -l '^needs .*terminal' "$here"/*.sh); do
    [ "$test" != "$here/no_terminal.sh" ] || continue
    try without bash "$test" "$redlock"
    is "${test##*/} is skipped" "$status" 77
    like '   with a sentence' "$out" '^# skipped: .*pseudo-terminal'
done
try without bash "$here/status.sh" "$redlock"
is 'status.sh runs without a terminal' "$status$(grep '^not ok' <<<"$out")" 0
like '   and says what it left out' "$out" '^# left out: .*pseudo-terminal'

# A test that asks for a terminal without having looked for it.
cat >"$tmp/careless.sh" <<END
. "$here/lib.bash" "\$1"
terminal 'echo never'
END
try without bash "$tmp/careless.sh" "$redlock"
is 'a test that forgot to look is skipped as well' "$status" 77
done_testing
