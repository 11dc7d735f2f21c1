#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# dist.sh: the source tarball has the files of the commit and nothing else, the same bytes each time, and
# so has the tarball that is made out of an unpacked one, where there is no git.
set -euo pipefail
cd "$(dirname "$0")/../.."
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

fail() {
    echo "not ok - $*"
    exit 1
}

first=$(scripts/dist.sh "$tmp/first" 2>"$tmp/said") || fail "dist.sh: $(cat "$tmp/said")"
name=$(basename "$first" .tar.gz)
[ "$name" = "redlock-$(scripts/version.sh)" ] || fail "the tarball is called $name"
second=$(umask 077 && TZ=Asia/Tokyo scripts/dist.sh "$tmp/second" 2>/dev/null)
cmp "$first" "$second" || fail 'a second tarball has other bytes'

mkdir "$tmp/unpacked"
tar -xf "$first" -C "$tmp/unpacked"
[ "$(ls "$tmp/unpacked")" = "$name" ] || fail "the tarball holds more than $name: $(ls "$tmp/unpacked")"
for file in .ci/run CMakeLists.txt Makefile LICENSE README.md include/redlock.h debian/rules; do
    [ -s "$tmp/unpacked/$name/$file" ] || fail "$file is missing"
done
[ ! -e "$tmp/unpacked/$name/build" ] || fail 'build/ is in it'
if git rev-parse HEAD >/dev/null 2>&1; then
    diff <(git ls-tree -r --name-only HEAD | LC_ALL=C sort) \
        <(cd "$tmp/unpacked/$name" && find . ! -type d | sed 's|^\./||' | LC_ALL=C sort) || fail 'other files'
fi
third=$(GIT_CEILING_DIRECTORIES=$tmp "$tmp/unpacked/$name/scripts/dist.sh" "$tmp/third")
cmp "$first" "$third" || fail 'a tarball made from the unpacked one has other bytes'
