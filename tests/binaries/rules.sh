#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# In what ships no rule can be switched off: no binary has the switch, nor the name of a rule. The
# planted build (lab/planted), which the simulator and the tests link, has both.
#
# usage: rules.sh TREE PLANTED_LIBRARY BINARY...
set -eu
tree=$1 planted=$2
shift 2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# rules_of HEADER MINIMUM: with an underscore, since a single word may stand in any sentence. One is the name of a
# reason, too.
status=0
rules_of() {
    sed -n 's/^    X(\([A-Z]*_[A-Z_]*\), .*/\1/p' "$tree/$1" | grep -vx SAME_SERVER >"$tmp/found"
    cat "$tmp/found" >>"$tmp/rules"
    if [ "$(wc -l <"$tmp/found")" -lt "$2" ]; then
        echo "# only $(wc -l <"$tmp/found") rules found in $1"
        status=1
    fi
}
rules_of src/core/rules.h 40
rules_of redlockd/leases/rules.h 20

# The switch, and the rules, that a binary has in its symbols (their strings too) or its data.
switches() {
    grep -a -o -w -e rl_rule_broken -e lease_rule_broken -e rl_planted_script -e planted_break "$1" || true
    grep -a -o -w -F -f "$tmp/rules" "$1" || true
}

switches "$planted" | sort -u >"$tmp/found"
if [ "$(wc -l <"$tmp/found")" -lt 64 ] || ! grep -qx lease_rule_broken "$tmp/found"; then
    echo "# the control fails: the switches were not found in $planted"
    status=1
fi
for binary; do
    switches "$binary" | sort -u >"$tmp/found"
    if [ -s "$tmp/found" ]; then
        echo "# $binary has switches of rules:"
        sed 's/^/#   /' "$tmp/found"
        status=1
    fi
done
[ $status = 0 ] && echo "ok - rules" || echo "not ok - rules"
exit $status
