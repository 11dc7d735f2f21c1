#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A sentence of the library is read in any program: none names a subcommand or an option of the
# command, which adds those itself, by the reason.
#
# usage: sentences.sh LIBREDLOCK REDLOCK
set -euo pipefail

subcommands=$("$2" help | sed -nE 's/^  ([a-z]+) .*/\1/p' | sort -u | paste -sd '|')
# In the library the pieces of a sentence are one string, whatever lines they have in the source.
sentences=$(strings -d -n 8 "$1")
if [[ "|$subcommands|" != *'|doctor|'*'|init|'* || $sentences != *'give the user the rights'* ]]; then
    echo "not ok - no subcommand in \`$2 help\`, or no sentence in $1: the search is broken"
    exit 1
fi
if grep -E "\bredlock ($subcommands)\b|\`redlock|(^|[ (])--[a-z]|[ (]-[a-zA-Z]( [A-Z]|[),;])" \
    <<<"$sentences"; then
    echo "not ok - these sentences of the library name what only the command has"
    exit 1
fi
echo "ok - sentences of the library"
