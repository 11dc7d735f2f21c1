#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# manual.sh CC HEADER PAGE...: libredlock(3), whose reference cmake/manual.awk makes of the header, has
# every function, type, field and constant of it, and every page can be read at 80 columns.
set -u
compiler=${1:?} header=${2:?}
shift 2
failed=0

not_ok() {
    failed=1
    printf 'not ok - %s\n' "$*"
}

page=
for file in "$@"; do
    [ "${file##*/}" != libredlock.3 ] || page=$file
done
reference=$(sed -n '/^\.Sh REFERENCE/,/^\.Sh SEE ALSO/p' "$page")
declarations=$("$compiler" -E -P "$header" | sed -n '/^typedef struct redlock redlock/,$p') || exit 1

functions() { grep -oE '\bredlock_[a-z_]+\(' | tr -d '('; }
structs() { grep -oE '\b(struct|enum) redlock_[a-z_]+ \{' | sed 's/ {//'; }
constants() { grep -oE '\bREDLOCK_[A-Z0-9_]+\b'; }
# Those at the start of a line: the rest is made and undone where the lists become enums.
macros() {
    sed -n '/^typedef struct redlock /,$p' "$header" |
        sed -nE '/_ENUM\(|REDLOCK_INIT\(/d; s/^#define (REDLOCK_[A-Z0-9_]+)([ (].*)?$/\1/p'
}
fields() {
    tr '\n' ' ' | grep -oE '\bstruct redlock_[a-z_]+ \{[^}]*\}' | sed -E 's/^[^{]*\{//; s/\[[^]]*\]//g' |
        tr ';' '\n' | grep -oE '[a-z_]+ *$|\(\*[a-z_]+\)' | grep -vwE 'size *'
}

count=0
while read -r macro name; do
    count=$((count + 1))
    grep -qE "^\.($macro) (.*[^a-z_])?$name([^a-z_]|\$)" <<<"$reference" ||
        not_ok "$name is not in the reference"
done < <(
    functions <<<"$declarations" | sort -u | sed 's/^/Fo /'
    structs <<<"$declarations" | sed 's/^/Vt /'
    { constants <<<"$declarations"; macros; } | sort -u | sed 's/^/Dv|It.Dv|Fn /'
    fields <<<"$declarations" | tr -d ' (*)' | sort -u | sed 's/^/It.Fa /'
)
[ "$count" -ge 300 ] || not_ok "only $count names were found: the search is broken"
printf '# %d names of %s\n' "$count" "${header##*/}"

if command -v groff >/dev/null; then
    for file in "$@"; do
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
