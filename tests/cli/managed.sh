#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What works for a user to whom a hosting service refuses a command: the table of docs/servers.md, cell by cell.
# shellcheck source=tests/cli/lib.bash
. "$(dirname "$0")/lib.bash"
page=$here/../../docs/servers.md
redlockd=$(dirname "$redlock")/redlockd
needs redis-cli curl

# Columns of the table: name, what the user may not do. `hosted`: what services keep to themselves. `all five`: the
# rights that locks can do without, together.
columns() {
    cat <<'LIST'
nothing|
INFO|-info
CONFIG|-config
SCRIPT|-script
CLIENT|-client
PUBLISH|-publish
SUBSCRIBE|-subscribe
EVAL|-eval -evalsha
hosted|-config -acl -debug -save -bgsave -bgrewriteaof -replicaof -slaveof -psync -sync -shutdown -migrate -module -cluster -monitor
all five|-info -config -script -client -publish
LIST
}
rows='lock renew wait fair fence shared semaphore strict status doctor init redlockd'

# The last attempt of this user, in a word; what it said is kept.
word() { # STATUS
    case $1 in
    0) echo yes ;;
    69) grep -q 'INFO is forbidden' "$said" && echo 'after 62 s' || echo no ;;
    *) echo no ;;
    esac
}

attempt() { # ROW COMMAND...
    local row=$1 status=0
    shift
    said=$results/$row.said
    "$@" >"$said" 2>&1 || status=$?
    word $status >"$results/$row"
}

# One holder, and one waiter that is in the queue when it ends.
hand_over() { # ROW OPTION...
    local row=$1 holder waiter each
    shift
    for each in ${plain_nodes//,/ }; do
        redis-cli -p "${each##*:}" CONFIG RESETSTAT >/dev/null
    done
    "$redlock" run "$@" "$row" -- sh -c "touch $results/held; until [ -e $results/go ]; do sleep 0.02; done" \
        >/dev/null 2>&1 &
    holder=$!
    eventually test -e "$results/held"
    attempt "$row" "$redlock" run -w 60 "$@" "$row" -- true &
    waiter=$!
    REDLOCK_NODES=$plain_nodes eventually queued "$row"
    touch "$results/go"
    wait $waiter $holder
    rm -f "$results/held" "$results/go"
    if [ "$(cat "$results/$row")" = yes ] && { refused publish || refused subscribe; }; then
        echo slower >"$results/$row"
    fi
}

# refused COMMAND: some node did. Then no message wakes the waiter, and it looks about once a second.
refused() {
    local each
    for each in ${plain_nodes//,/ }; do
        redis-cli -p "${each##*:}" INFO commandstats | grep "^cmdstat_$1:" |
            grep -qv 'rejected_calls=0,failed_calls=0' && return 0
    done
    return 1
}

ask_service() {
    local try pid status=0
    said=$results/redlockd.said
    printf 'node-timeout = 3s\nnodes = %s\n' "$REDLOCK_NODES" >"$results/quorum.conf"
    env -u REDLOCK_NODES "$redlockd" --listen "unix:$results/socket" --quorum-config "$results/quorum.conf" \
        2>"$results/redlockd.log" &
    pid=$!
    # It begins to listen, and knows its nodes, in its own time: what it says about them is waited for.
    for ((try = 0; try < 3000; try++)); do
        curl -s -m 10 --unix-socket "$results/socket" -X PUT -H "Lease-Id: 0123456789abcdef0123456789abc-$try" \
            -H 'Content-Type: application/json' -d '{"ttl_ms":5000,"wait_ms":2000}' http://h/v1/locks/service >"$said"
        ! grep -Eq '"fence"|"GUARDED"|"AUTH"|"PROTO"' "$said" || break
        sleep 0.02
    done
    grep -q '"fence"' "$said" || status=1
    ! grep -q 'INFO is forbidden' "$said" || status=69
    word $status >"$results/redlockd"
    kill $pid
    wait $pid 2>/dev/null
}

column() { # RIGHTS...
    local each
    plain_nodes=$REDLOCK_NODES
    channel_rights || { touch "$results/no-channels"; return; }
    for each in ${plain_nodes//,/ }; do
        redis-cli -p "${each##*:}" ACL SETUSER hosted on '>pw' '~*' '&*' +@all "$@" >/dev/null
    done
    export REDLOCK_NODES=
    for each in ${plain_nodes//,/ }; do
        REDLOCK_NODES+=${REDLOCK_NODES:+,}redis://hosted:pw@$each
    done
    # A busy machine may take its time to answer.
    printf 'node-timeout = 3s\n' >"$results/patient.conf"
    export REDLOCK_CONFIG=$results/patient.conf
    attempt lock "$redlock" run -n --no-fence lock -- true
    attempt renew "$redlock" run -n -t 6s renew -- sleep 6.2
    attempt fence "$redlock" run -n fence -- sh -c '[ -n "$REDLOCK_FENCE" ]'
    attempt shared "$redlock" run -n --shared shared -- true
    attempt semaphore "$redlock" run -n --slots 2 semaphore -- true
    attempt strict "$redlock" run -n --guard strict strict -- true
    attempt status "$redlock" status lock
    attempt doctor "$redlock" doctor
    if [ "$(cat "$results/doctor")" = yes ] && grep -q unknown "$results/doctor.said"; then
        grep -q ' 0 unknown' "$results/doctor.said" || echo unknown >"$results/doctor"
    fi
    # Those that could only wait for a minute are not made to.
    if [ "$(cat "$results/lock")" = yes ]; then
        hand_over wait
        hand_over fair --fair
    else
        attempt wait "$redlock" run -w 3 wait -- true
        attempt fair "$redlock" run -w 3 --fair fair -- true
    fi
    [ ! -x "$redlockd" ] || ask_service
    attempt init "$redlock" init -y --max-ttl 59s # another, so that there is something to write
}

if [ "${2:-}" = --column ]; then
    results=$3
    shift 3
    column "$@"
    exit 0
fi

number=0
while IFS='|' read -r name rights; do
    mkdir -p "$tmp/$number"
    # shellcheck disable=SC2086 # words
    timeout 500 "$redlock" dev -c 3 -- bash "$0" "$redlock" --column "$tmp/$number" $rights >"$tmp/$number/dev" 2>&1 &
    number=$((number + 1))
done < <(columns)
wait

for each in "$tmp"/*/no-channels; do
    [ ! -e "$each" ] || skip "$no_channel_rights"
done

# documented ROW NUMBER: the cell of the page.
documented() {
    awk -F'|' -v row="$1" -v column="$(($2 + 3))" \
        '{ name = $2; gsub(/^ +| +$|`/, "", name) } name == row { cell = $column; gsub(/^ +| +$/, "", cell); print cell }' \
        <(sed -n '/<!-- rights: begin -->/,/<!-- rights: end -->/p' "$page")
}

for row in $rows; do
    number=0
    while IFS='|' read -r name _; do
        if [ "$row" != redlockd ] || [ -x "$redlockd" ]; then
            is "$row without $name" "$(cat "$tmp/$number/$row" 2>/dev/null)" "$(documented "$row" $number)"
            [ "$(cat "$tmp/$number/$row" 2>/dev/null)" = "$(documented "$row" $number)" ] ||
                sed 's/^/#   /' "$tmp/$number/$row.said" "$tmp/$number/$row.log" 2>/dev/null
        fi
        number=$((number + 1))
    done < <(columns)
done

# What is refused says what to do.
like 'a lock without INFO' "$(cat "$tmp/1/lock.said")" 'next: allow [+]info for this user'
like 'init without INFO' "$(cat "$tmp/1/init.said")" 'next: allow [+]info for this user'
like 'doctor without INFO' "$(cat "$tmp/1/doctor.said")" 'allow [+]info for this user'
like 'a strict lock without INFO' "$(cat "$tmp/1/strict.said")" 'next: .*(missing right|rights )'
like 'doctor without SUBSCRIBE' "$(cat "$tmp/6/doctor.said")" 'allow [+]subscribe and the channels'
like 'a lock without EVAL' "$(cat "$tmp/7/lock.said")" "no permissions to run the 'eval'"
like '  and it says what to do' "$(cat "$tmp/7/lock.said")" 'next: give this user the missing right on the servers'
like 'doctor without EVAL' "$(cat "$tmp/7/doctor.said")" 'ACL SETUSER hosted [+]eval'

done_testing
