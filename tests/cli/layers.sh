#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The rooms of the command lie in layers: each includes itself and rooms below it. No room knows more of
# the library than its public header, the tools of base/ and the sink of io/, which waits for no reader,
# except that cli/settings uses the room that reads the configuration, and cli/service what its connections
# are made of: descriptors to wait on, the look-up of a name, and TLS.
. "$(dirname "$0")/lib.bash" "$@"
cd "$here/../.." || exit 1

# allowed ROOM: the rooms whose headers its files may include, itself first.
allowed() {
    case $1 in
    cli/ui) echo ui base ;;
    cli/system) echo system ui base ;;
    cli/settings) echo settings config ui base ;;
    cli/report) echo report service settings system ui base ;;
    cli/service) echo service settings system ui io base ;;
    cli/lock) echo lock service report settings system ui base ;;
    cli/run) echo run lock report system ui base ;;
    cli/commands) echo commands run lock service report settings system ui base ;;
    cli/dev) echo dev run settings system ui base ;;
    cli/bench) echo bench lock report settings system ui base ;;
    esac
}

for room in cli/*/; do
    room=${room%/}
    pattern=$(allowed "$room" | tr ' ' '|')
    is "$room includes only rooms below it" \
        "$(grep -rhoE '^#include "[^"]+"' "$room" | sort -u | grep -vE "\"(($pattern)/|io/sink\.h\")")" ''
done
is 'cli/service knows of io only what a connection needs' \
    "$(grep -rhoE '"io/[^"]+"' cli/service | sort -u | tr '\n' ' ')" '"io/reactor.h" "io/resolve.h" "io/tls.h" '
is 'main.c includes no tool and no single command' \
    "$(grep -oE '^#include "[^"]+"' cli/main.c | grep -vE '"(settings|system|ui|base)/')" ''
done_testing
