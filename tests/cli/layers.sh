#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The rooms of the command lie in layers: each includes itself and rooms below it, and no room knows
# more of the library than its public header, except that cli/settings uses the library's room that reads
# the configuration, and cli/service what finds the system's CA certificates (io/trust.h).
. "$(dirname "$0")/lib.bash" "$@"
cd "$here/../.." || exit 1

# allowed ROOM: the rooms whose headers its files may include, itself first.
allowed() {
    case $1 in
    cli/ui) echo ui ;;
    cli/system) echo system ui ;;
    cli/settings) echo settings config ui ;;
    cli/report) echo report settings ui ;;
    cli/service) echo service settings system ui io ;;
    cli/lock) echo lock service report settings system ui ;;
    cli/run) echo run lock report system ui ;;
    cli/commands) echo commands run lock service report settings system ui ;;
    cli/dev) echo dev run settings system ui ;;
    cli/bench) echo bench lock report settings system ui ;;
    esac
}

for room in cli/*/; do
    room=${room%/}
    pattern=$(allowed "$room" | tr ' ' '|')
    is "$room includes only rooms below it" \
        "$(grep -rhoE '^#include "[^"]+"' "$room" | sort -u | grep -vE "\"($pattern)/")" ''
done
is 'cli/service knows of io only where the certificates are' \
    "$(grep -rhoE '"io/[^"]+"' cli/service | sort -u)" '"io/trust.h"'
is 'main.c includes no tool and no single command' \
    "$(grep -oE '^#include "[^"]+"' cli/main.c | grep -vE '"(settings|system|ui)/')" ''
done_testing
