#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# In a Debian that has nothing but apt: install all packages, run what they brought, upgrade, purge.
. /check/lib.bash
cd /check
apt-get -q update >/dev/null
everything >/tmp/before

apt-get -qy install --no-install-recommends ./now/*.deb >/tmp/apt 2>&1 || { cat /tmp/apt; fail 'install'; }
ok 'the packages and what they need are installed'
unlike_root=$(find /usr/bin/redlock* /etc/redlock ! -user root)
that 'all of it belongs to root' [ -z "$unlike_root" ]
that 'the command runs' redlock --version
that 'the daemon runs' redlockd --version
that 'Python has the module' python3 -c 'import redlock_native; print(redlock_native.__version__)'
status=0
redlockd --config /etc/redlock/redlockd.conf --check 2>/tmp/printed || status=$?
that 'its configuration misses nothing but the nodes' grep -q 'no nodes' /tmp/printed
that '   and that is an error' [ $status != 0 ]
echo 'nodes = 127.0.0.1:1, 127.0.0.1:2, 127.0.0.1:3' >/etc/redlock.conf
that 'with nodes it is good' redlockd --config /etc/redlock/redlockd.conf --check
rm /etc/redlock.conf

apt-get -qy install --no-install-recommends ./next/*.deb >/tmp/apt 2>&1 || { cat /tmp/apt; fail 'upgrade'; }
that 'an upgrade replaces a configuration file that was left alone' \
    grep -q 'of the next version' /etc/redlock/redlockd.conf
that '   and leaves no other' [ "$(ls /etc/redlock)" = redlockd.conf ]

apt-get -qy purge --autoremove redlock redlockd libredlock0 libredlock-dev python3-redlock-native >/tmp/apt 2>&1 ||
    { cat /tmp/apt; fail 'purge'; }
everything >/tmp/after
diff /tmp/before /tmp/after || fail 'purge leaves something'
ok 'purge leaves nothing'
