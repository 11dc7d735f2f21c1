#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Every place that has to name each kind of lock names all of them and no other, and no further place
# lists kinds: it asks redlock_kind_traits() or src/core/kind.h. docs/kinds.md, "Adding a kind", is
# the same list for a reader.
#
# usage: kinds.sh TREE
set -euo pipefail
cd "$1"
fails=0

fail() {
    echo "$1"
    fails=$((fails + 1))
}

# Name and word of each kind, as the header lists them.
mapfile -t kinds < <(sed -n '/^#define REDLOCK_KINDS/,/^enum/p' include/redlock.h |
    sed -nE 's/^ *X\(([A-Z0-9_]+), [0-9]+, "([^"]+)"\).*/\1 \2/p')
names=$(printf '%s\n' "${kinds[@]% *}")
words=$(printf '%s\n' "${kinds[@]#* }")
if [ "${#kinds[@]}" -lt 4 ]; then
    echo "only ${#kinds[@]} kinds were found in include/redlock.h: the search is broken"
    exit 1
fi
any_name=$(paste -sd '|' <<<"$names")
any_word=$(paste -sd '|' <<<"$words")

# exactly FILE WANTED: the words on standard input are those, in any order.
exactly() {
    local file=$1 wanted=$2 found missing more
    found=$(sort -u)
    missing=$(comm -23 <(sort <<<"$wanted") <(echo "$found") | paste -sd ' ')
    more=$(comm -13 <(sort <<<"$wanted") <(echo "$found") | paste -sd ' ')
    [ -z "$missing" ] || fail "$file does not name: $missing"
    [ -z "$more" ] || fail "$file names what is no kind: $more"
}

sed -nE 's/.*"kind": .*"enum": \[([^]]*)\].*/\1/p' redlockd/page/openapi.json | grep -oE '[a-z]+' |
    exactly redlockd/page/openapi.json "$words"
sed -nE 's/^const KINDS = \{(.*)\};/\1/p' redlockd/page/page.html | grep -oE '[a-z]+:' | tr -d : |
    exactly redlockd/page/page.html "$words"
sed -nE "s/^export type Kind = (.*);/\1/p" bindings/node/lib/index.d.ts | grep -oE '[a-z]+' |
    exactly bindings/node/lib/index.d.ts "$words"
sed -n '/^class Kind/,/^class State/p' bindings/python/redlock_native/_model.py |
    sed -nE 's/^    ([A-Z]+) = [0-9]+ .*/\1/p' | exactly bindings/python/redlock_native/_model.py "$names"
sed -n '/^\.Sh KINDS OF LOCKS/,/^\.Sh [^K]/p' man/libredlock.3 |
    sed -nE 's/^\.It Dv REDLOCK_([A-Z]+)$/\1/p' | exactly 'KINDS OF LOCKS of man/libredlock.3' "$names"
sed -n '/^\.It Ev REDLOCK_KIND$/,/^\.It Ev REDLOCK_OWNER$/p' man/redlock-run.1 |
    sed -nE 's/^\.Li ([a-z]+).*/\1/p' | exactly 'REDLOCK_KIND in man/redlock-run.1' "$words"
grep -A1 '^\.Li kind$' man/redlockd.8 | sed -nE 's/^\.Pq (.*) ,$/\1/p' | grep -oE '[a-z]+' |
    exactly man/redlockd.8 "$words"
sed -n '/^## Kinds$/,/^## /p' docs/kinds.md | sed -nE 's/^\| \x60([a-z]+)\x60 .*/\1/p' |
    exactly 'the table of docs/kinds.md' "$words"

while read -r file pattern; do
    while read -r name word; do
        one=${pattern//NAME/$name}
        grep -qE -- "${one//WORD/$word}" "$file" || fail "$file does not use $word (${one//WORD/$word})"
    done < <(printf '%s\n' "${kinds[@]}")
done <<'END'
cli/lock/terms.c \bREDLOCK_NAME\b
lab/chaos/worker.c \bREDLOCK_NAME\b
bindings/cases/cases.json "kind": "WORD"
END
# By the script that takes it.
while read -r script; do
    [ -e "src/scripts/${script,,}.lua" ] || fail "src/scripts/${script,,}.lua is not there"
    for file in tests/scripts/script_calls.c tests/sim/model_kinds.c; do
        grep -qE "(RL_SCRIPT_|ONE_NAME\(\"|RUN:)$script\b" "$file" || fail "$file does not run ${script,,}.lua"
    done
done < <(sed -nE 's/^ *X\([A-Z]+, "[a-z:]+", .* (TAKE_[A-Z]+)\).*/\1/p' src/core/kind.h)

# A file that names a kind: each is about that kind alone, or fails to compile without one of them.
allowed=' src/client/audit.c src/client/audit.h src/engine/attempt.c cli/lock/terms.c lab/sim/app.c lab/sim/options.c
 lab/sim/oracle_mutex.c lab/history/holds.c lab/chaos/check_holders.c lab/chaos/command.c lab/chaos/timeline.c lab/chaos/worker.c lab/chaos/test_checker.c '
while IFS=: read -r file line text; do
    [[ " ${allowed//$'\n'/} " == *" $file "* ]] || fail "$file:$line: ask redlock_kind_traits() instead: $text"
done < <(grep -rnE --include='*.[ch]' "\bREDLOCK_($any_name)\b" src cli redlockd lab bindings |
    grep -v '"[^"]*REDLOCK_[^"]*"')
allowed=' cli/lock/terms.h cli/ui/kind.c bindings/cases/steps.c bindings/node/lib/request.js
 bindings/node/lib/index.d.ts bindings/go/acquire.go bindings/go/chaosholder/main.go
 redlockd/page/page.html '
while IFS=: read -r file line text; do
    [[ " ${allowed//$'\n'/} " == *" $file "* ]] || fail "$file:$line: ask redlock_kind_text() instead: $text"
done < <(grep -rnE --include='*.[ch]' --include='*.js' --include='*.ts' --include='*.py' \
    --include='*.go' --exclude='*_test.go' --include='*.html' \
    "[\"'\`]($any_word)[\"'\`]" src cli redlockd lab/{sim,chaos,fuzz} bindings/cases bindings/node/lib \
    bindings/node/src bindings/python/redlock_native bindings/go)
# The options of the command that ask for a kind are listed in one file.
while IFS= read -r line; do
    fail "$line: ask terms_several() instead"
done < <(grep -rnE --include='*.c' --exclude=terms.c '(->|\.)(shared|slots)\b.*(\?|\|\|)' cli)
# A loop that ends with a kind does not reach the next one; a default hides it from the compiler.
while IFS= read -r line; do
    fail "$line: this does not reach a new kind; loop while redlock_kind_traits(kind)"
done < <(grep -rnE --include='*.[ch]' "[<>]=? *(REDLOCK|SHAPE)_($any_name)\b" src cli redlockd lab \
    bindings tests)
while IFS= read -r file; do
    awk '/switch \(\(enum redlock_kind\)/ {inside = 1} /^    }/ {inside = 0}
        inside && /default:/ {found = 1} END {exit found}' "$file" ||
        fail "$file: a default hides a new kind from the compiler"
done < <(grep -rlE --include='*.c' 'switch \(\(enum redlock_kind\)' src cli redlockd lab)

[ "$fails" -eq 0 ] || echo "see \"Adding a kind\" in docs/kinds.md"
exit "$((fails > 0))"
