#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# day_one.sh REDLOCK: on the first day no client waits for a quarantine. On a new server the first error names the one command that
# helps and why; the recipe for continuous integration of docs/containers.md takes a lock at once.
. "$(dirname "$0")/lib.bash" "$@"
inside_dev '2 --no-init' "$@"
both=$REDLOCK_NODES

export REDLOCK_NODES=127.0.0.1:$(port 1)
try "$redlock" run -n job -- true
expect 'a new server: 69' 69 'may have forgotten locks that are still held'
like '   the error names one command' "$(grep -o '`[^`]*`' <<<"${err##*next:}")" '^`redlock init --yes`$'
try bash -c "$(grep -o '`[^`]*`' <<<"${err##*next:}" | tr -d '`')"
expect '   which helps' 0
try "$redlock" run -n job -- true
expect '   at once' 0

REDLOCK_NODES=$both
awk '/^## /{here = /^## Continuous integration/} here && /^```$/ {exit} here && inside {print} here && /^```sh$/ {inside = 1}' \
    "$here/../../docs/containers.md" >"$tmp/recipe"
like 'the recipe takes a lock' "$(cat "$tmp/recipe")" '^redlock run '
sed -i "s/127.0.0.1:6379/127.0.0.1:$(port 2)/" "$tmp/recipe"
mkdir "$tmp/bin"
printf '#!/bin/sh\necho "under $REDLOCK_NAME"\n' >"$tmp/bin/make"
chmod +x "$tmp/bin/make"
try env PATH="$tmp/bin:$PATH" bash -e "$tmp/recipe"
expect '   on a new server' 0
like '   for the job' "$out" '^under integration$'
unlike '   which waits for no quarantine' "$err" 'quarantine'
done_testing
