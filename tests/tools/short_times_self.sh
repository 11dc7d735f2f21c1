#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# short_times_self.sh: short_times.sh finds each kind of short time, and passes what is marked.
set -eu
here=$(dirname "$(readlink -f "$0")")
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/tests/alone" "$root/bindings/python/tests" "$root/bindings/node/tests"
cat >"$root/tests/bad.c" <<'EOF'
enum { TTL_MS = 900 };
lock = client_lock(r, "x", 100);
CHECK_OK(redlock_start_acquire(r, "x", 1000, NULL, &lock));
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
"$redlock" lock --ttl 1.5s a
echo 'ttl = 1s'
http PUT /v1/locks/a "$id" -d '{"ttl_ms":300}'
echo 'node-timeout = 50ms'
"$redlock" run -w 200ms a -- true
"$redlock" run --wait=0.5 a -- true
within 'in time' $took 0 1000
EOF
cat >"$root/bindings/python/tests/bad.py" <<'EOF'
with client.lock("a", ttl=0.5):
with client.lock("a", wait=0.5):
client = Client(nodes, node_timeout=0.1)
EOF
cat >"$root/bindings/node/tests/bad.mjs" <<'EOF'
await client.using('a', { ttl: 1_500 }, body);
await client.using('a', { wait: 500 }, body);
const client = new Client({ nodes, nodeTimeout: 100 });
EOF
cat >"$root/tests/good.sh" <<'EOF'
"$redlock" run -t 2s -w 1s a -- true
"$redlock" run -t 1d a -- true
read -r -t 0.05 line
EOF
echo "await client.using('a', { ttl: 30_000, wait: 0 }, body);" >"$root/bindings/node/tests/good.mjs"
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
if [ "$status" != 1 ] || [ "$found" != 27 ] || grep -qE 'good|alone/' "$root/said"; then
    cat "$root/said"
    echo "not ok - 27 short times are found: $found"
    exit 1
fi
rm "$root"/tests/bad.* "$root"/bindings/*/tests/bad.*
"$here/short_times.sh" "$root"
