#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `redlock dev --dir`: the directory is the user's own, and nothing in it is followed or reused
# that this run has not made.
. "$(dirname "$0")/lib.bash" "$@"
unset REDLOCK_DEV REDLOCK_NODES
export TMPDIR=$tmp

# refused WHAT DIRECTORY PATTERN: nothing is started there and nothing is left there.
refused() {
    try "$redlock" dev -c 1 --dir "$2" -- echo ran
    expect "$1: 78" 78 "$3"
    is '   nothing ran' "$out" ''
    is '   and nothing was left' "$(ls -A "$2")" ''
}

mkdir -m 0770 "$tmp/group"
refused 'a directory that the group can write to' "$tmp/group" "others can write.*chmod go-w $tmp/group"
mkdir -m 0707 "$tmp/world"
refused 'a directory that every user can write to' "$tmp/world" "others can write.*chmod go-w $tmp/world"
chmod go-w "$tmp/group"
try "$redlock" dev -c 1 --dir "$tmp/group" -- echo ran
is 'after that chmod it is taken' "$status:$out" 0:ran
mkdir -m 0755 "$tmp/readable"
try "$redlock" dev -c 1 --dir "$tmp/readable" -- echo ran
is 'one that others can only read is taken' "$status:$out" 0:ran
if [ "$(id -u)" = 0 ]; then
    mkdir -m 0700 "$tmp/foreign"
    chown 65534 "$tmp/foreign"
    refused 'a directory of another user' "$tmp/foreign" "$tmp/foreign belongs to another user"
else
    ok 'skipped: only root can make a directory of another user'
fi
mkdir "$tmp/real"
ln -s "$tmp/real" "$tmp/link"
refused 'a link to a directory' "$tmp/link" "link is not a directory, or a link to one"
: >"$tmp/file"
try "$redlock" dev -c 1 --dir "$tmp/file" -- true
expect 'a file' 78 'file is not a directory'

# planted KIND COMMAND: node 1 is down, and COMMAND has put something in the place of its log.
planted() {
    printf 'precious\n' >"$tmp/precious"
    export precious=$tmp/precious
    try "$redlock" dev -c 1 -- sh -c "
        redlock dev kill 1 >/dev/null && cd \"\$REDLOCK_DEV\" && rm node-1.log && $2 && redlock dev start 1"
    expect "$1 in the place of a log: it does not start" 78 'cannot write the log node-1.log: what has this name'
    is '   and the file is not written to' "$(cat "$tmp/precious")" precious
}
planted 'a symbolic link' "ln -s \"\$precious\" node-1.log"
planted 'a hard link' "ln \"\$precious\" node-1.log"
try timeout -k 1 60 "$redlock" dev -c 1 -- sh -c 'redlock dev kill 1 && cd "$REDLOCK_DEV" && rm node-1.log && mkfifo node-1.log && redlock dev start 1'
expect 'a FIFO in the place of a log: it does not start, and does not wait' 78 'cannot write the log'
try "$redlock" dev -c 1 -- sh -c 'redlock dev kill 1; redlock dev start 1; grep -c "Ready to accept" "$REDLOCK_DEV/node-1.log"'
is 'a server that is started again goes on with its log' "$status:$(tail -n 1 "$tmp/out")" 0:2
try "$redlock" dev -c 1 --dir "$tmp/made" -- sh -c 'stat -c %a "$REDLOCK_DEV" "$REDLOCK_DEV/node-1.log"'
is 'directory and log are for their owner alone' "$out" $'700\n600'
printf 'precious\n' >"$tmp/precious"
mkdir "$tmp/kept"
: >"$tmp/kept/file"
try "$redlock" dev -c 1 -- sh -c "mkdir -p \"\$REDLOCK_DEV/a\" && ln -s '$tmp/kept' \"\$REDLOCK_DEV/a/link\" && echo \"\$REDLOCK_DEV\""
that 'links in the directory are removed, not followed' [ -e "$tmp/kept/file" ]
that '   and the directory is gone' [ ! -e "$out" ]

# What cannot be shown on a terminal cannot be printed for a shell either.
bad=$tmp/$'with\033[31mcolour'
try "$redlock" dev -c 1 --dir "$bad" -- echo ran
expect 'a path with control characters' 78 'contains control characters'
unlike '   which are not repeated' "$err" $'\033'
that '   and it is not left behind' [ ! -e "$bad" ]
mkdir "$bad"
try env TMPDIR="$bad" "$redlock" dev -c 1 -- echo ran
expect '   in TMPDIR as well' 78 'contains control characters'
is '   where nothing is left behind' "$(ls -A "$bad")" ''
done_testing
