#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# deps.sh [build|sim|run|bench|test|fuzz|proof|plots|peers|clients|databases|etcd|browser|node|python|python-package|
#         bench-go|deb|deb-test|abi|static-ARCH|static-check-ARCH|docker|compose|bare-debian]...
#
# Makes sure that what a purpose needs is installed: `build` the library, the command and the service,
# `sim` the simulator, `run` a local quorum, `bench` what it is measured against, `test` everything but clang
# with its fuzzer, which is for `fuzz`, and the model checker, which is for `proof`; `plots` is what
# draws the results of benchmarks, `peers` what other lock clients run with and are watched by, `clients`
# what stands before the service and queries it, `node` what makes and checks the package of Node,
# `python-package` what makes that of Python, `etcd` what the service is measured against, `browser` what
# shows its page in tests, `bench-go` what the client for Go is measured beside,
# `deb` what builds Debian packages and `deb-test` what judges them and tries them in a bare Debian,
# `abi` what compares the binary interface with that of the last release, `static-amd64` and `static-arm64` what links
# static programs for these, `static-check-...` what runs them here, `docker` what runs containers,
# `compose` several of them by compose.yaml, and `bare-debian` what makes a Debian to try packages in.
#
# Does nothing, quickly and without the network, when all is there. What is missing is installed with
# apt-get, as root or through sudo, after a line that reports it; on other systems, without the rights
# and with REDLOCK_NO_INSTALL set, the exact command is printed and the status is 1.
set -eu

have() { command -v "$1" >/dev/null 2>&1; }
have_header() { echo "#include <$1>" | cc -E - >/dev/null 2>&1; }

missing=
miss() { missing="$missing $1"; }

# No package manager helps against a distribution that is too old.
check_cmake_version() {
    version=$(cmake --version | sed -n '1s/[^0-9]*//p')
    major=${version%%.*}
    minor=${version#*.}
    minor=${minor%%.*}
    if [ "$((major * 1000 + minor))" -lt 3025 ]; then
        echo "deps: cmake $version is too old: 3.25 or newer is needed" >&2
        exit 1
    fi
}

check_build() {
    have cc || miss cc
    if have cc; then
        have_header stdio.h || miss libc
        have_header openssl/ssl.h || miss openssl-dev
    else
        miss libc
        miss openssl-dev
    fi
    have make || miss make
    if have cmake; then
        check_cmake_version
    else
        miss cmake
    fi
    have pkg-config || miss pkg-config
}

# The version inside the servers; distributions name it differently.
check_sim() {
    check_build
    pkg-config --exists lua5.1 2>/dev/null || pkg-config --exists lua-5.1 2>/dev/null ||
        pkg-config --exists lua51 2>/dev/null || miss lua-dev
}

check_run() {
    have redis-server || have valkey-server || miss server
}

check_bench() {
    have redis-cli || have valkey-cli || miss server-cli
}

check_test() {
    check_bench
    have openssl || miss openssl
    have jq || miss jq
    have ninja || miss ninja
    have python3 || miss python3
    have c++ || miss c++
    have clang-format || have clang-format-14 || miss clang-format
    have_header hiredis/hiredis.h || miss hiredis-dev
    have_header jansson.h || miss jansson-dev
    have_header http_parser.h || miss http-parser-dev
    have_header uv.h || miss libuv-dev
    have_header event2/event.h || miss libevent-dev
    have curl || miss curl
    have go || miss go
    have node || have nodejs || miss node
    have_header node/node_api.h || miss node-dev
    have python3 || miss python3
    check_python
}

# For the binding. A python3 that is not the system's may stand before it and have none of these.
python_has() {
    { have python3 && python3 -c "$1" 2>/dev/null; } ||
        { have /usr/bin/python3 && /usr/bin/python3 -c "$1" 2>/dev/null; }
}

check_python() {
    python_has 'import cffi' || miss python3-cffi
    python_has 'import os, sysconfig; os.stat(sysconfig.get_paths()["include"] + "/Python.h")' ||
        miss python3-dev
    python_has 'import setuptools' || miss python3-setuptools
}

check_python_package() {
    check_python
    # One Python has to have them all (pack.sh): where none has, the system's gets what it lacks.
    python_has 'import cffi, setuptools, wheel' && return
    for module in cffi setuptools wheel; do
        /usr/bin/python3 -c "import $module" 2>/dev/null || miss "python3-$module"
    done
}

check_fuzz() {
    have clang || miss clang
    # Prints the path of what it has, and the bare name of what it has not.
    runtime=libclang_rt.fuzzer-$(uname -m).a
    if ! have clang || [ "$(clang -print-file-name="$runtime")" = "$runtime" ]; then
        miss clang-runtime
    fi
    if ! have cc || ! have_header hiredis/hiredis.h; then
        miss hiredis-dev
    fi
    if ! have cc || ! have_header http_parser.h; then
        miss http-parser-dev
    fi
}

check_proof() {
    have cc || miss cc
    have spin || miss spin
}

check_plots() {
    have python3 || miss python3
}

# A python3 that is not the system's may stand before it and know nothing of its packages.
check_peers() {
    check_plots
    have node || miss node
    have npm || miss npm
    have strace || miss strace
    { have python3 && python3 -c 'import redis' 2>/dev/null; } ||
        { have /usr/bin/python3 && /usr/bin/python3 -c 'import redis' 2>/dev/null; } ||
        miss python3-redis
}

# The service's tests run without these, too, and report what they leave out.
check_clients() {
    have nginx || have /usr/sbin/nginx || miss nginx
    have haproxy || have /usr/sbin/haproxy || miss haproxy
    have node || miss node
    have npm || miss npm
    have promtool || miss promtool
    { have python3 && python3 -c 'import requests' 2>/dev/null; } ||
        { have /usr/bin/python3 && /usr/bin/python3 -c 'import requests' 2>/dev/null; } ||
        miss python3-requests
}

# npm is big, and only packages and their types need it.
check_node() {
    have node || have nodejs || miss node
    have_header node/node_api.h || miss node-dev
    have npm || miss npm
}

check_etcd() {
    have etcd || miss etcd
}

check_databases() {
    [ -n "$(find /usr/lib/postgresql /usr/bin /usr/local/bin -name initdb -print -quit 2>/dev/null)" ] || miss postgresql
    have mariadbd || [ -x /usr/sbin/mariadbd ] || miss mariadb-server
    for module in psycopg2 pymysql; do
        /usr/bin/python3 -c "import $module" 2>/dev/null || miss python3-$module
    done
}

# Without a font there is nothing to see.
check_browser() {
    have chromium || miss chromium
    [ -d /usr/share/fonts ] && [ -n "$(find /usr/share/fonts -name '*.ttf' -print -quit)" ] || miss fonts
}

check_deb() {
    check_build
    have dpkg-buildpackage || miss dpkg-dev
    have dh || miss debhelper
    have fakeroot || miss fakeroot
    # Debian's own, whatever other Python stands before it.
    for package in dh-python python3-cffi python3-dev python3-setuptools; do
        dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || miss "$package"
    done
}

check_deb_test() {
    have lintian || miss lintian
    have mmdebstrap || miss mmdebstrap
    have autopkgtest || miss autopkgtest
    have systemd-nspawn || miss systemd-container
}

check_abi() {
    have abidw || miss abigail-tools
    have abidiff || miss abigail-tools
}

# The compiler for a processor, which on a machine with that processor is the usual one.
check_static() {
    have python3 || miss python3
    case $1 in
    amd64) have x86_64-linux-gnu-gcc || miss gcc-x86-64-linux-gnu ;;
    arm64) have aarch64-linux-gnu-gcc || miss gcc-aarch64-linux-gnu ;;
    esac
}

check_emulation() {
    [ "$1" = "$(dpkg --print-architecture)" ] || have qemu-aarch64-static || miss qemu-user-static
}

check_docker() {
    have dockerd || have /usr/sbin/dockerd || miss docker.io
    # dockerd asks for it even where it is to change nothing.
    have iptables || have /usr/sbin/iptables || miss iptables
}

for purpose in "${@:-test}"; do
    case $purpose in
    build) check_build ;;
    sim) check_sim ;;
    run) check_build && check_run ;;
    bench) check_build && check_run && check_bench ;;
    test) check_sim && check_run && check_test ;;
    fuzz) check_build && check_fuzz ;;
    proof) check_proof ;;
    plots) check_plots ;;
    peers) check_peers ;;
    clients) check_clients ;;
    node) check_node ;;
    databases) check_databases ;;
    etcd) check_etcd ;;
    bench-go) have wrk || miss wrk ;;
    browser) check_browser ;;
    python) check_python ;;
    python-package) check_python_package ;;
    deb) check_deb ;;
    deb-test) check_deb_test ;;
    abi) check_abi ;;
    static-check-*) check_emulation "${purpose##*-}" ;;
    static-*) check_static "${purpose##*-}" ;;
    docker) check_docker ;;
    compose) have docker-compose || miss docker-compose ;;
    bare-debian) have mmdebstrap || miss mmdebstrap ;;
    *)
        sed -n 's/^#  *\(.*\]\.\.\.\)$/\1/p; s/^# deps.sh /usage: &/p' "$0" | sed 's/# //' >&2
        exit 64
        ;;
    esac
done
[ -n "$missing" ] || exit 0

# package MANAGER WORD: the package that holds it there.
package() {
    case $1:$2 in
    *:make | *:cmake) echo "$2" ;;
    apt:ninja | dnf:ninja) echo ninja-build ;;
    apt:cc) echo gcc ;;
    apt:c++) echo g++ ;;
    apt:libc) echo libc6-dev ;;
    apt:openssl-dev) echo libssl-dev ;;
    apt:jansson-dev) echo libjansson-dev ;;
    apt:hiredis-dev) echo libhiredis-dev ;;
    apt:http-parser-dev) echo libhttp-parser-dev ;;
    apt:libuv-dev) echo libuv1-dev ;;
    apt:lua-dev) echo liblua5.1-0-dev ;;
    apt:clang-runtime) echo libclang-rt-14-dev ;;
    apt:node) echo nodejs ;;
    apt:node-dev) echo libnode-dev ;;
    apt:nginx) echo nginx-light ;;
    apt:promtool) echo prometheus ;;
    apt:go) echo golang-go ;;
    apt:etcd) echo etcd-server ;;
    apt:fonts) echo fonts-dejavu-core ;;
    dnf:fonts) echo dejavu-sans-fonts ;;
    apk:fonts | pacman:fonts) echo ttf-dejavu ;;
    apt:server) echo redis-server ;;
    apt:server-cli) echo redis-tools ;;
    dnf:python3-dev) echo python3-devel ;;
    apk:python3-cffi) echo py3-cffi ;;
    apk:python3-setuptools) echo py3-setuptools ;;
    apk:python3-wheel) echo py3-wheel ;;
    pacman:python3-dev) echo python ;;
    pacman:python3-cffi) echo python-cffi ;;
    pacman:python3-setuptools) echo python-setuptools ;;
    pacman:python3-wheel) echo python-wheel ;;
    dnf:cc) echo gcc ;;
    dnf:c++) echo gcc-c++ ;;
    dnf:libc) echo glibc-devel ;;
    dnf:pkg-config) echo pkgconf-pkg-config ;;
    dnf:openssl-dev) echo openssl-devel ;;
    dnf:jansson-dev) echo jansson-devel ;;
    dnf:hiredis-dev) echo hiredis-devel ;;
    dnf:http-parser-dev) echo http-parser-devel ;;
    dnf:libuv-dev) echo libuv-devel ;;
    dnf:libevent-dev) echo libevent-devel ;;
    dnf:lua-dev) echo compat-lua-devel ;;
    dnf:server | dnf:server-cli) echo valkey ;;
    dnf:clang-format) echo clang-tools-extra ;;
    dnf:node) echo nodejs ;;
    dnf:node-dev) echo nodejs-devel ;;
    dnf:go) echo golang ;;
    dnf:promtool) echo golang-github-prometheus ;;
    dnf:npm) echo nodejs-npm ;;
    dnf:clang-runtime | apk:clang-runtime | pacman:clang-runtime) echo compiler-rt ;;
    apk:ninja) echo samurai ;;
    apk:cc) echo gcc ;;
    apk:c++) echo g++ ;;
    apk:libc) echo musl-dev linux-headers ;;
    apk:pkg-config) echo pkgconf ;;
    apk:openssl-dev) echo openssl-dev ;;
    apk:hiredis-dev) echo hiredis-dev ;;
    apk:lua-dev) echo lua5.1-dev ;;
    apk:server) echo valkey ;;
    apk:server-cli) echo valkey-cli ;;
    apk:clang-format) echo clang-extra-tools ;;
    apk:node) echo nodejs ;;
    apk:node-dev) echo nodejs-dev ;;
    apk:python3-redis) echo py3-redis ;;
    apk:python3-requests) echo py3-requests ;;
    apk:promtool) echo prometheus ;;
    pacman:cc | pacman:c++) echo gcc ;;
    pacman:libc) echo glibc ;;
    pacman:pkg-config) echo pkgconf ;;
    pacman:openssl-dev) echo openssl ;;
    pacman:jansson-dev) echo jansson ;;
    pacman:hiredis-dev) echo hiredis ;;
    pacman:http-parser-dev) echo http-parser ;;
    pacman:libuv-dev) echo libuv ;;
    pacman:libevent-dev) echo libevent ;;
    pacman:lua-dev) echo lua51 ;;
    pacman:server | pacman:server-cli) echo valkey ;;
    pacman:clang-format) echo clang ;;
    pacman:node | pacman:node-dev) echo nodejs ;;
    pacman:python3) echo python ;;
    pacman:python3-redis) echo python-redis ;;
    pacman:python3-requests) echo python-requests ;;
    pacman:promtool) echo prometheus ;;
    *) echo "$2" ;;
    esac
}

packages() {
    for word in $missing; do
        package "$1" "$word"
    done | tr '\n' ' ' | sed 's/ $//'
}

if have apt-get; then
    wanted=$(packages apt)
    install="apt-get update && apt-get install -y --no-install-recommends $wanted"
elif have dnf; then
    install="dnf install -y $(packages dnf)"
elif have apk; then
    install="apk add $(packages apk)"
elif have pacman; then
    install="pacman -S --needed --noconfirm $(packages pacman)"
else
    echo "deps: missing:$missing; install them with the package manager of this system" >&2
    exit 1
fi

# Rights: root, or sudo that works without a question or can ask it on a terminal.
root=sudo
if [ "$(id -u)" = 0 ]; then
    root=
    rights=yes
elif have sudo && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
    rights=yes
else
    rights=no
fi
if ! have apt-get || [ $rights = no ] || [ -n "${REDLOCK_NO_INSTALL:-}" ]; then
    echo "deps: missing:$missing. As root, run:" >&2
    echo "    $install" >&2
    exit 1
fi

# ---- Debian and its relatives --------------------------------------------------------------

# The packages of servers want to start system services, now and at every boot (redis-server on port
# 6379). Nobody who builds this tree asked for that. policy-rc.d is what Debian provides to keep an
# installation from starting services ("invoke-rc.d" and "deb-systemd-invoke" both ask it; they
# ignore RUNLEVEL under systemd): it exists only while apt-get runs here, and one that is
# already there is somebody's decision and stays. Starting at boot is switched off afterwards,
# and only by the run that installed the package.
policy=/usr/sbin/policy-rc.d
made_policy=
cleanup() {
    if [ -n "$made_policy" ]; then
        $root rm -f "$policy"
        made_policy=
    fi
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

apt() {
    $root env DEBIAN_FRONTEND=noninteractive apt-get -q "$@"
}

echo "deps: missing:$missing. Installing packages with ${root:+$root }apt-get: $wanted"
echo "deps: (to do that yourself: Ctrl-C, and REDLOCK_NO_INSTALL=1 prints the command)"
services=
for package in $wanted; do
    case $package in
    redis-server | haproxy | prometheus | postgresql) services="$services $package" ;;
    docker.io) services="$services docker" ;;
    nginx-light) services="$services nginx" ;;
    mariadb-server) services="$services mariadb" ;;
    etcd-server) services="$services etcd" ;;
    esac
done
if [ -n "$services" ] && [ ! -e "$policy" ]; then
    made_policy=1
    printf '#!/bin/sh\nexit 101\n' | $root tee "$policy" >/dev/null
    $root chmod 755 "$policy"
fi

# The lists of a fresh or long unused machine are absent or stale: only then are they fetched.
# shellcheck disable=SC2086 # a list of package names
if ! apt install -y --no-install-recommends $wanted; then
    echo "deps: that did not work with the package lists of this machine: fetching new ones"
    apt update
    apt install -y --no-install-recommends $wanted
fi

if [ -n "$made_policy" ]; then
    for service in $services; do
        $root update-rc.d "$service" disable >/dev/null 2>&1 || true
    done
fi
