#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# servers.sh [NAME...]: fetches servers of Debian's suites into build/servers, all that are known or the named
# ones, without touching the system. `servers.sh --list` prints which there are.
#
# Packages come from the archive that the machine's own apt uses (REDLOCK_DEBIAN names another), checked with its
# keyring, and are unpacked, not installed. build/servers/NAME/bin has redis-server, redis-cli and valkey-server, scripts that
# run the server with the libraries of its suite: put it first in PATH. `mixed` starts another one for each node.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD/build/servers

# Name, suites (the first one has the package), program. Names have the version that the suite had when this was written.
known() {
    cat <<'LIST'
redis-6.0 bullseye redis
redis-7.0 bookworm redis
valkey-8.0 bookworm-backports,bookworm valkey
redis-8.0 trixie redis
valkey-8.1 trixie valkey
valkey-9.1 forky valkey
redis-8.6 experimental,sid redis
LIST
}

if [ "${1:-}" = --list ]; then
    known | cut -d' ' -f1
    echo mixed
    exit 0
fi

fail() {
    echo "servers: $1" >&2
    exit 1
}

archive() {
    if [ -n "${REDLOCK_DEBIAN:-}" ]; then
        echo "$REDLOCK_DEBIAN"
        return
    fi
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
        sed 's|/*$||' | grep '/debian$' | head -n 1
}

# An apt of its own that knows the suites of one server, and that nothing is installed.
private_apt() { # SUITES
    local suite
    mkdir -p "$here/apt/lists/partial" "$here/apt/cache/archives/partial" "$here/apt/parts"
    : >"$here/apt/status"
    : >"$here/apt/sources.list"
    for suite in ${1//,/ }; do
        echo "deb [signed-by=$keyring] $uri $suite main" >>"$here/apt/sources.list"
    done
    options=(-o "Dir::Etc::sourcelist=$here/apt/sources.list" -o "Dir::Etc::sourceparts=$here/apt/parts"
        -o "Dir::Etc::preferencesparts=$here/apt/parts" -o "Dir::Etc::preferences=/dev/null"
        -o "Dir::State::lists=$here/apt/lists" -o "Dir::Cache=$here/apt/cache"
        -o "Dir::State::status=$here/apt/status" -o APT::Sandbox::User=root -o Acquire::Languages=none
        -o "APT::Default-Release=${1%%,*}")
    apt-get -qq "${options[@]}" update
}

# The library packages that a package needs, of those that are of use to a server.
depends_of() { # PACKAGE
    apt-cache "${options[@]}" show --no-all-versions "$1" 2>/dev/null |
        sed -n 's/^\(Pre-\)\{0,1\}Depends: //p' | tr ',' '\n' | sed 's/^ *//; s/[ (:|].*//' |
        grep -e '^lib' -e '^lua-' | grep -v -e '^libpam' -e '^libperl' -e '^libaudit' -e '^libcrypt-' || true
}

closure() { # PACKAGE...
    local seen=" " package wanted=("$@")
    while [ ${#wanted[@]} -gt 0 ]; do
        package=${wanted[0]}
        wanted=("${wanted[@]:1}")
        [[ $seen == *" $package "* ]] && continue
        seen+="$package "
        # Some names are only provided by others.
        [[ $(apt-cache "${options[@]}" policy "$package") == *"Candidate: "[0-9]* ]] || continue
        echo "$package"
        mapfile -t -O ${#wanted[@]} wanted < <(depends_of "$package")
    done
}

glibc_of() { # a libc.so.6
    strings "$1" | sed -n 's/^GNU C Library .* version \([0-9.]*[0-9]\).*/\1/p' | head -n 1
}

# With a libc that is not newer than the machine's, the machine's is as good: what tests preload is made for it.
drop_old_libc() { # directory of libraries
    local theirs ours newest
    theirs=$(glibc_of "$1/libc.so.6")
    ours=$(getconf GNU_LIBC_VERSION | cut -d' ' -f2)
    newest=$(printf '%s\n%s\n' "$theirs" "$ours" | sort -V | tail -n 1)
    if [ "$newest" = "$ours" ]; then
        (cd "$1" && rm -f ld-linux* libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1 libresolv.so.2 libutil.so.1 \
            libnss_* libmvec.so.1 libanl.so.1 libgcc_s.so.1 libstdc++.so.6* libc-* libm-* libpthread-* ld-2*)
    fi
}

# A script that runs PROGRAM with its own libraries, in the same process and under its own name: a loader that
# comes with them is called like the program.
write_wrapper() { # NAME PROGRAM
    local loader
    loader=$(find "$here/lib" -name 'ld-linux*' | head -n 1)
    if [ -n "$loader" ]; then
        mkdir -p "$here/loader"
        cp -L "$loader" "$here/loader/$2"
        printf '#!/bin/sh\nexec %s --argv0 %s --library-path %s %s "$@"\n' \
            "$here/loader/$2" "$2" "$here/lib" "$here/programs/$2"
    else
        # Before 6.2 no address can be optional, as it is in the arguments of the tests.
        printf '#!/bin/sh\nexport LD_LIBRARY_PATH=%s\n' "$here/lib"
        [ "${here##*/}" != redis-6.0 ] || printf '%s\n' 'for word; do [ "$word" != -::1 ] || word=::1; set -- "$@" "$word"; shift; done'
        printf 'exec %s "$@"\n' "$here/programs/$2"
    fi >"$here/bin/$1.new"
    chmod +x "$here/bin/$1.new"
    mv "$here/bin/$1.new" "$here/bin/$1"
}

fetch() { # NAME SUITES PROGRAM
    local packages programs
    here=$root/$1
    [ -x "$here/bin/redis-server" ] && "$here/bin/redis-server" --version >/dev/null 2>&1 && return
    echo "fetching $1"
    rm -rf "$here"
    mkdir -p "$here/bin" "$here/lib" "$here/programs" "$here/debs" "$here/tree"
    private_apt "$2"
    mapfile -t packages < <(closure "$3-server" "$3-tools")
    (cd "$here/debs" && apt-get -qq "${options[@]}" download "${packages[@]}")
    for deb in "$here"/debs/*.deb; do
        dpkg-deb -x "$deb" "$here/tree"
    done
    find "$here/tree" ! -type d -name '*.so*' ! -path '*/gconv/*' ! -path '*/engines*' ! -path '*/lib64/*' ! -path '*/lua/*' \
        ! -path '*/ossl-modules/*' -exec cp -a -t "$here/lib" {} +
    cp -L "$here/tree/usr/bin/$3-server" "$here/tree/usr/bin/$3-cli" "$here/programs"
    rm -rf "$here/tree" "$here/debs" "$here/apt"
    drop_old_libc "$here/lib"
    for program in server cli; do
        write_wrapper "redis-$program" "$3-$program"
        write_wrapper "valkey-$program" "$3-$program"
    done
    "$here/bin/redis-server" --version
}

# One server for a node, and the same after its restart: chosen by its arguments.
write_mixed() {
    local all=("$root"/*-*/bin)
    mkdir -p "$root/mixed/bin"
    cat >"$root/mixed/bin/redis-server" <<SCRIPT
#!/bin/sh
sum=\$(echo "\$*" | cksum | cut -d' ' -f1)
shifted=\$((sum % ${#all[@]} + 1))
exec \$(echo "${all[*]}" | cut -d' ' -f"\$shifted")/redis-server "\$@"
SCRIPT
    chmod +x "$root/mixed/bin/redis-server"
    cp "$root/mixed/bin/redis-server" "$root/mixed/bin/valkey-server"
    cp "${all[0]}/redis-cli" "$root/mixed/bin/redis-cli"
}

for tool in apt-get dpkg-deb strings; do
    command -v $tool >/dev/null || fail "this needs $tool: Debian, or a relative of it, with binutils"
done
keyring=$(ls /usr/share/keyrings/debian-archive-keyring.* 2>/dev/null | head -n 1)
[ -n "$keyring" ] || fail "the keyring is missing: install debian-archive-keyring"
uri=$(archive)
[ -n "$uri" ] || fail "apt knows no archive of Debian: name one with REDLOCK_DEBIAN=URL"

wanted=" ${*:-$(known | cut -d' ' -f1 | tr '\n' ' ')mixed} "
case $wanted in *" mixed "*) wanted=" $(known | cut -d' ' -f1 | tr '\n' ' ')mixed " ;; esac
while read -r name suites program; do
    case $wanted in *" $name "*) fetch "$name" "$suites" "$program" ;; esac
done < <(known)
case $wanted in *" mixed "*) write_mixed ;; esac
