# SPDX-License-Identifier: BSD-2-Clause
"""An idle daemon whose servers hang: no connection ends, and no lock is wanted, yet readiness,
metrics, status, systemd's line and the log show it, and show when they are back."""
from client import fresh
from daemon import Case, Manager, until


class Silent(Case):
    own_servers = True
    options = None

    def setUp(self):
        self.manager = Manager(self.path(fresh('notify')))
        self.addCleanup(self.manager.socket.close)
        self.daemon = self.start(NOTIFY_SOCKET=self.manager.path)
        self.addCleanup(self.daemon.stop)
        self.node = [f'127.0.0.1:{port}' for port in self.nodes.ports]
        until(self.daemon.is_ready, 'readiness')
        self.until_voting(3)

    def until_voting(self, count):
        until(lambda: self.daemon.status()['quorums'][0]['voting'] == count, f'{count} votes')

    def until_nodes(self, field, *wanted):
        until(lambda: [node[field] for node in self.daemon.client().get('/v1/nodes')['nodes']] == list(wanted),
              f'{field} {wanted}')

    def test_hang(self):
        """Servers that hang, and go on, show everywhere, with one line in the log for each change."""
        self.assertNotRegex(self.daemon.log(), 'node |quorum')
        self.nodes.dev('hang', 1, 2)
        until(lambda: not self.daemon.is_ready(), 'the end of readiness')
        self.until_voting(1)
        self.daemon.until_metric(0, 'node_up', node=self.node[0])
        self.daemon.until_metric(-1, 'quorum_margin', quorum='')
        self.assertGreaterEqual(self.daemon.metric('node_last_answer_seconds', node=self.node[0]), 2)
        self.until_nodes('state', 'down', 'down', 'up')  # also while new connections are tried
        self.until_nodes('reason', 'SILENT', 'SILENT', None)
        self.manager.until_sent(r'STATUS=1/3 nodes vote.*')
        self.daemon.until_logged(f'redlockd: node {self.node[1]} is down: no answer for')
        self.daemon.until_logged('quorum has no majority: 1 of 3 nodes vote, 2 are needed')
        self.nodes.dev('resume', 1, 2)
        until(self.daemon.is_ready, 'readiness')
        self.until_voting(3)
        self.daemon.until_metric(1, 'node_up', node=self.node[0])
        self.manager.until_sent(r'STATUS=3/3 nodes vote.*')
        self.daemon.until_logged(f'node {self.node[0]} is up and votes')
        self.daemon.until_logged('quorum has its majority again: [23] of 3 nodes vote, 2 are needed')
        self.assertEqual(self.daemon.log().count('quorum has'), 2)

    def test_restart(self):
        """The log has a server that dies, and for how long it does not vote when it is back."""
        self.nodes.dev('kill', 3)
        self.daemon.until_logged(f'node {self.node[2]} is down: ')
        self.nodes.dev('start', 3)
        self.daemon.until_logged(f'node {self.node[2]} is in quarantine: .*may vote in [0-9]+ s')
