#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# In a Debian that systemd has booted: the service and the jobs run, an upgrade restarts the service without
# refusing a client, and after purge nothing is left.
. /check/lib.bash
cd /check
everything >/tmp/before
install_all() {
    dpkg --force-confdef --force-confold -i "$1"/*.deb >/tmp/dpkg 2>&1 || { cat /tmp/dpkg; fail "dpkg -i $1"; }
}
failed_units() { systemctl list-units --failed --plain --no-legend 'redlock*'; }

install_all now
that 'a service without nodes is neither started nor enabled' \
    [ "$(systemctl is-active redlockd.service redlockd.socket | sort -u) $(systemctl is-enabled redlockd || true)" = 'inactive disabled' ]
that '   and nothing has failed' [ -z "$(failed_units)" ]

systemd-run --quiet --unit=quorum redlock dev -c 3 -- \
    sh -c 'echo "nodes = $REDLOCK_NODES" >/tmp/nodes && mv /tmp/nodes /etc/redlock.conf && exec sleep infinity'
that 'there is a quorum' eventually test -s /etc/redlock.conf
that '   that gives locks' redlock run first -- true
cat >/tmp/lock.py <<'END'
import redlock_native
with redlock_native.Client() as client, client.lock("first", wait=0) as lock:
    lock.check()
END
that '   to Python too' python3 /tmp/lock.py

echo 'allow = uid:0 * acquire,read,break,admin' >>/etc/redlock/redlockd.conf
echo 'allow = uid:65534 * acquire,read' >>/etc/redlock/redlockd.conf
ask() { curl -fsS --max-time 20 --unix-socket /run/redlockd.sock "$@"; }
that 'its administrator enables it' systemctl enable --quiet --now redlockd
that '   and it is ready' eventually ask http://localhost/readyz
pid=$(systemctl show --value -p MainPID redlockd)
owner=$(stat -c %u "/proc/$pid")
that '   as a user that no file knows' test "$owner" != 0 -a -z "$(awk -F: -v u="$owner" '$3 == u' /etc/passwd)"

lease=0123456789abcdef0123456789abcdef url=http://localhost/v1/locks/across
ask -X PUT -H "Lease-Id: $lease" --json '{"ttl_ms":60000}' "$url" >/tmp/granted
grant=$(jq -er .grant /tmp/granted)
that 'a client takes a lock' test -n "$grant"
that 'the command asks the service' redlock run --service unix:/run/redlockd.sock asked -- true

mkdir -p /etc/redlock/jobs
printf '#!/bin/sh\nid -un >>/tmp/ran.$REDLOCK_NAME\n' | tee /etc/redlock/jobs/{report,tick,nobodys} >/dev/null
chmod 755 /etc/redlock/jobs/*
that 'redlock@report runs its job' systemctl start redlock@report
that '   and succeeds a second time' systemctl start redlock@report
that '   without running it again' [ "$(cat /tmp/ran.report)" = root ]

drop_in() { # UNIT
    mkdir -p "/etc/systemd/system/$1.d"
    cat >"/etc/systemd/system/$1.d/override.conf"
    systemctl daemon-reload
}
drop_in redlock@tick.timer <<'END'
[Timer]
OnCalendar=
OnCalendar=*:*:*
AccuracySec=1ms
END
that 'redlock@tick.timer is enabled' systemctl enable --quiet --now redlock@tick.timer
that '   and starts its job' eventually test -s /tmp/ran.tick
starts() { journalctl -q -u redlock@tick.service -o cat | grep -c 'Finished'; }
often() { [ "$(starts)" -ge 4 ]; }
that '   every second' eventually often
that '   which runs once' [ "$(wc -l </tmp/ran.tick)" = 1 ]
that '   and is stopped' systemctl disable --quiet --now redlock@tick.timer

install -o nobody -m 644 /dev/null /tmp/ran.nobodys
drop_in redlock@nobodys.service <<'END'
[Service]
User=nobody
SupplementaryGroups=redlock
Environment=REDLOCK_SERVICE=unix:/run/redlockd.sock
Environment="RUN_OPTIONS=--no-wait --skip-ok --min-hold 1s"
END
that 'a job of another user asks the service' systemctl start redlock@nobodys
that '   and runs as that user' [ "$(cat /tmp/ran.nobodys)" = nobody ]

# Two machines, one scheduler.
for machine in one two; do
    cat >"/etc/systemd/system/scheduler-$machine.service" <<END
[Service]
ExecStart=redlock lead scheduler -- sh -c 'echo $machine >>/tmp/leaders; exec sleep infinity'
KillMode=mixed
Restart=always
RestartSec=5s
END
done
systemctl daemon-reload
systemctl start scheduler-one
that 'a service under a lock runs' eventually grep -qx one /tmp/leaders
systemctl start scheduler-two
that '   on one machine' [ "$(cat /tmp/leaders)" = one ]
systemctl stop scheduler-one
that '   and on the other when that one is stopped' eventually grep -qx two /tmp/leaders
systemctl stop scheduler-two

cat >/tmp/clients <<'END'
while :; do
    curl -sS -o /dev/null -w '%{http_code}\n' --max-time 60 --unix-socket /run/redlockd.sock http://localhost/livez
done >>/tmp/answers 2>>/tmp/refused
END
bash /tmp/clients &
clients=$!
eventually test -s /tmp/answers
install_all next
that 'an upgrade restarts the service' test "$(systemctl show --value -p MainPID redlockd)" != "$pid"
that '   which is ready again' eventually ask http://localhost/readyz
kill $clients
wait $clients || true
that '   and no client was refused meanwhile' test ! -s /tmp/refused -a "$(sort -u /tmp/answers)" = 200
that '   and the lease from before is renewed' \
    ask -o /dev/null -X POST -H "Lease-Id: $lease" -H "Grant: $grant" --json '{"ttl_ms":60000}' "$url"
that '   and released' ask -o /dev/null -X DELETE -H "Lease-Id: $lease" -H "Grant: $grant" "$url"
that '   and the changed configuration file is kept' grep -q '^allow = uid:0' /etc/redlock/redlockd.conf
that '   beside the new one' grep -q 'of the next version' /etc/redlock/redlockd.conf.dpkg-dist
that '   and nothing has failed' [ -z "$(failed_units)" ]

pid=$(systemctl show --value -p MainPID redlockd)
dpkg --remove redlockd >/dev/null
that 'removing the package ends the service' test ! -e "/proc/$pid"
that '   and its socket' test ! -e /run/redlockd.sock
that '   and keeps its configuration' grep -q '^allow = uid:0' /etc/redlock/redlockd.conf
systemctl stop quorum
rm -r /etc/redlock.conf /etc/redlock/jobs /etc/systemd/system/redlock@*.d /etc/systemd/system/scheduler-*
dpkg --purge redlockd redlock python3-redlock-native libredlock-dev libredlock0 >/dev/null
everything >/tmp/after
diff /tmp/before /tmp/after || fail 'purge leaves something'
ok 'purge leaves nothing'
echo '# done'
