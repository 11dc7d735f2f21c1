#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `redlock run -w TIME` waits for exactly as long as was said.
. "$(dirname "$0")/lib.bash" "$@"
inside_dev 3 "$@"

"$redlock" lock -t 60s w >/dev/null
# As long as was said: by the best reading, a busy machine only adds.
cat >"$tmp/time" <<'END'
start=${EPOCHREALTIME/./}
"$@"
echo $((${EPOCHREALTIME/./} - start))
END
# took OPTION...: in microseconds; what a program takes to start and to end is in it.
took() {
    bash "$tmp/time" "$redlock" run -q "$@" w -- true
}
at_once=$(for _ in 1 2 3 4 5; do took -n; done | sort -n | head -n 1)
best=999999999
for ((i = 0; i < 10 && best - at_once > 505000; i++)); do
    half=$(took -w 0.5)
    [ "$half" -ge 500000 ] || not_ok '-w 0.5 never ends earlier' "$half us"
    [ "$half" -ge "$best" ] || best=$half
done
within '-w 0.5 waits half a second, and not until the next sign of life' \
    $((best / 1000)) 500 $((at_once / 1000 + 900))
within '-n does not wait' $((at_once / 1000)) 0 2000
done_testing
