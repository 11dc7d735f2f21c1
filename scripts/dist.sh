#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# dist.sh [DIRECTORY]: writes redlock-VERSION.tar.gz there (build/dist), and prints its path.
#
# The files of the last commit, or, in a tree that came out of such a tarball, the files of this tree.
# The same files give the same bytes, whatever the user, the umask, the time and the path: all that tar
# records of a file beside its name and bytes is the time of the commit and whether it can be executed.
set -eu
cd "$(dirname "$0")/.."

into=${1:-build/dist}
name=redlock-$(scripts/version.sh)
mkdir -p "$into"
stage=$(mktemp -d "$into/stage.XXXXXX")
trap 'rm -rf "$stage"' EXIT
trap 'exit 143' HUP INT TERM
mkdir "$stage/$name"

if [ "$(git rev-parse --show-prefix 2>/dev/null || echo none)" = "" ]; then
    git diff --quiet HEAD || echo "dist: what is not committed is left out" >&2
    git archive HEAD | tar -xf - -C "$stage/$name"
else
    tar -cf - --exclude=./build --exclude=./.git --exclude=__pycache__ . |
        tar -xf - -C "$stage/$name"
fi
seconds=$(scripts/version.sh --seconds)
LC_ALL=C tar -cf "$stage/tar" -C "$stage" --sort=name --format=ustar --mtime="@$seconds" --owner=0 --group=0 \
    --numeric-owner --mode=a=rX,u+w "$name"
gzip -9n "$stage/tar"
mv "$stage/tar.gz" "$into/$name.tar.gz"
echo "$into/$name.tar.gz"
