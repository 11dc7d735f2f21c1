# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Sourced behind tests/cli/lib.bash by tests that run the examples of a document as they are written.
# The rest of the test runs in a network of its own, with six servers, 10.0.0.1 to 10.0.0.6 or redis1
# to redis6, the first of which is at 127.0.0.1, too, and in an empty directory, where every target of
# make writes its name to `ran`.
needs unshare ip mount mountpoint
server=${REDLOCK_SERVER:-$(command -v redis-server || command -v valkey-server)} ||
    skip 'no server is installed'
if [ -z "${REDLOCK_SIX_INSIDE:-}" ]; then
    unshare --map-root-user --net --mount true 2>/dev/null ||
        skip 'network and mount namespaces are not permitted'
    rm -rf "$tmp"
    REDLOCK_SIX_INSIDE=1 exec unshare --map-root-user --net --mount bash "$0" "$@"
fi

cp /etc/hosts "$tmp/hosts"
ip link set lo up || exit 1
for k in 1 2 3 4 5 6; do
    ip address add 10.0.0.$k/32 dev lo || exit 1
    echo "10.0.0.$k redis$k" >>"$tmp/hosts"
    addresses=(10.0.0.$k)
    [ $k != 1 ] || addresses+=(127.0.0.1)
    "$server" --bind "${addresses[@]}" --port 6379 --save '' --dir "$tmp" --protected-mode no >/dev/null &
    servers+=($!)
done
mount --bind "$tmp/hosts" /etc/hosts || exit 1
trap 'kill "${servers[@]}"; wait "${servers[@]}" 2>/dev/null; umount /etc/hosts; umount /usr/local/bin 2>/dev/null; rm -rf "$tmp"' EXIT

# send K WORD...: sends a command to a server; prints the first line back.
send() {
    local fd line k=$1
    shift
    { exec {fd}<>"/dev/tcp/10.0.0.$k/6379"; } 2>/dev/null || return 1
    printf '%s\r\n' "$*" >&"$fd"
    IFS= read -r -t 5 line <&"$fd"
    exec {fd}>&-
    printf '%s' "${line%$'\r'}"
}
answers() { [ "$(send "$1" PING)" = +PONG ]; }
for k in 1 2 3 4 5 6; do eventually answers $k || { not_ok "server $k is up"; exit 1; }; done

# afresh NODES: nothing is on the servers, and those named may vote.
afresh() {
    local k
    for k in 1 2 3 4 5 6; do send $k FLUSHALL >/dev/null; done
    "$redlock" init --yes -q --nodes "$1" >/dev/null || not_ok "redlock init --nodes $1"
}

mkdir -m 700 "$tmp/work" "$tmp/run"
export XDG_RUNTIME_DIR=$tmp/run
cd "$tmp/work" || exit 1
printf '%%: FORCE ; @sleep 0.2; echo make $@ >>ran\nFORCE Makefile: ;\n' >Makefile

# crontab FILE COMMAND...: hands the lines of a crontab to COMMAND as cron does: the rest of each line behind
# its five fields of time to /bin/sh, with the variables of the file and none of this shell. The command is
# where `make install` puts it; the configuration is that of the machine.
crontab() {
    local line variables=()
    mkdir -p "$tmp/bin"
    ln -sf "$redlock" "$tmp/bin/redlock"
    mountpoint -q /usr/local/bin || mount --bind "$tmp/bin" /usr/local/bin || exit 1
    while IFS= read -r line; do
        case $line in
        [A-Z]*=*) variables+=("$line") ;;
        *) "${@:2}" env -i PATH=/usr/bin:/bin HOME="$tmp" SHELL=/bin/sh REDLOCK_CONFIG="$REDLOCK_CONFIG" \
            "${variables[@]}" /bin/sh -c "${line#* * * * * }" ;;
        esac
    done <"$1"
}

# programs FILE: makes the ./NAMEs and the C source that it mentions.
programs() {
    local name
    for name in $(grep -oE '(^|[ "'\''=(])\./[A-Za-z0-9_.-]+' "$1" | grep -oE '[A-Za-z0-9_-][A-Za-z0-9_.-]*$'); do
        [ -e "$name" ] || { printf '#!/bin/sh\necho "%s" >>ran\n' "$name" >"$name"; chmod +x "$name"; }
    done
    for name in $(grep -oE '[A-Za-z0-9_-]+\.c\b' "$1"); do
        [ -z "${source:-}" ] || cp "$source" "$name"
    done
}
