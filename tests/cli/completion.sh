#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Completion and manual know every subcommand and option that the command has, and no other.
. "$(dirname "$0")/lib.bash" "$@"
root=$here/../..
# shellcheck disable=SC1091
. "$root/packaging/completions/redlock"

# complete WORD...: what is offered for the last of them, on one line.
offered() {
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    COMPREPLY=()
    _redlock
    printf '%s\n' "${COMPREPLY[@]}" | sort | paste -sd' '
}

listed=$("$redlock" --help | sed -n 's/^  \([a-z]*\) .*/\1/p' | grep -v redlock | sort | paste -sd' ')
is 'subcommands' "$(offered redlock '' | sed 's/--[a-z]* *//g; s/ $//')" "$listed"
for sub in run lock extend unlock status list break top nodes doctor init bench dev; do
    has=$("$redlock" $sub --help | grep -Eo '^  (-., |    )--[a-z-]+' | grep -o -- '--.*' | sort | paste -sd' ')
    is "options of $sub" "$(offered redlock $sub --)" "$has"
    for option in $has; do
        name=${option#--}
        grep -q "^\.It.* Fl -$name\b" "$root/man/redlock.1" || not_ok "the manual has $option of $sub"
    done
done
is 'actions of dev' "$(offered redlock dev '')" 'hang kill list resume start'
is 'the values of --on-lost' "$(offered redlock run --on-lost i)" ignore
is 'the start of a word' "$(offered redlock sta)" status
is 'the value of an option is not a word' "$(offered redlock dev -n 3 k)" kill
like 'run NAME is followed by a command' "$(offered redlock run -t 3 name ls)" '\bls\b'
like 'as is --' "$(offered redlock dev -n 3 -- ls)" '\bls\b'

for page in "$root"/man/redlock.1; do
    command -v mandoc >/dev/null || break
    try mandoc -T lint -W warning "$page"
    expect 'the manual is clean' 0
done
done_testing
