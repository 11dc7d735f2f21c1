#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# secrets.sh [PASSWORD...] | kubectl apply -f -
# Prints the two Secrets of redlock.yaml with the password of the Valkeys: the clients use the first, and the Valkeys accept
# all of them. Passwords are read from standard input, a line each, where none is given: arguments are seen by others on
# this machine. docs/containers.md has how to change it while locks are held.
set -eu
if [ $# = 0 ]; then
    while IFS= read -r line; do
        set -- "$@" "$line"
    done
fi
[ $# -gt 0 ] && [ -n "$1" ] || { echo 'secrets.sh: no password' >&2; exit 64; }

digests=
for password; do
    digests="$digests #$(printf %s "$password" | sha256sum | cut -d ' ' -f 1)"
done
# As redlock-nodes(7) has them, and +scan for lists.
rights='resetkeys resetchannels -@all ~redlock* &redlock* +set +get +getrange +pttl +pexpire +pexpireat +del +exists +type +hget +hmget +hset +hsetnx +hincrby +hdel +hlen +hgetall +hexists +zadd +zrem +zrank +zcard +zcount +zscore +zrange +zrevrange +zrangebyscore +zremrangebyscore +publish +subscribe +eval +evalsha +ping +info +time +client|setname +scan'

cat <<END
apiVersion: v1
kind: Secret
metadata: {name: valkey-password, namespace: redlock}
type: Opaque
data:
  password: $(printf %s "$1" | base64 | tr -d '\n')
---
apiVersion: v1
kind: Secret
metadata: {name: valkey-users, namespace: redlock}
type: Opaque
stringData:
  users.acl: |
    user default off
    user locker on$digests $rights
END
