#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# redlock-json(7) lists the fields of every JSON answer: those that are there, and no others.
. "$(dirname "$0")/lib.bash" "$@"
needs jq
manual=$here/../../man/redlock-json.7
answers=$tmp/answers

# gather: one answer of every form, a line each, of every subcommand.
cat >"$tmp/gather" <<'END'
export REDLOCK_CONFIG=$1
redlock lock --json -t 50s --fence a
value=$(redlock lock --json -t 50s b c | tee /dev/stderr | jq -r .value)
redlock lock --json -t 50s --slots 2 gpu
redlock lock --json -n a
redlock run --json -n a -- true
redlock extend --json b "$value"
redlock extend --json a 00
redlock unlock --json b "$value"
redlock unlock --json a 00
redlock run --owner me a -- true 2>/dev/null &
waiter=$!
for _ in $(seq 500); do
    redlock status --json a | grep -q '"waiters":1' && break
    read -r -t 0.02 -u 9 _
done
redlock lock --json -n a
redlock status --json a nothing
redlock list --json
redlock watch --json -c 2 a nothing
redlock wait --json nothing none
redlock leader --json a
redlock lead --json -w 1ms a -- true # short: its failure is wanted
redlock fence --json a -- true
redlock wait --json -n a
redlock top --json -c 2 -d 100ms
redlock nodes --json
redlock nodes --json --where a
redlock doctor --json
redlock init --json --yes
redlock bench --json --callers 8 --clients 4 --duration 300ms --one-name -w 1ms # short: its failures are wanted
redlock bench --json --callers 2 --duration 100ms
redlock dev list --json
redlock dev kill 99 --json
redlock version --json
redlock status --json --bogus
redlock break --json --yes gpu
redlock break --json --yes gpu
kill $waiter
wait $waiter
# until_there PATTERN FILE: it is there, or the holder has ended, after a minute at most.
until_there() {
    for _ in $(seq 3000); do
        grep -q "$1" "$2" && return
        kill -0 $holder 2>/dev/null || return
        read -r -t 0.02 -u 9 _
    done
}
rm -f "$2.in"
mkfifo "$2.in"
redlock hold --json -t 6s x y <"$2.in" >"$2.out" &
holder=$!
exec 8>"$2.in"
until_there '"held"' "$2.out"
for k in 1 2; do redlock dev hang $k >/dev/null; done
until_there '"lost"' "$2.out"
exec 8>&-
wait
cat "$2.out"
END
# In quarantine, and with too few nodes.
cat >"$tmp/gather_failures" <<'END'
for sub in 'lock -n x' 'run -n x -- true' 'extend x 00' 'unlock x 00' 'status x' list nodes 'top -c 1' \
    doctor 'init --yes' 'break --yes x' 'bench -c 1' 'hold -n x' 'watch -c 1 x' 'wait -n x'; do
    redlock ${sub%% *} --json ${sub#"${sub%% *}"}
done
END
# What a service has counted.
cat >"$tmp/gather_classes" <<'END'
"$1" --drain 0 --class 'jobs/*' --listen "unix:$2" &
for _ in $(seq 3000); do
    redlock top --by class --service "unix:$2" --json -c 1 && break
    read -r -t 0.02 -u 9 _
done
kill $!
wait
END
unhurried
patient=(env "REDLOCK_CONFIG=$tmp/unhurried") # for commands inside `redlock dev`, which has no configuration
exec 9<> <(:)
{
    timeout 200 "$redlock" dev -c 3 -- bash "$tmp/gather" "$tmp/unhurried" "$tmp/hold" 9<&9 2> >(grep '^{')
    timeout 200 "$redlock" dev -c 1 --quorums 2 -- bash "$tmp/gather" "$tmp/unhurried" "$tmp/hold" 9<&9 2> >(grep '^{')
    timeout 200 "$redlock" dev -c 3 -- "${patient[@]}" bash -c "redlock dev kill 1; redlock dev kill 2; bash '$tmp/gather_failures'"
    timeout 200 "$redlock" dev -c 3 --no-init -- "${patient[@]}" bash -c "redlock lock --guard off x >/dev/null; redlock status --json x; redlock list --json; redlock nodes --json; bash '$tmp/gather_failures'"
    timeout 200 "$redlock" dev -c 1 --quorums 2 -- "${patient[@]}" bash -c "redlock dev kill 1; redlock dev kill 2; bash '$tmp/gather_failures'"
    timeout 200 "$redlock" dev --sentinel -- "${patient[@]}" bash -c "redlock dev list --json; redlock nodes --json; redlock top --json -c 1 -d 100ms"
    timeout 200 "$redlock" dev --cluster -- redlock dev list --json
    timeout 200 "$redlock" dev -c 1 -- bash "$tmp/gather_classes" "$(dirname "$redlock")/redlockd" "$tmp/socket" 9<&9
    "$redlock" dev --json -c 1 >"$tmp/dev" &
    server=$!
    eventually [ -s "$tmp/dev" ]
    kill $server
    wait $server
    cat "$tmp/dev"
} 2>/dev/null | grep '^{' >"$answers"

# documented ITEM: the fields that the manual lists for it, a line each.
documented() {
    awk -v item="$1" '
        /^\.Sh/ { on = $2 == "FIELDS" }
        on && /^\.It / {
            here = 0
            for (i = 2; i <= NF; i++) here = here || $i == item
            if (item == "failure" && /any failure/) here = 1
        }
        on && here && /^\.(Pq )?Li / {
            gsub(/No or Li/, "")
            for (i = 1; i <= NF; i++) if ($i ~ /^[a-z][a-z0-9_]*$/) print $i
        }' "$manual" | sort -u
}

# seen FILTER SUBCOMMAND: the fields of its answers for which FILTER holds.
seen() {
    jq -r "select(.command == \"$2\" and ($1)) | .. | objects | keys[]" "$answers" |
        grep -vx -e ok -e command | sort -u
}

that 'answers are JSON' jq -e . "$answers" >/dev/null
documented failure >"$tmp/failure"
for sub in $("$redlock" --help | sed -n 's/^  \([a-z]*\) .*/\1/p' | grep -vx -e help -e redlock); do
    documented "$sub" | grep -vx ok >"$tmp/documented"
    that "$sub: its answers are looked at" grep -q "\"command\":\"$sub\"" "$answers"
    is '   every field of an answer is in the manual' \
        "$(seen .ok "$sub" | comm -23 - "$tmp/documented" | paste -sd' ')" ''
    is '   every field of a failure is in the manual' \
        "$(seen '.ok | not' "$sub" | comm -23 - <(sort -u "$tmp/documented" "$tmp/failure") | paste -sd' ')" ''
    is '   every field in the manual is in an answer' \
        "$(seen true "$sub" | comm -13 - "$tmp/documented" | paste -sd' ')" ''
done
is 'every field of failures in the manual is in a failure' \
    "$(jq -r 'select(.ok | not) | .. | objects | keys[]' "$answers" | sort -u | comm -13 - "$tmp/failure" | paste -sd' ')" ''
is 'ok in the summary of doctor' "$(documented doctor | grep -x ok)" ok
done_testing
