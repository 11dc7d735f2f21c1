#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A plain `cmake` of the tree, without a preset or a build type, gives hardened binaries; flags that
# a distribution chose itself stay as they are.
#
# What is looked at is the build that BUILD_DIR holds, if a plain `cmake` compiles and links by the
# same commands, and what these commands make otherwise.
#
# usage: hardening.sh SOURCE_DIR COMPILER BUILD_DIR
set -u
source_dir=$1 compiler=$2 build_dir=$3
failed=0
unset CFLAGS CPPFLAGS LDFLAGS CMAKE_BUILD_TYPE CMAKE_GENERATOR CMAKE_BUILD_PARALLEL_LEVEL
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
generator=$(sed -n 's/^CMAKE_GENERATOR:INTERNAL=//p' "$build_dir/CMakeCache.txt")

for tool in readelf nm cmake jq; do
    if ! command -v $tool >/dev/null; then
        echo "# skipped: $tool is not installed"
        exit 77
    fi
done

# that WHAT COMMAND...: it succeeds.
that() {
    local what=$1
    shift
    if "$@" >/dev/null 2>&1; then echo "ok - $what"; else
        failed=1
        echo "not ok - $what"
    fi
}

has() { grep -Eq -- "$2" <<<"$1"; }
lacks() { ! has "$@"; }

# configure DIRECTORY OPTION...
configure() {
    local directory=$1
    shift
    cmake -S "$source_dir" -B "$directory" -G "$generator" -DCMAKE_C_COMPILER="$compiler" \
        "$@" >"$tmp/log" 2>&1 || {
        cat "$tmp/log"
        exit 1
    }
}

# compiles FLAG...: the compiler takes it on this machine.
compiles() {
    echo 'int main(void) { return 0; }' >"$tmp/probe.c"
    "$compiler" -Werror "$@" -o "$tmp/probe" "$tmp/probe.c" 2>/dev/null
}

# commands DIRECTORY: how the library, the command and the service are made there. -Werror may differ:
# with it, a build that exists had no warning.
commands() {
    if [ "$generator" = Ninja ]; then
        # shellcheck disable=SC2086 # a list of names
        ninja -C "$1" -t commands $targets
    else
        jq -r '.[] | select(.file | test("/(src|cli|redlockd)/")) | .command' \
            "$1/compile_commands.json"
        cat "$1"/src/CMakeFiles/redlock_shared.dir/link.txt "$1"/cli/CMakeFiles/redlock.dir/link.txt \
            "$1"/redlockd.dir/CMakeFiles/redlockd.dir/link.txt 2>/dev/null
    fi | sed "s|$1|BUILD|g; s/ -Werror / /"
}

plain=$tmp/plain
configure "$plain"
files='libredlock.so redlock' targets='redlock redlock_shared'
# The service, where what it needs is installed.
if grep -q '/redlockd/main\.c' "$plain/compile_commands.json"; then
    files="$files redlockd" targets="$targets redlockd"
fi
commands=$(cat "$plain/compile_commands.json")
if [ "$(commands "$plain")" = "$(commands "$build_dir")" ] &&
    grep -q -- '-Werror .*/src/core/lock\.c' "$build_dir/compile_commands.json"; then
    echo '# the same commands as in the build that is tested: looking at that'
    plain=$build_dir
else
    # shellcheck disable=SC2086 # lists of names
    cmake --build "$plain" --parallel 2 --target $targets >"$tmp/log" 2>&1 || {
        cat "$tmp/log"
        exit 1
    }
    that 'no warnings' lacks "$(cat "$tmp/log")" 'warning:'
fi
objects=$(find "$plain/src" "$plain/cli" -name '*.o')
for file in $files; do
    symbols=$(nm -D "$plain/$file")
    dynamic=$(readelf -dW "$plain/$file")
    segments=$(readelf -lW "$plain/$file")
    that "$file: stack protector" has "$symbols" ' U __stack_chk_fail'
    that "$file: FORTIFY_SOURCE" has "$symbols" ' U __(snprintf|memcpy)_chk'
    that "$file: RELRO" has "$segments" GNU_RELRO
    that "$file: BIND_NOW" has "$dynamic" 'FLAGS.*NOW'
    that "$file: no executable stack" has "$segments" 'GNU_STACK .* RW +0x'
    that "$file: position independent" has "$(readelf -hW "$plain/$file")" 'Type: +DYN'
    that "$file: no RPATH" lacks "$dynamic" 'R(UN)?PATH'
done
that 'redlock is PIE' has "$(readelf -dW "$plain/redlock")" 'FLAGS_1.*PIE'
if compiles -fstack-clash-protection; then
    that 'stack clash protection' has "$commands" '-fstack-clash-protection .*/src/core/lock\.c'
    that '   in the command too' has "$commands" '-fstack-clash-protection .*/cli/ui/text\.c'
fi
if compiles -O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -include string.h; then
    that 'FORTIFY_SOURCE is level 3' has "$commands" '-D_FORTIFY_SOURCE=3 .*/src/io/tls\.c'
fi

# A linked file has the note only if every object has it, those of the C library included.
if compiles -fcf-protection=full; then
    marked=$(for object in $objects; do readelf -nW "$object" | grep -c 'x86 feature: IBT, SHSTK'; done)
    is_marked() { [ -n "$objects" ] && ! grep -qv '^1$' <<<"$marked"; }
    that 'every object is marked for IBT and SHSTK' is_marked
    if readelf -nW "$tmp/probe" | grep -q 'x86 feature.*IBT, SHSTK'; then
        for file in $files; do
            that "$file: IBT and SHSTK" has "$(readelf -nW "$plain/$file")" 'IBT, SHSTK'
        done
    else
        echo '# the C library of this machine is not built for CET: linked files are not marked'
    fi
else
    echo '# no CET: the compiler has no -fcf-protection=full here'
fi

theirs=$tmp/theirs
configure "$theirs" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DREDLOCK_WERROR=ON \
    -DCMAKE_C_FLAGS='-O2 -D_FORTIFY_SOURCE=2 -fstack-protector-all'
commands=$(cat "$theirs/compile_commands.json")
that 'their FORTIFY_SOURCE stays' lacks "$commands" 'U_FORTIFY_SOURCE|FORTIFY_SOURCE=3'
that 'their stack protector stays' lacks "$commands" 'fstack-protector-strong'
that '   and nothing is defined twice' cmake --build "$theirs" --parallel 2 --target redlock_core
configure "$tmp/debug" -DCMAKE_BUILD_TYPE=Debug
that 'without optimisation there is no FORTIFY_SOURCE to warn of' \
    lacks "$(cat "$tmp/debug/compile_commands.json")" FORTIFY_SOURCE
configure "$tmp/sanitized" -DREDLOCK_SANITIZE=address
that 'nor with a sanitizer' lacks "$(cat "$tmp/sanitized/compile_commands.json")" FORTIFY_SOURCE
exit $failed
