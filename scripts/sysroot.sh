#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# sysroot.sh ARCHITECTURE: unpacks what static programs and addons are linked with, as Debian 12 has it now with its security
# fixes, into build/sysroot/ARCHITECTURE, and writes its PARTS: a line of package, version, source and its version each.
# sysroot.sh --compare PARTS ARCHITECTURE: status 1, and a line for each, if Debian has newer versions by now.
#
# Nothing is installed, and apt of this machine does not learn of another architecture: its archive and keys are used
# with lists of their own. A sysroot that is there stays as it is: `rm -r build/sysroot` for a new one.
set -euo pipefail
cd "$(dirname "$0")/.."
packages=(libc6-dev libgcc-12-dev libssl-dev ca-certificates)
# No parts: constants, what the addons of Node and Python are linked with and find on each machine, a licence.
others=(linux-libc-dev libc6 libpython3.11-dev base-files)

# An apt of its own below this directory, for one architecture.
private_apt() { # DIRECTORY ARCHITECTURE
    mkdir -p "$1/lists/partial" "$1/cache/archives/partial" "$1/parts"
    : >"$1/status"
    scripts/debian-sources.sh >"$1/sources.list"
    options=(-o "Dir::Etc::sourcelist=$1/sources.list" -o "Dir::Etc::sourceparts=$1/parts"
        -o "Dir::State::lists=$1/lists" -o "Dir::Cache=$1/cache" -o "Dir::State::status=$1/status"
        -o "APT::Architecture=$2" -o "APT::Architectures=$2" -o APT::Sandbox::User=root -o Acquire::Languages=none
        -o Acquire::Retries=3)
    apt-get -qq "${options[@]}" update
}

case ${!#}:$(command -v apt-get) in
amd64:/* | arm64:/*) ;;
*)
    echo "sysroot: this needs the apt of a Debian or a relative of it, and ARCH=amd64 or ARCH=arm64" >&2
    exit 1
    ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 143' HUP INT TERM

if [ "$1" = --compare ]; then
    private_apt "$work" "$3"
    outdated=0
    while read -r package version _; do
        newest=$(apt-cache "${options[@]}" show --no-all-versions "$package" | sed -n 's/^Version: //p')
        if dpkg --compare-versions "$version" lt "$newest"; then
            echo "$package $version is older than Debian's $newest: rm -r build/sysroot, and build again"
            outdated=1
        fi
    done <"$2"
    exit $outdated
fi

into=build/sysroot/$1
[ ! -e "$into/PARTS" ] || exit 0
echo "sysroot: unpacking ${packages[*]} of Debian 12 for $1 into $into"
private_apt "$work" "$1"
(cd "$work" && apt-get -qq "${options[@]}" download "${packages[@]}" "${others[@]}")
rm -rf "$into"
mkdir -p "$into"
for deb in "$work"/*.deb; do
    dpkg-deb -x "$deb" "$into"
    dpkg-deb -W --showformat='${Package} ${Version} ${source:Package} ${source:Version}\n' "$deb"
done | grep -vE "^($(IFS='|' && echo "${others[*]}")) " >"$work/PARTS"
mv "$work/PARTS" "$into/PARTS"
