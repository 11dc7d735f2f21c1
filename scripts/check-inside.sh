#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# check-inside.sh FILE: a shared object of a package, with OpenSSL inside, is by itself in any process: it exports nothing
# but its entry point, takes nothing from outside but the C library and its interpreter's interface, and stays
# loaded, as OpenSSL's threads need. Prints the oldest version of glibc that has all it uses, such as 2.34.
set -eu
fail() {
    echo "check-inside: $*" >&2
    exit 1
}
symbols=$(readelf --wide --dyn-syms "$1" | awk '$5 == "GLOBAL" || $5 == "WEAK" { print $7, $8 }')
exported=$(echo "$symbols" | awk '$1 != "UND" { print $2 }' |
    grep -vE '^(napi_register_module_v1|node_api_module_get_api_version_v1|PyInit__native)$') || true
[ -z "$exported" ] || fail "$1 exports" "$exported"
taken=$(echo "$symbols" | awk '$1 == "UND" { print $2 }' |
    grep -vE '@(GLIBC_|GCC_)|^(napi_|uv_|Py|_Py|__gmon_start__$|_ITM_|__cxa_finalize$)') || true
[ -z "$taken" ] || fail "$1 takes from other libraries of the process:" "$taken"
needed=$(readelf --wide --dynamic "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p' |
    grep -vE '^(libc\.so\.6|ld-linux-[a-z0-9_-]+\.so\.[0-9])$') || true
[ -z "$needed" ] || fail "$1 needs" "$needed"
readelf --wide --dynamic "$1" | grep -q 'FLAGS_1.*NODELETE' || fail "$1 can be unloaded: link it with -z nodelete"

versions=$(readelf --wide --version-info "$1" | sed -n 's/.*Name: \([A-Z_]*[0-9A-Z_.]*\) .*/\1/p' | sort -uV)
odd=$(echo "$versions" | grep -vE '^GLIBC_[0-9.]+$') || true
[ -z "$odd" ] || fail "$1 needs of the C library" "$odd"
echo "$versions" | sed -n '$s/GLIBC_//p'
