#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Each room of redlockd/ includes itself, rooms below it, and of the library and the command only what
# this table names; only one file writes to standard error.
#
# usage: layers.sh TREE
set -eu
cd "$1/redlockd"

# base/, the reactor, clock, sink and values of the library; what the command takes for a record of --every.
library='base/.*|config/config.h|io/(reactor|clock|sink).h|protocol/value.h|redlock.h'

# allowed ROOM: the headers that its files may include, as an extended regular expression.
allowed() {
    case $1 in
    system) echo "system/.*|$library" ;;
    settings) echo "settings/.*|$library" ;;
    http) echo "(http|system)/.*|$library" ;;
    access) echo "(access|http|system)/.*|$library" ;;
    nodes) echo "(nodes|system)/.*|ui/guarantee.h|$library" ;;
    journal) echo "(journal|nodes|access|http|system)/.*|$library" ;;
    leases) echo "(leases|journal|access|http|system)/.*|ui/vote.h|$library" ;;
    view) echo "(view|leases|journal|nodes|access|http|system)/.*|ui/(guarantee|record|vote).h|$library" ;;
    once) echo "(once|leases|journal|access|http|system)/.*|ui/(guarantee|record).h|$library" ;;
    metrics) echo "(metrics|view|leases|journal|nodes|access|http|system)/.*|$library" ;;
    page) echo "(page|http)/.*|(openapi.json|page.html).inc|$library" ;;
    life) echo "(life|page|metrics|once|view|leases|journal|nodes|access|http|settings|system)/.*|ui/subcommand.h|$library" ;;
    esac
}

failed=0
for room in */; do
    room=${room%/}
    pattern=$(allowed "$room")
    if [ -z "$pattern" ]; then
        echo "not ok - room $room is not in the table of tests/service/layers.sh"
        failed=1
        continue
    fi
    for file in "$room"/*.[ch]; do
        sed -n 's/^#include "\([^"]*\)".*/\1/p' "$file" | grep -vE "^($pattern)\$" |
            sed "s|^|not ok - redlockd/$file includes |" | grep . && failed=1
    done
done
for file in $(grep -rlE --include='*.c' '\bstderr\b|STDERR_FILENO|perror\(' .); do
    if [ "$file" != ./system/log.c ]; then
        echo "not ok - redlockd/$file writes to standard error"
        failed=1
    fi
done
[ $failed = 0 ] && echo "ok - every room of redlockd includes only rooms below it"
exit $failed
