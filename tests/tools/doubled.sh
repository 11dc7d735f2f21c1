#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# No document says a thing twice where two versions of it were put one behind the other: in a table a
# command of make, or a whole row; in the changelog the first sixty characters of an item. And the
# tree has no name from before a word of the field took its place (docs/glossary.md).
#
# usage: doubled.sh TREE
set -eu
cd "$1"
awk '
    FNR == 1 { split("", seen) }
    FILENAME == "CHANGELOG.md" ? !/^- / : !/^\|/ {
        if (FILENAME != "CHANGELOG.md") split("", seen)
        next
    }
    /^\|[-: |]*$/ { next }
    {
        split($0, cell, "|")
        what = FILENAME == "CHANGELOG.md" ? substr($0, 1, 60) : cell[2] ~ /^ `make / ? cell[2] : $0
        rows++
        if (what in seen) {
            print FILENAME ":" FNR ": as in line " seen[what] ":" what
            doubled = 1
        }
        seen[what] = FNR
    }
    END {
        if (rows < 500) {
            print "only " rows " rows were found: the search is broken"
            doubled = 1
        }
        exit doubled
    }' *.md docs/*.md bindings/*/README.md
old='acquirer|ask|audit_doubts|blocker|claim|find_doubts|front|heal|hear|joint|order|question|tell|turn|witness'
if grep -nwE "rl_($old)(_[a-z_]+)?|is_front|RL_DOUBT|RL_OP_HEAL|told_place" -r src lab tests redlockd cli \
    --include='*.[ch]'; then
    echo "a name that has given way to a word of the field"
    exit 1
fi
