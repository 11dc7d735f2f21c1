#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# In what ships no rule can be switched off: no binary has the switch, nor the name of a rule. The
# planted build (lab/planted), which the simulator and the tests link, has both.
#
# usage: rules.sh RULES_H PLANTED_LIBRARY BINARY...
set -eu
header=$1 planted=$2
shift 2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# With an underscore: a single word may stand in any sentence. One is the name of a reason, too.
sed -n 's/^    X(\([A-Z]*_[A-Z_]*\), .*/\1/p' "$header" | grep -vx SAME_SERVER >"$tmp/rules"
status=0
if [ "$(wc -l <"$tmp/rules")" -lt 40 ]; then
    echo "# only $(wc -l <"$tmp/rules") rules found in $header"
    status=1
fi

# The switch, and the rules, that a binary has in its symbols (their strings too) or its data.
switches() {
    grep -a -o -w -e rl_rule_broken -e rl_planted_script -e planted_break "$1" || true
    grep -a -o -w -F -f "$tmp/rules" "$1" || true
}

if [ "$(switches "$planted" | sort -u | wc -l)" -lt 43 ]; then
    echo "# the control fails: the switch was not found in $planted"
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
