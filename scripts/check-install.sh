#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# check-install.sh BUILD_DIR
#
# What `make install` puts on a machine is complete: installs into a temporary directory, looks
# at the libraries, and builds a program against them the ways users do: pkg-config with the
# shared and with the static library, and find_package() of CMake.
set -eu

source_dir=$(cd "$(dirname "$0")/.." && pwd)
build_dir=$(cd "$1" && pwd)
stage=$(mktemp -d)
manifest=$build_dir/install_manifest.txt # what `make uninstall` reads: kept as it was
cleanup() {
    rm -f "$manifest"
    [ ! -e "$stage/manifest" ] || mv "$stage/manifest" "$manifest"
    rm -rf "$stage"
}
[ ! -e "$manifest" ] || cp -p "$manifest" "$stage/manifest"
trap cleanup EXIT
trap 'exit 143' HUP INT TERM

fail() {
    echo "check-install: $*" >&2
    exit 1
}

prefix=$(sed -n 's/^CMAKE_INSTALL_PREFIX:PATH=//p' "$build_dir/CMakeCache.txt")
DESTDIR=$stage cmake --install "$build_dir" >/dev/null
root=$stage$prefix

for file in include/redlock.h bin/redlock bin/redlockd share/man/man1/redlock.1 \
    share/man/man1/redlock-run.1 share/man/man1/redlock-dev.1 share/man/man1/redlock-bench.1 \
    share/man/man7/redlock-nodes.7 share/man/man7/redlock-json.7 share/man/man7/redlock-leader.7 \
    share/man/man3/libredlock.3 share/man/man8/redlockd.8 share/man/man5/redlock.conf.5 \
    share/man/man5/redlockd.conf.5 share/redlock/redlockd.conf share/man/man7/redlock-quickstart.7 \
    share/man/man7/redlock-jobs.7 share/man/man7/redlock-service.7 \
    lib/systemd/system/redlock@.service lib/systemd/system/redlock@.timer \
    lib/systemd/system/redlockd.service lib/systemd/system/redlockd.socket lib/sysusers.d/redlockd.conf \
    share/redlock/redlock.conf \
    share/bash-completion/completions/redlock share/zsh/site-functions/_redlock \
    share/fish/vendor_completions.d/redlock.fish \
    share/bash-completion/completions/redlockd share/zsh/site-functions/_redlockd \
    share/fish/vendor_completions.d/redlockd.fish; do
    [ -s "$root/$file" ] || fail "$file is not installed"
done
library=$(find "$root" -name libredlock.so)
[ -n "$library" ] || fail "libredlock.so is not installed"
libdir=$(dirname "$library")

# ---- the libraries -------------------------------------------------------------------------

readelf -d "$library" | grep -q 'SONAME.*\[libredlock\.so\.[0-9]*\]' || fail "no versioned SONAME"
stray=$(nm -D --defined-only "$library" | awk '{print $3}' |
    grep -Ev '^(redlock_[a-z_]+(@@REDLOCK_[0-9]+)?|REDLOCK_[0-9]+(@@REDLOCK_[0-9]+)?)$' || true)
[ -z "$stray" ] || fail "exports more than redlock.h declares: $stray"
declared=$(sed -n 's/^REDLOCK_API .*[ *]\(redlock_[a-z_]*\)(.*/\1/p' "$root/include/redlock.h")
for name in $declared; do
    nm -D --defined-only "$library" | grep -q " $name\\(@@.*\\)\\?\$" || fail "$name is not exported"
    [ "$(cat "$root/share/man/man3/$name.3")" = '.so man3/libredlock.3' ] || fail "man $name: no page"
    grep -qx "\.Fo $name" "$root/share/man/man3/libredlock.3" || fail "man $name: not on its page"
done
# Names that the static library adds to a program are its own too.
stray=$(nm -g --defined-only "$libdir/libredlock.a" | awk 'NF == 3 {print $3}' |
    grep -Ev '^(redlock|rl)_' || true)
[ -z "$stray" ] || fail "the static library defines foreign names: $stray"

# ---- pkg-config ----------------------------------------------------------------------------

PKG_CONFIG_PATH=$libdir/pkgconfig
PKG_CONFIG_SYSROOT_DIR=$stage
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
program=$source_dir/examples/blocking.c

# shellcheck disable=SC2046 # flags are words
cc "$program" $(pkg-config --cflags --libs redlock) -o "$stage/shared"
# shellcheck disable=SC2046
cc "$program" $(pkg-config --cflags redlock) "$libdir/libredlock.a" \
    $(pkg-config --libs-only-l --libs-only-other --static redlock | sed 's/-lredlock//') \
    -o "$stage/static"

# ---- CMake ---------------------------------------------------------------------------------

mkdir "$stage/consumer"
cat >"$stage/consumer/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(consumer C)
find_package(redlock $("$root/bin/redlock" --version | grep -Eo '[0-9]+\.[0-9]+' | head -n 1) REQUIRED)
foreach(kind IN ITEMS redlock redlock-static)
    add_executable(with-\${kind} "$program")
    target_link_libraries(with-\${kind} PRIVATE redlock::\${kind})
endforeach()
END
cmake -S "$stage/consumer" -B "$stage/consumer/build" -DCMAKE_PREFIX_PATH="$root" >/dev/null
cmake --build "$stage/consumer/build" >/dev/null

# ---- do they start? ------------------------------------------------------------------------

# Without nodes the program reports it and ends with 1.
unset REDLOCK_NODES
export REDLOCK_CONFIG=/dev/null
for made in shared static consumer/build/with-redlock consumer/build/with-redlock-static; do
    status=0
    LD_LIBRARY_PATH=$libdir "$stage/$made" 2>"$stage/printed" || status=$?
    [ $status = 1 ] && grep -q '^open: .*no nodes: set REDLOCK_NODES' "$stage/printed" ||
        fail "$made ended with $status: $(cat "$stage/printed")"
done
echo "installed files, exported names, pkg-config and CMake package are good"
