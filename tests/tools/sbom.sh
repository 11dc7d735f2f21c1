#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The bill of materials names each part of a release's static files, with their digests, and nothing that is not there.
set -euo pipefail
tree=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. "$tree/tests/support/assert.bash"
cat >"$tmp/PARTS" <<'END'
ca-certificates 20250419~deb12u2 ca-certificates 20250419~deb12u2
libc6-dev 2.36-9+deb12u14 glibc 2.36-9+deb12u14
libssl-dev 3.0.22-1~deb12u2 openssl 3.0.22-1~deb12u2
END
wheel=redlock_native-1.2.3-cp39-abi3-manylinux_2_34_x86_64.whl
for name in redlock-1.2.3-linux-amd64 redlockd-1.2.3-linux-amd64 redlock-1.2.3-image-amd64.tar.gz \
    redlock-native-1.2.3.tgz $wheel; do
    echo "$name" >"$tmp/$name"
done
make() { python3 -B "$tree/scripts/sbom.py" "$tmp/PARTS" 1.2.3 86400 "$tmp"/redlock*; }
make >"$tmp/sbom"

of() { jq -r "$1" "$tmp/sbom" | paste -sd ' '; }
# parts_of FILE: the names behind its relations.
parts_of() {
    of ".SPDXID as \$d | (.files[] | select(.fileName == \"./$1\").SPDXID) as \$f | .packages as \$p |
        .relationships[] | select(.spdxElementId == \$f).relatedSpdxElement as \$r | \$p[] | select(.SPDXID == \$r).name"
}
is 'the parts of the command' "$(parts_of redlock-1.2.3-linux-amd64)" 'glibc openssl'
is 'the parts of the service' "$(parts_of redlockd-1.2.3-linux-amd64)" 'glibc openssl'
is 'the parts of the image' "$(parts_of redlock-1.2.3-image-amd64.tar.gz)" 'ca-certificates glibc openssl'
is 'the parts of the package for npm' "$(parts_of redlock-native-1.2.3.tgz)" openssl
is 'the parts of a wheel' "$(parts_of $wheel)" openssl
is 'versions are those of Debian' "$(of '.packages[] | select(.name == "openssl").versionInfo')" 3.0.22-1~deb12u2
is 'a scanner finds the package' "$(of '.packages[] | select(.name == "openssl").externalRefs[0].referenceLocator')" \
    'pkg:deb/debian/openssl@3.0.22-1~deb12u2?arch=source&distro=bookworm'
is 'digests are those of the files' "$(of '.files[] | .checksums[] | select(.algorithm == "SHA256").checksumValue')" \
    "$(cd "$tmp" && LC_ALL=C ls redlock* | xargs sha256sum | cut -d ' ' -f 1 | paste -sd ' ')"
is 'every relation is between elements that are there' \
    "$(of '([.SPDXID] + [.packages[].SPDXID] + [.files[].SPDXID]) as $known | .relationships[] |
        (.spdxElementId, .relatedSpdxElement) | select(IN($known[]) | not)')" ''
is 'every name is of its own' "$(of '[.packages[].SPDXID, .files[].SPDXID] | group_by(.)[] | select(length > 1)[0]')" ''
is 'what SPDX 2.3 demands is there' \
    "$(of '.spdxVersion, .dataLicense, .SPDXID, .creationInfo.created, ([.packages[] | has("downloadLocation")] | all)')" \
    'SPDX-2.3 CC0-1.0 SPDXRef-DOCUMENT 1970-01-02T00:00:00Z true'
is 'the same files give the same bytes' "$(make | sha256sum)" "$(sha256sum <"$tmp/sbom")"
exit $failed
