#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# intents.sh FOLDER...: the intent of every CASE in C, and of every test of the service in Python, is a
# sentence that a reader of a failing line understands without the cases around it.
set -eu
find "$@" \( -name '*.c' -o -path '*/service/test_*.py' \) -exec awk '
    function complain(why) {
        print FILENAME ": " why ": " found
        bad++
    }
    function check(intent) {
        seen++
        if (length(intent) > 88)
            complain("does not fit into a line")
        if (intent ~ /^(The same|And|But|So|Also|It|Its|They|Who) /)
            complain("begins in the middle")
        if (tolower(intent) ~ /(nobody|somebody|anybody|everybody|whoever)/)
            complain("has a subject that is not in the program")
        if (intent !~ /\.$/)
            complain("is not a sentence")
        if (intent in user)
            complain("says what " user[intent] " says")
        user[intent] = FILENAME
    }
    /^CASE(_ON)?\(/ {
        inside = 1
        found = ""
        # redlock_test() in CMake finds the names of the cases there.
        if ($0 !~ /^CASE(_ON)?\([a-z0-9_]+,/) {
            found = "CASE in line " FNR
            complain("has its name on another line")
            found = ""
        }
    }
    inside { found = found $0 }
    inside && /\)$/ {
        inside = 0
        text = found
        gsub(/" *"/, "", text)
        sub(/^[^"]*"/, "", text)
        sub(/"(, *[.].*)?\)$/, "", text) # the options of CASE_ON() stand behind it
        gsub(/\\"/, "\"", text)
        check(text)
    }
    test {
        found = test
        if (!/^ *""".*"""$/)
            complain("has no sentence in one line below it")
        gsub(/^ *"""|"""$/, "")
        check(found = $0)
    }
    { test = "" }
    FILENAME ~ /[.]py$/ && /^ +def test_/ { test = $2 }
    END {
        print seen + 0 " intents"
        exit bad > 0 || seen == 0
    }' {} +
