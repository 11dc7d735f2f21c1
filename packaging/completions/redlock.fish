# SPDX-License-Identifier: BSD-2-Clause
# fish completion for redlock(1). Subcommands and options are those that the command itself lists, when
# this file is loaded.

# The words before the one that is completed that are no options: subcommand, names, and --.
function __redlock_words
    set -l skip 0
    for word in (commandline -opc)[2..]
        if test $skip = 1
            set skip 0
        else if contains -- $word $__redlock_takes_value
            set skip 1
        else if test "$word" = --; or not string match -q -- '-*' $word
            printf '%s\n' $word
        end
    end
end

function __redlock_has_no_subcommand
    test (count (__redlock_words)) -eq 0
end

function __redlock_subcommand_is
    contains -- (__redlock_words)[1] $argv
    and not __redlock_has_command
end

# Behind -- and behind `run NAME` or `fence FILE` stands a command.
function __redlock_has_command
    set -l words (__redlock_words)
    contains -- -- $words; and return 0
    test (count $words) -ge 2; and contains -- "$words[1]" run lead fence
end

# What would be offered for that command.
function __redlock_command
    set -l words (__redlock_words)
    set -l tokens (commandline -opc)
    set -l at (contains -i -- -- $tokens)
    # Without --, the second word behind `run` begins it.
    test -n "$at"; or set at (contains -i -- $words[2] $tokens)
    complete -C (string join ' ' -- (string escape -- $tokens[(math $at + 1)..]) (commandline -ct))
end

# The locks that are there, if the nodes answer at once.
function __redlock_names
    timeout 1 redlock list --json 2>/dev/null |
        sed -nE 's/^\{"ok":true,"command":"list","name":"([^"\\]*)".*/\1/p'
end

# The name of the value of an option, as the help has it, says what it may be.
function __redlock_add_option
    set -l condition $argv[1]
    set -l letter $argv[2]
    set -l name $argv[3]
    set -l argument $argv[4]
    set -l add complete -c redlock -n $condition -l $name -d $argv[5]
    test -z "$letter"; or set -a add -s $letter
    switch "$argument"
        case ''
        case FILE PROGRAM
            set -a add -r -F
        case DIR
            set -a add -x -a '(__fish_complete_directories)'
        case WHAT
            set -a add -x -a 'term kill ignore HUP INT QUIT USR1 USR2 ALRM ABRT'
        case ORDER
            set -a add -x -a 'busy name age left'
        case TIME
            set -a add -x -a '10s 1m 5m 1h'
        case '*'
            set -a add -x
    end
    $add
    if test -n "$argument"
        set -ga __redlock_takes_value --$name
        # A letter means different things to different subcommands.
        test -z "$letter"; or test "$letter" = n; or set -ga __redlock_takes_value -$letter
    end
end

function __redlock_add_options
    for line in (redlock help $argv[1] 2>/dev/null |
            sed -nE 's/^  (-(.), |    )--([a-z-]+)( ([^ ]+))?  +(.*)/\2\t\3\t\5\t\6/p')
        __redlock_add_option $argv[2] (string split \t -- $line)
    end
end

set -g __redlock_takes_value
complete -c redlock -f
complete -c redlock -n __redlock_has_no_subcommand -l version -d 'the version'
__redlock_add_options status __redlock_has_no_subcommand
for line in (redlock --help 2>/dev/null | sed -nE '/^  redlock /!s/^  ([a-z]+) +(.*)/\1\t\2/p')
    set -l part (string split \t -- $line)
    complete -c redlock -n '__redlock_has_no_subcommand; or __redlock_subcommand_is help' -a $part[1] -d $part[2]
    __redlock_add_options $part[1] "__redlock_subcommand_is $part[1]"
    if string match -q '*NAME*' (redlock help $part[1] 2>/dev/null)[1]
        complete -c redlock -n "__redlock_subcommand_is $part[1]" -a '(__redlock_names)'
    end
end
complete -c redlock -n '__redlock_subcommand_is dev' -a 'kill start hang resume isolate failover list'
complete -c redlock -n __redlock_has_command -a '(__redlock_command)'
