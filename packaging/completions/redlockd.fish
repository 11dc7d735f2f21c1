# SPDX-License-Identifier: BSD-2-Clause
# fish completion for redlockd(8). Options are those that the daemon itself lists, when this file is
# loaded.

complete -c redlockd -f
complete -c redlockd -l version -d 'the version'
complete -c redlockd -l help -d 'explain the options'
for line in (redlockd --help 2>/dev/null | sed -nE 's/^  --([a-z-]+)( ([^ ]+))?  +(.*)/\1\t\3\t\4/p')
    set -l part (string split \t -- $line)
    set -l add complete -c redlockd -l $part[1] -d $part[3]
    switch "$part[2]"
        case ''
        case FILE
            set -a add -r -F
        case '*'
            # A word in small letters is the value itself.
            set -a add -x -a (string match -r '^[a-z].*' -- $part[2]; or echo)
    end
    $add
end
