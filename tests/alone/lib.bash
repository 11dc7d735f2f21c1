# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Sourced by the tests of the command that measure time.
. "$(dirname "${BASH_SOURCE[0]}")/../cli/lib.bash" "$@"

# stalled_ms: for how long something on this machine has wanted a processor and waited for one, since
# it started, and for how long the machine itself had none. within WHAT MS LOWEST HIGHEST: between, of
# a time that began after the test did; the machine may add to it by as much as it stalled meanwhile.
# around WHAT MS LOWEST HIGHEST: the same of the distance to a moment, which gets shorter by that or longer.
stalled_ms() {
    local line='total=0' cpu
    { read -r line </proc/pressure/cpu; } 2>/dev/null
    read -r -a cpu </proc/stat # stolen ticks, of 10 ms
    printf '%s' $((${line##*total=} / 1000 + ${cpu[8]:-0} * 10))
}
stalled_before=$(stalled_ms)
within() {
    between "$1" "$2" "$3" $(($4 + $(stalled_ms) - stalled_before))
}
around() {
    local late=$(($(stalled_ms) - stalled_before))
    between "$1" "$2" $(($3 - late)) $(($4 + late))
}
