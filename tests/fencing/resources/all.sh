#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# all.sh REDLOCK [OPTION...]: the tests of all resources one after another, with the options of run.py. Prints
# what went wrong, and the numbers.
here=$(dirname "$(readlink -f "$0")")
redlock=$1 python=/usr/bin/python3 status=0
shift

# play SCRIPT KIND [OPTION...]
play() {
    local script=$1 out
    shift
    out=$(bash "$here/$script" "$redlock" "$python" "$@" 2>&1) || {
        [ $? = 77 ] || status=1
    }
    grep -v '^ok ' <<<"$out"
}

for kind in postgresql postgresql-trigger mariadb; do play databases.sh $kind "$@"; done
for kind in sqlite redis file; do play local.sh $kind "$@"; done
for language in wsgi asgi node go; do
    echo "HTTP: $language"
    play http.sh $language "$@"
done
exit $status
