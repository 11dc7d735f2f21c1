#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# check-deb.sh [DIRECTORY]: judges the packages that deb.sh built there (build/deb): lintian finds nothing to
# say, and a second build at another path and time, with another umask, language, time zone and number of
# processors, gives the same bytes.
set -eu
cd "$(dirname "$0")/.."
built=${1:-build/deb}
version=$(scripts/version.sh)

# Experimental tags are left out: they count long lines in what fuzzing found.
# As root lintian drops what protects it, and wants the option.
found=$(lintian --allow-root --display-info --pedantic "$built/redlock_${version}_"*.changes)
if [ -n "$found" ]; then
    echo "$found" >&2
    exit 1
fi
echo "lintian reports nothing"

again=build/deb-again-at-a-longer-path
(
    umask 0002
    export TZ=Pacific/Kiritimati LC_ALL=C.UTF-8 DEB_BUILD_OPTIONS=parallel=1 USER=another HOME=/nonexistent
    scripts/deb.sh "$again" >/dev/null
)
# The names and digests of everything but .changes and .buildinfo, which name when and where it was built.
digests() { (cd "$1" && sha256sum ./*.deb ./*.dsc ./*.tar.*); }
digests "$built" >"$again/first"
digests "$again" >"$again/second"
if ! diff "$again/first" "$again/second" >&2; then
    echo "check-deb: the second build, in $again, differs; diffoscope shows in what" >&2
    exit 1
fi
echo "built twice, the same bytes: $(wc -l <"$again/first") files"
rm -rf "$again"
