#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# version.sh BUILD_DIR: whatever names the version names that of the header, and the Debian packages know
# every function that the header declares.
set -euo pipefail
build=$1
cd "$(dirname "$0")/../.."
. tests/support/assert.bash

version=$(scripts/version.sh)
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || { echo "not ok - scripts/version.sh says '$version'"; exit 1; }
major=${version%%.*}

is 'redlock --version' "$("$build/redlock" --version)" "redlock $version (library $version)"
[ ! -x "$build/redlockd" ] || is 'redlockd --version' "$("$build/redlockd" --version)" "redlockd $version"
is 'redlock.pc' "$(sed -n 's/^Version: //p' "$build/redlock.pc")" "$version"
is 'redlockConfigVersion.cmake' \
    "$(sed -n 's/^set(PACKAGE_VERSION "\(.*\)")$/\1/p' "$build/redlockConfigVersion.cmake")" "$version"
is 'the name of the library' "$(basename "$(readlink -f "$build/libredlock.so")")" "libredlock.so.$version"
is 'debian/changelog' "$(sed -n '1s/.*(\(.*\)).*/\1/p' debian/changelog)" "$version"
is 'the library package of debian/control' "$(sed -n 's/^Package: libredlock\([0-9]\)/\1/p' debian/control)" "$major"
is 'the status in README.md' "$(sed -n '/^## Status/,$ s/^\([0-9]*\.[0-9]*\.[0-9]*\)[,. ].*/\1/p' README.md | head -n 1)" \
    "$version"
grep -qF "$version" <(sed -n '/^## \[/,/^- /p' CHANGELOG.md | head -n 5) ||
    is 'the newest section of CHANGELOG.md' "$(grep -m1 '^## \[' CHANGELOG.md)" "$version"
# With "latest" the kubelet would ask a registry for an image that was loaded on its machine.
is 'the image in packaging/kubernetes' "$(sed -n 's/^ *image: redlock://p' packaging/kubernetes/redlock.yaml | sort -u)" "$version"
for file in bindings/*/pyproject.toml bindings/*/package.json; do
    [ ! -f "$file" ] || ! grep -q '^ *"\?version"\? *[=:]' "$file" ||
        is "$file" "$(sed -n 's/^ *"\?version"\? *[=:] *"\([^"]*\)".*/\1/p' "$file" | head -n 1)" "$version"
done

functions=$(sed -n 's/^REDLOCK_API .*[ *]\(redlock_[a-z_]*\)(.*/\1/p' include/redlock.h | LC_ALL=C sort)
symbols=$(echo debian/*.symbols)
is "the functions of $symbols" \
    "$(sed -n "s/^ \(redlock_[a-z_]*\)@REDLOCK_$major .*/\1/p" "$symbols" | LC_ALL=C sort)" "$functions"
exit $failed
