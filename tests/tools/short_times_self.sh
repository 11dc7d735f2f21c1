#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# short_times_self.sh: short_times.sh finds each kind of short time, and passes what is marked.
set -eu
here=$(dirname "$(readlink -f "$0")")
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/tests/alone" "$root/bindings/python/tests"
cat >"$root/tests/bad.c" <<'EOF'
enum { TTL_MS = 900 };
lock = client_lock(r, "x", 100);
o.node_timeout_ms = 50;
r = client_open_hasty(&c, 0, 150);
redlock_request q = {.size = sizeof q, .wait_ms = 300};
CHECK_BETWEEN(0, 500, now_ms() - start_ms);
CHECK(now_ms() - start_ms < 2000);
CHECK(wait_within(is_done, &w, 500));
CHECK_BETWEEN(0, SLACK_MS, took_ms);
fd = stream_open(&one, lease_stream_request(ID_A, NULL, "{\"ttl_ms\":300}"));
fd = stream_open(&one, lease_stream_request(ID_A, NULL, "{\"wait_ms\":300}"));
EOF
cat >"$root/tests/bad.sh" <<'EOF'
"$redlock" run -t 500ms a -- true
"$redlock" lock -t 1s a
http PUT /v1/locks/a "$id" -d '{"ttl_ms":300}'
echo 'node-timeout = 50ms'
"$redlock" run -w 200ms a -- true
within 'in time' $took 0 1000
EOF
echo 'with client.lock("a", ttl=0.5):' >"$root/bindings/python/tests/bad.py"
cat >"$root/tests/good.c" <<'EOF'
enum { TTL_MS = 20000, ROUNDS = 9 };
lock = client_lock_on(r, &c, 5, "x", 2000);
CHECK_ERR(REDLOCK_INVAL, redlock_acquire(r, "x", 1000, &q, &lock));
CHECK_BETWEEN(0, SOON_MS, now_ms() - start_ms);
enum { LOAD_TTL_MS = 500 }; /* short: attempts may fail */
EOF
cp "$root/tests/bad.c" "$root/tests/alone/"
status=0
"$here/short_times.sh" "$root" >"$root/said" || status=$?
found=$(grep -c '/bad[.]' "$root/said" || :)
if [ "$status" != 1 ] || [ "$found" != 18 ] || grep -qE 'good|alone/' "$root/said"; then
    cat "$root/said"
    echo "not ok - 18 short times are found: $found"
    exit 1
fi
rm "$root"/tests/bad.* "$root"/bindings/python/tests/bad.py
"$here/short_times.sh" "$root"
