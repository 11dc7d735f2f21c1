#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# uninstall.sh TREE: `make uninstall` removes an installation where it is, and no other.
. "$(dirname "$0")/../cli/lib.bash" /bin/true
needs make
mkdir -p "$tmp/build" "$tmp/here/bin"
touch "$tmp/here/bin/redlock"
echo "$tmp/here/bin/redlock" >"$tmp/build/install_manifest.txt"
uninstall() { try make -s -C "${1:?}" uninstall RELEASE="$tmp/build" PREFIX="$tmp/$2"; }

uninstall "$1" elsewhere
that 'the last installation was not below this PREFIX: make fails' [ "$status" != 0 ]
like '   it says where it was' "$out" "make uninstall PREFIX=$tmp/here$"
that '   and removes nothing' [ -e "$tmp/here/bin/redlock" ]
uninstall "$1" here
expect 'below this PREFIX' 0
that '   it is removed' [ ! -e "$tmp/here/bin/redlock" ]
done_testing
