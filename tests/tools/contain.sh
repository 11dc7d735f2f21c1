#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# contain.sh CTEST BUILD CONTAIN: every test of the build is started by CONTAIN.
set -eu
"$1" --test-dir "$2" --show-only=json-v1 | awk -v contain="\"$3\"," '
    first && $1 != "[" {
        first = 0
        if ($1 == contain)
            contained++
        else {
            others++
            print "not contained, use redlock_add_test(): " $1
        }
    }
    $1 == "\"command\"" && $3 == "" { first = 1 }
    END {
        print contained + 0 " tests are contained"
        exit others > 0 || contained == 0
    }'
