#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Completion of redlockd, in three shells, and its manual know every option that the daemon has, and no other.
. "$(dirname "$0")/lib.bash" "$@"
completions=$here/../../packaging/completions
PATH=$(dirname "$redlockd"):$PATH
# shellcheck disable=SC1091
. "$completions/redlockd"

# offered WORD...: what bash offers for the last of them, on one line.
offered() {
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    COMPREPLY=()
    _redlockd
    printf '%s\n' "${COMPREPLY[@]}" | sort | paste -sd' '
}
# in_zsh COMMAND, in_fish COMMAND: with the completions of that shell.
in_zsh() { zsh -fc ". '$completions/_redlockd'; $1"; }
in_fish() { fish --no-config -c "source '$completions/redlockd.fish'; $1"; }

has=$("$redlockd" --help | grep -oE '^  --[a-z-]+(, --[a-z]+)?' | grep -oE -- '--[a-z-]+' | sort | paste -sd' ')
like 'the help lists options' "$has" '--allow .*--version'
is 'bash: options' "$(offered redlockd --)" "$has"
is 'bash: the value of an option' "$(offered redlockd --insecure '')" yes
is 'bash: an option without a value' "$(offered redlockd --check --ver)" --version
is 'bash: a file' "$(cd "$tmp" && touch some.conf && offered redlockd --config so)" some.conf
if command -v zsh >/dev/null; then
    is 'zsh: options' "$(in_zsh _redlockd_specs | grep -oE '^\*?--[a-z-]+' | tr -d '*' | sort | paste -sd' ')" "$has"
else
    printf '# left out: zsh is not installed\n'
fi
if command -v fish >/dev/null; then
    is 'fish: options' "$(in_fish "complete -C 'redlockd --'" | cut -f1 | sort | paste -sd' ')" "$has"
    is 'fish: the value of an option' "$(in_fish "complete -C 'redlockd --names '" | cut -f1)" utf8
else
    printf '# left out: fish is not installed\n'
fi
for option in $has; do
    grep -qE "Fl Fl ${option#--}\b|^\.It Li ([a-z-]+ , )*${option#--}\b" "$here/../../man/redlockd.8" \
        "$here/../../man/redlockd.conf.5" || not_ok "a manual has $option"
done
done_testing
