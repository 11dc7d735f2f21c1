#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The recipe of docs/production.md in a Debian that systemd has booted: its files, taken from the page, run
# under the unit that is shipped, with TLS, tokens, two replicas, nginx, HAProxy and Prometheus. No procps here.
. /check/lib.bash
cd /check

# files: every block of the page behind a line <!-- file: PATH -->, written to that path.
files() {
    awk '/^<!-- file: / { path = $3; next }
         path && /^```/ { if (open) { close(path); path = ""; open = 0 } else open = 1; next }
         path && open { if (!(path in made)) { made[path] = 1
                            dir = path; sub("/[^/]*$", "", dir); system("mkdir -p " dir)
                            printf "" > path }
                        print >> path }' production.md
}
dpkg -i now/redlock_*.deb now/redlockd_*.deb >/tmp/dpkg 2>&1 || { cat /tmp/dpkg; fail 'dpkg -i'; }
files
used=$(grep -c '^<!-- file: ' production.md)
that "the page has its files ($used)" test "$used" -ge 8 -a -s /etc/redlock/nodes.conf -a -s /etc/prometheus/prometheus.yml
sed -i 's/10\.0\.0\./127.0.0./g; s/_interval: 15s/_interval: 1s/' \
    /etc/redlock/{nodes,redlockd}.conf /etc/nginx/conf.d/redlockd.conf /etc/haproxy/haproxy.cfg \
    /etc/prometheus/prometheus.yml

mkdir /tmp/ca && cd /tmp/ca
{
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=authority \
        -keyout ca.key -out ca.pem
    # certificate NAME SAN
    certificate() {
        openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$1" \
            -addext "subjectAltName=$2" -keyout "$1.key" -out "$1.csr"
        openssl x509 -req -in "$1.csr" -CA ca.pem -CAkey ca.key -days 30 -copy_extensions copy -out "$1.pem"
    }
    certificate nodes IP:127.0.0.1,IP:127.0.0.2,IP:127.0.0.3
    certificate locks DNS:locks.example.org
} 2>/tmp/openssl.log
cp ca.pem /etc/redlock/nodes-ca.pem
cp locks.pem /etc/redlock/redlockd.pem
install -m 600 locks.key /etc/redlock/redlockd.key
(umask 077 && echo a-password-of-the-nodes >/etc/redlock/nodes-password)
cp ca.pem /etc/nginx/redlockd-ca.pem
cp locks.pem locks.key /etc/nginx/
cp ca.pem /etc/haproxy/redlockd-ca.pem
cat locks.pem locks.key >/etc/haproxy/locks.pem
cp ca.pem /etc/prometheus/redlockd-ca.pem
cd /check

# new_token NAME: $token, and its line in the file. Comments stand before the two.
new_token() {
    redlockd token "$1" | grep -v '^#' >/tmp/new-token
    token=$(head -n 1 /tmp/new-token)
    tail -n 1 /tmp/new-token >>/etc/redlock/tokens
}
new_token web && web=$token
new_token operator && operator=$token
new_token prometheus && echo "$token" >/etc/prometheus/redlockd-token

groupadd --gid 1001 workers
useradd alice && useradd bob && useradd carol
usermod -aG redlock,workers alice
usermod -aG redlock carol

rights=$(sed -n 's/^ACL SETUSER locker //p' production.md)
for k in 1 2 3; do
    mkdir -p /var/tmp/node-$k
    cat >/var/tmp/node-$k/conf <<END
bind 127.0.0.$k
port 0
tls-port 6379
tls-cert-file /tmp/ca/nodes.pem
tls-key-file /tmp/ca/nodes.key
tls-ca-cert-file /tmp/ca/ca.pem
tls-auth-clients no
dir /var/tmp/node-$k
user default off
user locker ${rights/>secret/>a-password-of-the-nodes}
END
    systemd-run --quiet --unit=node-$k redis-server /var/tmp/node-$k/conf
done
on_nodes() { REDLOCK_CONFIG=/etc/redlock/nodes.conf REDLOCK_PASSWORD=$(cat /etc/redlock/nodes-password) redlock "$@"; }
that 'the nodes are initialised as new ones' eventually on_nodes init --yes

status=0
redlockd --config /etc/redlock/redlockd.conf --check >/tmp/checked 2>&1 || status=$?
systemctl daemon-reload
that 'it starts' systemctl enable --quiet --now redlockd.socket redlockd.service
local_ask() { curl -sS --max-time 20 --unix-socket /run/redlockd.sock "$@"; }
that '   and is ready' eventually local_ask -f http://localhost/readyz
that '   and says so to systemd' eventually sh -c 'systemctl status redlockd | grep -q "Status: \"3/3 nodes vote"'
that '--check had nothing to say but what systemd provides later' \
    test "$status $(grep -v 'systemd provides it' /tmp/checked | grep -c warning:)" = '0 0'
that 'the socket is for its group' test "$(stat -c '%G %a' /run/redlockd.sock)" = 'redlock 660'

# put USER NAME: the status of a PUT by that user on the socket.
put() {
    runuser -u "$1" -- curl -s --max-time 20 -o /dev/null -w '%{http_code}' --unix-socket /run/redlockd.sock -X PUT \
        -H "Lease-Id: lease-$(openssl rand -hex 16)" -H 'Content-Type: application/json' -d '{"ttl_ms":5000}' \
        "http://localhost/v1/locks/$2" || true
}
that 'a member of both groups has its rights by the second one' test "$(put alice jobs/a)" = 201
that '   and no others' test "$(put alice other)" = 403
that 'a user outside of the group cannot connect' test "$(put bob jobs/b)" = 000
that 'a member of the socket'\''s group alone may do nothing' test "$(put carol jobs/b)" = 403
that 'the audit log has it' eventually grep -q '"event":"granted".*"jobs/a"' /var/log/redlock/audit.log

# The second replica: the same unit and files at another place.
cp -r /etc/redlock /etc/redlock-b
second='s|/etc/redlock/|/etc/redlock-b/|g; s|redlockd\.service/|redlockd-b.service/|g'
second="$second; s|tls:127.0.0.7|tls:127.0.0.8|; s|127.0.0.1:9402|127.0.0.1:9403|; s|/var/log/redlock/|/var/log/redlock-b/|"
sed -i "$second" /etc/redlock-b/*.conf
sed "$second; s/^\(RuntimeDirectory\|LogsDirectory\|ConfigurationDirectory\)=.*/\1=redlock-b/; /redlockd.socket/d" \
    /lib/systemd/system/redlockd.service >/etc/systemd/system/redlockd-b.service
mkdir /etc/systemd/system/redlockd-b.service.d
sed "$second" /etc/systemd/system/redlockd.service.d/production.conf \
    >/etc/systemd/system/redlockd-b.service.d/production.conf
systemctl daemon-reload
that 'a second replica starts' systemctl start redlockd-b

# ask WHERE METHOD PATH ID [CURL-ARGUMENT...]: over TLS, as locks.example.org at that address; $code and $body.
ask() {
    local where=$1 method=$2 path=$3 id=$4
    shift 4
    code=$(curl -sS --max-time 60 -o /tmp/body -w '%{http_code}' --cacert /tmp/ca/ca.pem \
        --connect-to "locks.example.org::$where" -X "$method" -H "Authorization: Bearer $token" \
        -H "Lease-Id: $id" -H 'Content-Type: application/json' "$@" "https://locks.example.org$path") || true
    body=$(cat /tmp/body)
}
serves() { ask "$1" GET /readyz - && [ "$code" = 200 ]; }
token=$web
that '   and is ready' eventually serves 127.0.0.8:9443
lease=$(openssl rand -hex 16)
ask 127.0.0.7:9443 PUT /v1/locks/web/a "$lease" -d '{"ttl_ms":60000}'
grant=$(jq -r .grant <<<"$body")
that 'a token acquires over TLS' test "$code" = 201
ask 127.0.0.8:9443 POST /v1/locks/web/a "$lease" -H "Grant: $grant" -d '{"ttl_ms":60000}'
that '   and renews at the other replica' test "$code" = 200

token=of-nobody
ask 127.0.0.7:9443 PUT /v1/locks/web/b "$(openssl rand -hex 16)" -d '{}'
that 'a token that is not in the file is refused' test "$code" = 401
new_token web
that 'a reload needs no procps' test ! -e /bin/kill -a ! -e /usr/bin/kill
that '   and succeeds' systemctl reload redlockd
reloaded() { ask 127.0.0.7:9443 GET /v1/locks/web/a - && [ "$code" = 200 ]; }
that '   and knows the new token' eventually reloaded
token=$web
that '   beside the old one' reloaded
systemctl restart redlockd
ask 127.0.0.8:9443 POST /v1/locks/web/a "$lease" -H "Grant: $grant" -d '{"ttl_ms":60000}'
that 'a lease outlives the restart of a replica' test "$code" = 200
that '   which comes back' eventually serves 127.0.0.7:9443
that 'logrotate moves the audit log' logrotate --force /etc/logrotate.d/redlockd
put alice jobs/c >/dev/null
that '   and the next line is in a new one' eventually grep -q '"jobs/c"' /var/log/redlock/audit.log

through() { # NAME
    local id
    id=$(openssl rand -hex 16)
    that "$1 serves" eventually serves 127.0.0.1:443
    ask 127.0.0.1:443 PUT "/v1/locks/web/$1" "$id" -d '{"ttl_ms":30000}'
    that '   it carries a PUT over TLS' test "$code" = 201
    ask 127.0.0.1:443 DELETE "/v1/locks/web/$1" "$id"
    that '   and a DELETE' test "$code" = 204
    ask 127.0.0.1:443 PUT "/v1/locks/web/$1" "$id-stream" -H 'Accept: text/event-stream' -d '{}'
    that '   and no stream' test "$code" = 400
}
token=$web
rm -f /etc/nginx/sites-enabled/default
systemd-run --quiet --unit=front-nginx nginx -g 'daemon off;'
through nginx
systemctl stop front-nginx
systemd-run --quiet --unit=front-haproxy haproxy -db -f /etc/haproxy/haproxy.cfg
through haproxy
systemctl stop redlockd-b
renews() { ask 127.0.0.1:443 POST /v1/locks/web/a "$lease" -H "Grant: $grant" -d '{"ttl_ms":60000}' && [ "$code" = 200 ]; }
that '   and serves without a replica that was stopped' eventually renews
systemctl stop front-haproxy
systemctl start redlockd-b

plainly() { curl -s --max-time 20 -o /dev/null -w '%{http_code}' -H "Host: $1" -H "Authorization: Bearer $web" http://127.0.0.1:9402/v1/locks/web/a; }
that 'a proxy of this host uses the loopback port under the name of the service' test "$(plainly locks.example.org)" = 200
that '   and under no other' test "$(plainly elsewhere.example.org)" = 400

that 'promtool finds nothing wrong' promtool check config /etc/prometheus/prometheus.yml
systemd-run --quiet --unit=watcher prometheus --config.file=/etc/prometheus/prometheus.yml \
    --storage.tsdb.path=/var/tmp/prometheus --web.listen-address=127.0.0.1:9090
query() { curl -s --max-time 20 -G http://127.0.0.1:9090/api/v1/query --data-urlencode "query=$1" | jq -r '.data.result | length'; }
both_up() { [ "$(query 'up{job="redlockd"} == 1')" = 2 ]; }
that 'Prometheus scrapes both replicas' eventually both_up
that '   and sees that one node more than needed votes' eventually sh -c \
    'curl -s http://127.0.0.1:9090/api/v1/query?query=redlockd_quorum_margin | jq -e ".data.result | length == 2 and all(.value[1] == \"1\")"'
alert() { curl -s http://127.0.0.1:9090/api/v1/alerts | jq -e --arg name "$1" 'any(.data.alerts[]; .labels.alertname == $name)'; }
that '   and no alert' test "$(curl -s http://127.0.0.1:9090/api/v1/alerts | jq '.data.alerts | length')" = 0
systemctl kill --signal=STOP node-3
that 'a node that hangs is noticed by replicas that nothing is asked of' eventually alert RedlockdNoMargin
systemctl kill --signal=STOP node-2
that '   and so is the loss of the majority' eventually alert RedlockdNoQuorum
that '   which the journal has too' eventually sh -c 'journalctl -q -u redlockd -o cat | grep -q "127.0.0.3:6379"'
systemctl kill --signal=CONT node-2
systemctl kill --signal=CONT node-3
that '   and the end of it' eventually sh -c 'curl -sf --unix-socket /run/redlockd.sock http://localhost/readyz'
local_ask http://localhost/metrics >/tmp/metrics
for name in RedlockdNoQuorum RedlockdDown RedlockdNoMargin RedlockdNodeSilent RedlockdLocksLost RedlockdUnreleased \
    RedlockdAuditIncomplete; do
    metrics=$(sed -n "/alert: $name\$/,/expr:/s/.*expr: //p" /etc/prometheus/redlockd.rules.yml | grep -o 'redlockd_[a-z_]*' || true)
    for metric in $metrics; do
        that "$name: $metric is there" grep -q "^# TYPE $metric " /tmp/metrics
    done
done

echo 'alow = uid:0 * admin' >>/etc/redlock/redlockd.conf
that 'a reload with a mistake changes nothing' systemctl reload redlockd
that '   as clients see' local_ask -fo /dev/null http://localhost/readyz
that '   and the journal says it' eventually sh -c 'journalctl -q -u redlockd -o cat | grep -q "redlockd.conf:.*alow"'
systemctl stop redlockd.socket
systemctl restart redlockd 2>/dev/null || true
failed() { systemctl is-failed --quiet redlockd; }
that 'a start with a mistake fails' eventually failed
that '   once, not five times' test "$(systemctl show --value -p NRestarts redlockd)" = 0
echo '# done'
