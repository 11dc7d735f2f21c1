#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# debian-sources.sh: prints where the apt of this machine gets Debian 12 from, as lines of a sources.list.
set -eu
sources=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(COMPONENT) $(ORIGIN)' 'Created-By: Packages' |
    awk '$2 ~ /^bookworm/ && $3 == "main" && $4 == "Debian" { print "deb", $1, $2, $3 }' | sort -u)
if [ -z "$sources" ]; then
    echo "debian-sources: apt on this machine has no Debian 12 (bookworm) among its sources" >&2
    exit 1
fi
echo "$sources"
