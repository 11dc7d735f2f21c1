#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Each room of src/ includes only itself and rooms below it: this table, or the test fails. base/
# knows nothing of locks: of the public header it has the type of a histogram, and nothing else.
#
# usage: layers.sh SOURCE-DIRECTORY
#        layers.sh --self-test       what may not be included must be found
set -eu

# ROOM: what it may include. The public header may be included everywhere but in base/.
allowed='
base:
core: base
protocol: core base
engine: protocol core base
io: engine protocol core base
drive: io engine protocol core base
client: drive io engine protocol core base
quorums: client drive io engine protocol core base
config: drive io engine protocol core base
api: config quorums client drive io engine protocol core base
'
# Generated: the scripts' texts are words.
scripts_room=protocol

check() {
    failed=0
    for file in "$1"/*/*.[ch] "$1"/*/*/*.[ch]; do
        [ -f "$file" ] || continue
        path=${file#"$1"/}
        room=${path%%/*}
        if ! printf '%s' "$allowed" | grep -q "^$room:"; then
            echo "# src/$path: room $room is not in the table of tests/binaries/layers.sh"
            failed=1
            continue
        fi
        below=$(printf '%s' "$allowed" | sed -n "s/^$room://p")
        for header in $(sed -n 's/^#include "\([^"]*\)".*/\1/p; s/^#include <\(redlock.h\)>.*/\1/p' "$file"); do
            case $header in
            redlock.h) { [ "$room" != base ] || [ "$path" = base/histogram.h ]; } && continue ;;
            "$room"/*) continue ;;
            rl_scripts.h) [ "$room" = "$scripts_room" ] && continue ;;
            esac
            case " $below " in
            *" ${header%%/*} "*) ;;
            *)
                echo "# src/$path includes $header, which is not below $room"
                failed=1
                ;;
            esac
        done
    done
    return $failed
}

if [ "$1" = --self-test ]; then
    tmp=$(mktemp -d)
    trap 'rm -rf "$tmp"' EXIT
    mkdir "$tmp/base" "$tmp/core" "$tmp/engine"
    echo '#include "core/lock.h"' >"$tmp/engine/handle.c"
    check "$tmp" || { echo "not ok - an include of a room below was called wrong"; exit 1; }
    echo '#include "engine/engine.h"' >"$tmp/core/lock.c"
    if check "$tmp"; then
        echo "not ok - core included engine, and nothing was found"
        exit 1
    fi
    rm "$tmp/core/lock.c"
    echo '#include <redlock.h>' >"$tmp/base/text.c"
    if check "$tmp"; then
        echo "not ok - base included the public header, and nothing was found"
        exit 1
    fi
    echo "ok - an include of a room above, or of locks in base, is found"
    exit 0
fi

if [ ! -f "$1/core/lock.c" ]; then
    echo "not ok - $1 is not the source directory"
    exit 1
fi
check "$1" || { echo "not ok - layers"; exit 1; }
echo "ok - every room includes only rooms below it"
