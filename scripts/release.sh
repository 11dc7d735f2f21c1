#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# release.sh: makes everything that a release consists of, in build/release-VERSION/upload, and prints what is left to do by
# hand: tag, publish. Nothing of that is done here, and the tree that it is called in stays as it is: the commit of the
# release is made in a clone, build/release-VERSION/tree, and checked there. docs/releasing.md explains.
#
# RELEASE_CHECKS: targets of make that must succeed in the clone. RELEASE_KEY: the key of gpg that signs the digests.
# ABI_REVIEWED=yes: changes of the binary interface have been looked at.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(scripts/version.sh)
into=$PWD/build/release-$version
upload=$into/upload
checks=${RELEASE_CHECKS-test deb-check deb-test static-check static-check-arm64 image-test compose-test kubernetes-check prebuilt-test}
name=libredlock.abi
baseline=packaging/$name

fail() {
    echo "release: $*" >&2
    exit 1
}
[ -z "$(git status --porcelain)" ] || fail "the tree has changes that are not committed"
[ -z "$(git tag --list "v$version")" ] || fail "v$version exists: the next version goes into include/redlock.h"
grep -q '^## \[Unreleased\]$' CHANGELOG.md || fail "CHANGELOG.md has no section [Unreleased]"

# ---- the commit of the release -----------------------------------------------------------------

rm -rf "$into"
mkdir -p "$upload"
git clone --quiet . "$into/tree"
for key in user.name user.email; do
    git -C "$into/tree" config "$key" "$(git config "$key")"
done
cd "$into/tree"
today=$(date -u +%F)
sed -i "s/^## \[Unreleased\]$/&\n\n## [$version] - $today/" CHANGELOG.md
sed -i "/^What $version, .* will have\.$/,+1d" CHANGELOG.md
sed -i "s/^$version, not released yet\. /$version, of $today. /" README.md
sed -i "1,/^ -- /s/^\( -- .*>  \).*/\1$(date -uR)/" debian/changelog

cmake --preset release >/dev/null
cmake --build --preset release --parallel "$(nproc)" --target redlock_shared redlock >"$into/build.log" ||
    fail "it does not build: $into/build.log"
if [ -e "$baseline" ]; then
    scripts/abi.sh compare "$baseline" build/release/libredlock.so include ||
        [ "${ABI_REVIEWED:-}" = yes ] || fail "the binary interface has changed since the last release, as above;" \
        "docs/releasing.md says what that means, and ABI_REVIEWED=yes goes on"
else
    echo "release: the first one: there is no binary interface to compare with"
fi
scripts/abi.sh describe build/release/libredlock.so include "$baseline"
git add --all
git commit --quiet --message "release: $version" --message "The changelogs get their date, and $baseline what programs \
that are built with this version rely on."

# ---- what it consists of -------------------------------------------------------------------------

# make_target TARGET [VARIABLE=VALUE]
make_target() {
    local log=$into/$1${2:+-$2}.log
    echo "release: make $*"
    make "$@" >"$log" 2>&1 || { tail -n 20 "$log" >&2; fail "make $*: $log"; }
}
for check in $checks; do
    make_target "$check"
done
scripts/dist.sh "$upload" >/dev/null
[ -d build/deb ] || make_target deb
cp build/deb/*.deb build/deb/*.dsc build/deb/*.tar.* "$upload"
make_target node-package
make_target python-package
cp build/redlock*.tgz build/redlock*.tar.gz build/redlock*.whl compose.yaml "$upload"
for pair in 'amd64 x86_64' 'arm64 aarch64'; do
    read -r architecture processor <<<"$pair"
    make_target image "ARCH=$architecture"
    for program in redlock redlockd; do
        cp "build/static-$architecture/$program" "$upload/$program-$version-linux-$architecture"
    done
    gzip -9n <"build/image/redlock-$version-image-$architecture.tar" >"$upload/redlock-$version-image-$architecture.tar.gz"
    python3 -B scripts/sbom.py "build/sysroot/$architecture/PARTS" "$version" "$(scripts/version.sh --seconds)" \
        "$upload/"*"-$version-"*"-$architecture"* "$upload/"*"_$processor.whl" "$upload/"*native*.tgz \
        >"$upload/redlock-$version-linux-$architecture.spdx.json"
done
cd "$upload"
for file in *-linux-*[46] *-image-* *.whl *.tgz; do
    grep -qF "\"./$file\"" ./*.spdx.json || fail "no bill of materials names $file"
done
find . -maxdepth 1 -type f ! -name 'SHA256SUMS*' -printf '%P\n' | LC_ALL=C sort | xargs sha256sum >SHA256SUMS
sign="gpg --armor --detach-sign $upload/SHA256SUMS"
if [ -n "${RELEASE_KEY:-}" ]; then
    gpg --local-user "$RELEASE_KEY" --armor --detach-sign SHA256SUMS
    gpg --verify SHA256SUMS.asc SHA256SUMS
    sign="(signed: SHA256SUMS.asc)"
fi
cat <<END
release: $version is in $upload. What is left:
    git pull --ff-only $into/tree HEAD
    git tag --sign v$version --message 'redlock $version'
    $sign
    git push origin HEAD v$version
    and publish all files of $upload
END
