#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Completion, of three shells, and manual know every subcommand and option that the command has, and no
# other.
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

# in_zsh COMMAND, in_fish COMMAND: with the completions of that shell.
in_zsh() {
    zsh -fc ". '$root/packaging/completions/_redlock'; $1"
}
in_fish() {
    fish --no-config -c "source '$root/packaging/completions/redlock.fish'; $1"
}
# sorted: the lines of standard input on one line.
sorted() {
    sort -u | paste -sd' '
}

listed=$("$redlock" --help | sed -n 's/^  \([a-z]*\) .*/\1/p' | grep -v redlock | sort | paste -sd' ')
is 'bash: subcommands' "$(offered redlock '')" "$listed"
shells=bash
if command -v zsh >/dev/null; then
    shells+=' zsh'
    is 'zsh: subcommands' "$(in_zsh _redlock_commands | cut -d: -f1 | sorted)" "$listed"
else
    printf '# left out: zsh is not installed\n'
fi
if command -v fish >/dev/null; then
    shells+=' fish'
    # One process for all: each asks the command for the help of every subcommand.
    in_fish "for line in '' ' --'; for sub in '' $listed; complete -C \"redlock \$sub\$line\" |
            string replace -r '^' \"\$sub\$line:\"; end; end
        complete -C 'redlock dev -c 3 ' | string replace -r '^' 'actions:'
        complete -C 'redlock run --on-lost ig' | string replace -r '^' 'values:'
        complete -C 'redlock top --sort a' | string replace -r '^' 'orders:'
        complete -C 'redlock run -t 3 name ls' | string replace -r '^' 'command:'
        complete -C 'redlock dev -- ls' | string replace -r '^' 'dashes:'" | cut -f1 >"$tmp/fish"
    is 'fish: subcommands' "$(sed -n 's/^://p' "$tmp/fish" | sorted)" "$listed"
    is 'fish: actions of dev' "$(sed -n 's/^actions://p' "$tmp/fish" | sorted)" 'failover hang isolate kill list resume start'
    is 'fish: the values of --on-lost' "$(sed -n 's/^values://p' "$tmp/fish")" ignore
    is 'fish: the values of --sort' "$(sed -n 's/^orders://p' "$tmp/fish")" age
    like 'fish: run NAME is followed by a command' "$(sed -n 's/^command://p' "$tmp/fish" | sorted)" '\bls\b'
    like 'fish: as is --' "$(sed -n 's/^dashes://p' "$tmp/fish" | sorted)" '\bls\b'
else
    printf '# left out: fish is not installed\n'
fi
for sub in $listed; do
    [[ $sub != @(help|version) ]] || continue
    has=$("$redlock" $sub --help | grep -Eo '^  (-., |    )--[a-z-]+' | grep -o -- '--.*' | sorted)
    for shell in $shells; do
        case $shell in
        bash) offers=$(offered redlock $sub --) ;;
        zsh) offers=$(in_zsh "_redlock_specs $sub" | grep -o '^--[a-z-]*' | sorted) ;;
        fish) offers=$(sed -n "s/^$sub --://p" "$tmp/fish" | sorted) ;;
        esac
        is "$shell: options of $sub" "$offers" "$has"
    done
    for option in $has; do
        name=${option#--}
        grep -q "^\.It.* Fl -$name\b" "$root"/man/redlock{,-run,-dev,-bench}.1 "$root"/man/redlock-{nodes,leader}.7 ||
            not_ok "the manual has $option of $sub"
    done
    grep -q "^\.It Cm $sub\b" "$root/man/redlock.1" || not_ok "the manual has $sub"
done
is 'actions of dev' "$(offered redlock dev '')" 'failover hang isolate kill list resume start'
is 'the values of --on-lost' "$(offered redlock run --on-lost i)" ignore
is 'the values of --sort' "$(offered redlock top --sort a)" age
is 'the start of a word' "$(offered redlock sta)" status
is 'the value of an option is not a word' "$(offered redlock dev -c 3 k)" kill
like 'run NAME is followed by a command' "$(offered redlock run -t 3 name ls)" '\bls\b'
like 'as is --' "$(offered redlock dev -c 3 -- ls)" '\bls\b'
is 'options before the subcommand' "$(offered redlock --prefix x sta)" status
if [[ $shells == *zsh* ]] && has_terminal; then
    # One real Tab each for a subcommand, an option and the value of an option. A subshell of zsh sends SIGCONT to
    # what it waits for, and a process that LeakSanitizer is about to stop then hangs.
    terminal "cd '$tmp' && PATH='$PATH' ASAN_OPTIONS='${ASAN_OPTIONS:-}:detect_leaks=0' ZDOTDIR=/nonexistent zsh -f -i"
    echo "PS1=ready; fpath=('$(readlink -f "$root/packaging/completions")' \$fpath); autoload -Uz compinit; compinit -u -D; bindkey '^I' complete-word" >&"$keys"
    shows '[^=]ready' || :
    printf 'redlock hol\t--no-fe\t; redlock run --on-lost ign\t; echo a""ll typed\n' >&"$keys"
    shows 'all typed' || :
    printf 'exit\n' >&"$keys"
    finish
    like 'zsh: a Tab behind a subcommand and an option' "$screen" 'hold.*--no-fence'
    like 'zsh: a Tab behind the value of an option' "$screen" '--on-lost ignore'
else
    left_out 'a Tab in zsh'
fi

# Names of locks come from the nodes.
unhurried
cat >"$tmp/names" <<END
. '$root/packaging/completions/redlock'
timeout() { shift; "\$@"; } # a second is little on a busy machine
export REDLOCK_CONFIG='$REDLOCK_CONFIG'
redlock lock -t 60s deploy-web >/dev/null
COMP_WORDS=(redlock status dep) COMP_CWORD=2
_redlock
echo "bash \${COMPREPLY[*]}"
! command -v fish >/dev/null || fish --no-config -c "source '$root/packaging/completions/redlock.fish'
    function timeout; command \\\$argv[2..]; end; complete -C 'redlock run dep'" | sed 's/^/fish /'
END
try "$redlock" dev -c 1 -- bash "$tmp/names"
is 'names of locks, in bash' "$(grep bash <<<"$out")" 'bash deploy-web'
[[ $shells != *fish* ]] || is 'names of locks, in fish' "$(grep fish <<<"$out")" 'fish deploy-web'

for page in "$root"/man/redlock*.[17]; do
    command -v mandoc >/dev/null || break
    try mandoc -T lint -W warning "$page"
    expect 'the manual is clean' 0
done
done_testing
