#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# manual.sh CC HEADER MAN-DIRECTORY: libredlock(3) has every public name of the header, and every page
# can be read at 80 columns.
#
#   functions       in SYNOPSIS, with their arguments, and explained behind it
#   types           explained, and each field of a struct in a section that names the struct
#   enums           and their constants, macros, and variables of the environment: named
set -u
compiler=${1:?} header=${2:?} man=${3:?}
page=$man/libredlock.3
failed=0

not_ok() {
    failed=1
    printf 'not ok - %s\n' "$*"
}

declarations=$("$compiler" -E -P "$header") || exit 1
synopsis=$(sed -n '/^\.Sh SYNOPSIS/,/^\.Sh DESCRIPTION/p' "$page")
text=$(sed -n '/^\.Sh DESCRIPTION/,$p' "$page")

# functions HEADER; types, constants, fields: of $declarations; macros HEADER.
functions() { sed -nE 's/^REDLOCK_API .*[ *](redlock_[a-z_]+)\(.*/\1/p' "$1"; }
types() { grep -oE '\b(struct redlock_[a-z_]+ \{|redlock_[a-z_]+_fn\()' | grep -oE 'redlock_[a-z_]+' | sort -u; }
constants() { grep -oE '\bREDLOCK_[A-Z0-9_]+\b' | sort -u; }
# Those at the start of a line: the rest is made and undone where the lists become enums.
macros() {
    sed -nE '/_ENUM\(/d; s/^#define (REDLOCK_[A-Z0-9_]+)([ (].*)?$/\1/p' "$1" | grep -vxE 'REDLOCK_(API|H)'
}
enums() { grep -oE '\benum redlock_[a-z_]+ \{' | sed 's/ {//' | tr ' ' '~'; }
# What the comments of the header call REDLOCK_, whatever it is; beginnings of names end in a line.
spoken() { grep -oE '\bREDLOCK_[A-Z0-9_]*[A-Z0-9]\b' "$1" | grep -vE '^REDLOCK_(API|H|.*_ENUM)$' | sort -u; }
# A line for each: struct field.
fields() {
    tr '\n' ' ' | grep -oE 'typedef struct redlock_[a-z_]+ \{[^}]*\}' |
        sed -E 's/\[[^]]*\]//g; s/typedef struct (redlock_[a-z_]+) \{/\1;/; s/\}//' |
        awk -F';' '{ for (i = 2; i < NF; i++) { n = split($i, word, /[ *]+/); print $1, word[n] } }'
}

# explained STRUCT FIELD: a section of the page names both.
explained() {
    awk -v struct="$1" -v field="$2" '
        function has(word) { return $0 ~ "(^|[^a-z_])" word "([^a-z_]|$)" }
        function judge() { if (seen_struct && seen_field) found = 1; seen_struct = seen_field = 0 }
        /^\.(Sh|Ss) / { judge() }
        has(struct) { seen_struct = 1 }
        /^\.(.* )?Fa / && has(field) { seen_field = 1 }
        END { judge(); exit !found }' <<<"$text"
}

count=0
for name in $(functions "$header"); do
    count=$((count + 1))
    grep -qE "^\.F[on] $name( |\$)" <<<"$synopsis" || not_ok "$name() is not in SYNOPSIS"
    grep -qE "^\.(Fn|It Fn|Pq Fn) $name\\b" <<<"$text" || not_ok "$name() is not explained"
done
for name in $(types <<<"$declarations") $(constants <<<"$declarations") $(macros "$header") \
    $(enums <<<"$declarations") $(spoken "$header"); do
    count=$((count + 1))
    grep -qw -- "${name/\~/ }" "$page" || not_ok "${name/\~/ } is not mentioned"
done
while read -r struct field; do
    count=$((count + 1))
    [ "$field" = size ] || explained "$struct" "$field" || not_ok "$struct.$field is not explained"
done < <(fields <<<"$declarations")
[ "$count" -ge 250 ] || not_ok "only $count names were found: the search is broken"
printf '# %d names of %s\n' "$count" "${header##*/}"

if command -v groff >/dev/null; then
    for file in "$man"/*.[1-9]; do
        # Of the page only: what groff thinks of its own macros differs from version to version.
        said=$(groff -ww -mandoc -Tascii -P-c -rLL=80n "$file" 2>&1 >/dev/null | grep -F "$file:")
        [ -z "$said" ] || not_ok "groff: $said"
        wide=$(groff -mandoc -Tascii -P-cbou -rLL=80n "$file" 2>/dev/null |
            awk 'length($0) > 80 { print; exit }')
        [ -z "$wide" ] || not_ok "${file##*/} has lines of more than 80 columns: $wide"
    done
else
    echo '# left out: groff is not installed'
fi
[ $failed = 0 ] && echo "ok - the manual has every public name"
exit $failed
