# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# The checks of every test in bash: each prints `ok - what` or `not ok - what`, and $failed is 1 once one was not. They
# need a directory $tmp.
failed=0
about=

# intent WHAT: a WHAT that is indented adds to the last that was not; both are printed, so that
# every line of output stands alone.
intent() {
    local more=${1#"${1%%[! ]*}"}
    case $1 in
    ' '*) printf '%s: %s' "$about" "${more#and }" ;;
    *) printf '%s' "$1" ;;
    esac
}

# Each notes WHAT for the indented ones that follow it.
ok() {
    printf 'ok - %s\n' "$(intent "$1")"
    [[ $1 == ' '* ]] || about=$1
}

not_ok() {
    failed=1
    printf 'not ok - %s\n' "$(intent "$1")"
    [[ $1 == ' '* ]] || about=$1
    [ $# -lt 2 ] || printf '%s\n' "$2" | sed 's/^/#   /'
}

# try COMMAND...: runs it; its status, output and errors are in $status, $out and $err.
try() {
    status=0
    "$@" >"$tmp/out" 2>"$tmp/err" || status=$?
    out=$(tr -d '\0' <"$tmp/out")
    err=$(tr -d '\0' <"$tmp/err")
}

seen() {
    printf 'status %s\nstdout: %s\nstderr: %s' "$status" "$out" "$err"
}

# is WHAT ACTUAL EXPECTED
is() {
    if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "got '$2', expected '$3'"; fi
}

# expect WHAT STATUS [PATTERN]: of the last try; PATTERN (extended regex) must be in $err.
expect() {
    if [ "$status" = "$2" ] && { [ $# -lt 3 ] || grep -Eq -- "$3" <<<"$err"; }; then
        ok "$1"
    else
        not_ok "$1" "expected status $2${3:+ and '$3'}; $(seen)"
    fi
}

# that WHAT COMMAND...: it succeeds.
that() {
    local what=$1
    shift
    if "$@"; then ok "$what"; else not_ok "$what" "failed: $*"; fi
}

# between WHAT NUMBER LOWEST HIGHEST
between() {
    if [ "$2" -ge "$3" ] && [ "$2" -le "$4" ]; then ok "$1"; else
        not_ok "$1" "$2 is not between $3 and $4"
    fi
}

# like WHAT TEXT PATTERN, unlike WHAT TEXT PATTERN
like() {
    if grep -Eq -- "$3" <<<"$2"; then ok "$1"; else not_ok "$1" "no '$3' in: $2"; fi
}

unlike() {
    if grep -Eq -- "$3" <<<"$2"; then not_ok "$1" "'$3' is in: $2"; else ok "$1"; fi
}
