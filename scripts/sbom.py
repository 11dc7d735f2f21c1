#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""sbom.py PARTS VERSION SECONDS FILE...: prints an SPDX 2.3 document about files of a release.

PARTS, of scripts/sysroot.sh, names the Debian packages. A file is linked with the C library, the compiler's and OpenSSL;
an image (*-image-*) has both programs and the authorities; packages for npm and pip (*native-*)
use the C library of the machine. The same files give the same bytes.
"""

import hashlib
import json
import os
import sys
import time

LICENCES = {
    "ca-certificates": "MPL-2.0",
    "gcc-12": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "glibc": "LGPL-2.1-or-later",
    "openssl": "Apache-2.0",
}

parts_path, version, seconds, *paths = sys.argv[1:]


def is_in(source, name):
    is_image = "-image-" in name
    return {"ca-certificates": is_image, "glibc": "native-" not in name}.get(source, True)


def identifier(text):
    return "SPDXRef-" + "".join(c if c.isalnum() or c in ".-" else "-" for c in text)


def package(name, of_version, **more):
    return {"SPDXID": identifier(f"Package-{name}"), "name": name, "versionInfo": of_version,
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
            "copyrightText": "NOASSERTION", **more}


def debian_package(source, of_version):
    locator = f"pkg:deb/debian/{source}@{of_version.replace('+', '%2B')}?arch=source&distro=bookworm"
    return package(source, of_version, supplier="Organization: Debian", licenseDeclared=LICENCES[source],
                   externalRefs=[{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                  "referenceLocator": locator}])


def described_file(path):
    with open(path, "rb") as file:
        content = file.read()
    name = os.path.basename(path)
    return {"SPDXID": identifier("File-" + name), "fileName": "./" + name, "licenseConcluded": "NOASSERTION",
            "licenseInfoInFiles": ["NOASSERTION"], "copyrightText": "NOASSERTION",
            "checksums": [{"algorithm": kind, "checksumValue": hashlib.new(kind.lower(), content).hexdigest()}
                          for kind in ("SHA1", "SHA256")]}


with open(parts_path, encoding="ascii") as lines:
    sources = sorted({tuple(line.split()[2:4]) for line in lines})
ours = package("redlock", version, licenseDeclared="BSD-2-Clause")
files = [described_file(path) for path in sorted(paths)]
relations = [("SPDXRef-DOCUMENT", "DESCRIBES", ours["SPDXID"])]
for entry in files:
    name = entry["fileName"][2:]
    relations.append((ours["SPDXID"], "CONTAINS", entry["SPDXID"]))
    for source, _ in sources:
        if is_in(source, name):
            kind = "CONTAINS" if source == "ca-certificates" else "STATIC_LINK"
            relations.append((entry["SPDXID"], kind, identifier(f"Package-{source}")))
digest = hashlib.sha256(json.dumps([files, sources]).encode()).hexdigest()
json.dump({
    "spdxVersion": "SPDX-2.3",
    "dataLicense": "CC0-1.0",
    "SPDXID": "SPDXRef-DOCUMENT",
    "name": f"redlock-{version}",
    "documentNamespace": f"urn:sha256:{digest}",
    "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(seconds))),
                     "creators": [f"Tool: redlock-sbom-{version}"]},
    "packages": [ours] + [debian_package(*source) for source in sources],
    "files": files,
    "relationships": [{"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b}
                      for a, kind, b in relations],
}, sys.stdout, indent=1)
print()
