#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# On a terminal: the command has it, the keyboard's signals find the right process, and waiting
# is shown.
. "$(dirname "$0")/lib.bash" "$@"
needs terminal ps
inside_dev 3 "$@"

terminal "$redlock run a -- sh -c 'read -r line; echo \"<\$line>\"; exit 3'"
printf 'typed\n' >&"$keys"
finish
is 'the command reads what is typed' "$status" 3
like '   all of it' "$screen" '<typed>'

terminal "$redlock run a -- sh -c 'ps -o pgid=,tpgid= -p \$\$ | while read -r p t; do [ \$p = \$t ] && echo in front; done'"
finish
like 'the command is in the foreground' "$screen" 'in front'

terminal "$redlock run a -- sh -c 'trap \"echo caught; exit 9\" INT; echo ready; read -r x'; echo \"after=\$?\""
shows ready
printf '\003' >&"$keys"
finish
like 'Ctrl-C reaches the command' "$screen" caught
like '   its status comes back, and the shell has its terminal again' "$screen" 'after=9'

# A script around it ends too, as it does with any other command.
printf '%s\n' "redlock run \$1 -- sh -c 'echo rea\"\"dy; exec sleep 100'; echo went on" >"$tmp/script"
for shell in bash dash; do
    command -v $shell >/dev/null || continue
    terminal "$shell $tmp/script a"
    shows ready
    printf '\003' >&"$keys"
    finish
    is "Ctrl-C ends a $shell script around a running command" "$status" 130
    unlike '   before its next line' "$screen" 'went on'
done

terminal "$redlock run a -- sh -c 'read -r x; echo \"<\$x>\"' | cat; echo over"
printf 'piped\n' >&"$keys"
finish
like 'in a pipeline it gets the terminal when it reads' "$screen" '<piped>'

# Waiting.
value=$("$redlock" lock -t 30s busy)
terminal "$redlock run busy -- true"
that 'waiting is shown' shows 'waiting for busy'
that '   with the holder and the time left' shows "held by [^ ]*@[^ ]*:$$ (bash)"
printf '\003' >&"$keys"
finish
is 'Ctrl-C ends the wait' "$status" 130
like '   and the line is erased' "$screen" $'\r?\033\\[K'
unlike 'the value is not given away' "$screen" "$value"
terminal "bash $tmp/script busy"
shows 'waiting for busy'
printf '\003' >&"$keys"
finish
unlike 'a script around a wait ends too' "$screen" 'went on'
terminal "$redlock run -w 1 -q busy -- true"
finish
unlike '-q: nothing is shown' "$screen" 'waiting'
try "$redlock" run -w 900ms busy -- true # short: a longer wait is reported
unlike 'a short wait is no news without a terminal' "$err" 'waiting'

# Colours.
terminal "$redlock lock -v -n busy"
finish
like 'colours on a terminal' "$screen" $'\033\\[33mheld\033\\[0m'
for dull in NO_COLOR=1 TERM=dumb; do
    terminal "$dull $redlock lock -v -n busy"
    finish
    unlike "unless $dull says no" "$screen" $'\033'
done
try "$redlock" lock -v -n busy
unlike 'no colours elsewhere' "$err" $'\033'
"$redlock" unlock busy "$value"

# Job control: stopped with Ctrl-Z, continued with fg. What is typed shows too: quotes inside
# words distinguish it from what is printed.
terminal "env PS1='prompt> ' bash --norc --noprofile -i"
shows 'prompt>'
printf '%s\n' "$redlock run -t 60s a -- sh -c 'echo be\"\"gun; exec sed -u s/after/AFTER/'; echo \"cat=\$?\"" >&"$keys"
shows begun
printf '\032' >&"$keys"
that 'Ctrl-Z gives the shell its prompt' shows Stopped
printf 'fg\n' >&"$keys"
printf 'after fg\n' >&"$keys"
that '   and fg continues the command' shows 'AFTER fg'
printf '\004' >&"$keys"
printf 'exit\n' >&"$keys"
finish

# Stopped for longer than the lock lasts: killed when it is continued, before it does anything.
terminal "env PS1='prompt> ' bash --norc --noprofile -i"
shows 'prompt>'
printf '%s\n' "$redlock run -t 2s a -- sh -c 'echo be\"\"gun; read -r x; echo sur\"\"vived'" >&"$keys"
shows begun
printf '\032' >&"$keys"
shows Stopped
eventually free a
printf 'fg; echo "fg=$?"\n' >&"$keys"
that 'stopped for too long: 76' shows 'fg=76'
printf 'exit\n' >&"$keys"
finish
unlike '   and the command did nothing any more' "$screen" survived
done_testing
