#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# terminal.sh REDLOCK: the terminal that README.md shows can be recorded, and shows what is typed today.
. "$(dirname "$0")/../cli/lib.bash" "$1"
needs python3 unshare
tree=$here/../..
unshare --user --map-root-user --uts true 2>/dev/null || skip 'user namespaces are not permitted'

# shown FILE: its text, a line for each piece. typed FILE: the commands with their prompts.
shown() { python3 -c 'import sys, xml.etree.ElementTree as t
print(*("".join(e.itertext()) for e in t.parse(sys.argv[1]).iter() if e.tag.endswith("text")), sep="\n")' "$1"; }
typed() { shown "$1" | grep -A1 '@web[12]\$$'; }

try timeout 100 "$tree/scripts/record-terminal.py" "$redlock"
expect 'the terminal can be recorded' 0
cp "$tmp/out" "$tmp/terminal.svg"
text=$(shown "$tmp/terminal.svg")
that 'it says who holds the lock' grep -q 'held by alice@web1:[0-9]* (deploy.sh)' <<<"$text"
that 'it shows the place in line' grep -q '1st in line' <<<"$text"
that 'a majority goes on' grep -qx 'it still works' <<<"$text"
is 'the picture of README.md has the same commands' "$(typed "$tree/docs/terminal.svg")" "$(typed "$tmp/terminal.svg")"
done_testing
