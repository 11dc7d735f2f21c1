#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# check-packages.sh [DIRECTORY]: installs the packages that deb.sh built there (build/deb) in Debians that have
# nothing else: one with nothing but apt, one that systemd has booted, one for the recipe of docs/production.md and
# one for debian/tests. REDLOCK_ROOM=bare|booted|production|autopkgtest: that one alone.
#
# Needs root. The Debians are containers of systemd-nspawn under build/chroot, which takes all its mounts
# along when it ends; the machine's own packages, units and users are not touched.
set -euo pipefail
cd "$(dirname "$0")/.."
built=$(readlink -f "${1:-build/deb}")
version=$(scripts/version.sh)
rooms=build/chroot

if [ "$(id -u)" != 0 ]; then
    echo "check-packages: only root can make a Debian to try packages in" >&2
    exit 1
fi
cleanup() { rm -rf --one-file-system "$rooms/room"; }
trap cleanup EXIT
trap 'exit 143' HUP INT TERM

# Where systemd does not run, there is nothing to register a container with.
nspawn=(systemd-nspawn --quiet --directory "$rooms/room")
[ -d /run/systemd/system ] || nspawn+=(--register=no --keep-unit)

# furnish PACKAGE...: a fresh room with these, and /check in it: the packages, the next version, the tests.
furnish() {
    cleanup
    scripts/bare-debian.sh "$rooms/room" "$@"
    mkdir -p "$rooms/room/check/now" "$rooms/room/check/next"
    cp "$built"/*_"$version"_*.deb "$built"/*.dsc "$built"/*.tar.* "$rooms/room/check/now"
    rm "$rooms/room/check/now/"*-dbgsym_*
    cp "$rooms/next/"*.deb "$rooms/room/check/next"
    cp tests/packages/* "$rooms/room/check"
}

# The next version: the same files, another number, and a line more in the configuration.
rm -rf "$rooms/next"
mkdir -p "$rooms/next"
for package in "$built"/*_"$version"_*.deb; do
    [[ $package != *-dbgsym_* ]] || continue
    tree=$rooms/next/tree
    dpkg-deb --raw-extract "$package" "$tree"
    sed -i "s/^\(Version: .*\)/\1+next/; s/(= $version)/(= $version+next)/" "$tree/DEBIAN/control"
    conf=$tree/etc/redlock/redlockd.conf
    [ ! -e "$conf" ] || echo '# A line of the next version.' >>"$conf"
    dpkg-deb --root-owner-group --build "$tree" "$rooms/next" >/dev/null
    rm -rf "$tree"
done

if [ "${REDLOCK_ROOM:-bare}" = bare ]; then
    echo "# a bare Debian"
    furnish
    timeout -k 10 600 "${nspawn[@]}" --resolv-conf=copy-host --pipe /bin/bash /check/bare.sh
fi
tools=(gcc libc6-dev libssl-dev pkg-config cmake make redis-server curl jq
    python3 python3-cffi-backend)
# boot SCRIPT: the room, until that script of tests/packages has ended.
boot() {
    local status=0
    cp tests/packages/booted.service "$rooms/room/etc/systemd/system/"
    ln -s ../booted.service "$rooms/room/etc/systemd/system/multi-user.target.wants/"
    ln -s "$1" "$rooms/room/check/script"
    for service in redis-server nginx haproxy prometheus; do
        ln -sf /dev/null "$rooms/room/etc/systemd/system/$service.service"
    done
    : >"$rooms/room/check/printed"
    timeout -k 10 600 "${nspawn[@]}" --private-network --console=pipe --boot </dev/null \
        >"$rooms/console.log" 2>&1 || status=$?
    cat "$rooms/room/check/printed"
    if [ $status != 0 ] || ! tail -n 1 "$rooms/room/check/printed" | grep -q '^# done$'; then
        echo "check-packages: the booted room ended with $status ($rooms/console.log)" >&2
        exit 1
    fi
}
if [ "${REDLOCK_ROOM:-booted}" = booted ]; then
    echo "# a booted one"
    furnish systemd systemd-sysv dbus procps "${tools[@]}"
    boot booted.sh
fi
if [ "${REDLOCK_ROOM:-production}" = production ]; then
    echo "# the recipe of docs/production.md"
    furnish systemd systemd-sysv dbus redis-server curl jq openssl nginx-light haproxy prometheus logrotate
    cp docs/production.md "$rooms/room/check"
    boot production.sh
fi
if [ "${REDLOCK_ROOM:-autopkgtest}" = autopkgtest ]; then
    echo "# debian/tests"
    furnish systemd systemd-sysv dbus procps "${tools[@]}"
    cp -L /etc/resolv.conf "$rooms/room/etc/"
    # The mount is gone with its namespace.
    unshare --mount --propagation private bash -c 'mount -t proc proc "$0/proc" && exec "$@"' "$rooms/room" \
        timeout -k 10 900 autopkgtest --quiet --no-built-binaries --setup-commands='apt-get -q update' \
        "$rooms/room/check/now/"*.deb "$rooms/room/check/now/"*.dsc -- chroot "$PWD/$rooms/room"
fi
