#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Every link of a document leads to a file and a heading that are there, every target of make that a
# document names is one of the Makefile, and every page that a manual page refers to is installed.
#
# usage: links.sh TREE
set -euo pipefail
cd "$1"
failed=0 seen=0

missing() {
    echo "$1"
    failed=1
}

# anchors FILE: those of its headings, as GitHub makes them.
anchors() {
    sed -nE '/^```/,/^```$/!s/^#+ +//p' "$1" | tr '[:upper:]' '[:lower:]' |
        sed -E 's/[^a-z0-9 _-]//g; s/ /-/g'
}

while IFS=: read -r file line link; do
    seen=$((seen + 1))
    link=${link#']('} link=${link%')'}
    [[ $link != *://* ]] || continue
    target=${link%%#*}
    page=$file
    [ -z "$target" ] || page=$(dirname "$file")/$target
    if [ ! -e "$page" ]; then
        missing "$file:$line: there is no $target"
    elif [[ $link == *'#'* && $page == *.md ]]; then
        grep -qxF -- "${link#*#}" <(anchors "$page") || missing "$file:$line: no heading $link"
    fi
done < <(grep -rnoE --include='*.md' --exclude-dir={build,node_modules,.git} '\]\([^) ]+\)' .)

while IFS=: read -r file line target; do
    seen=$((seen + 1))
    target=${target##* }
    grep -qE "^([a-z0-9-]+ )*$target( [a-z0-9-]+)*:" Makefile || missing "$file:$line: no make $target"
done < <(grep -noE '(`|^|sudo )make [a-z][a-z0-9-]*' -- *.md docs/*.md | sed 's/`//')

while IFS=: read -r file line macro; do
    seen=$((seen + 1))
    read -r _ name section _ <<<"$macro"
    [[ $name == *redlock* ]] || continue
    [ -e "man/$name.$section" ] || missing "$file:$line: there is no man/$name.$section"
done < <(grep -noE '^\.Xr [^ ]+ [1-9]' -- man/*)

if [ "$seen" -lt 300 ]; then
    missing "only $seen references were found: the search is broken"
fi
exit "$failed"
