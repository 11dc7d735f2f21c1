# SPDX-License-Identifier: BSD-2-Clause
"""What stands between a daemon and a node of it."""
import socket
import threading
import time


class Relay:
    """Before a node: requests wait while they are held, and answers of a slow one take longer than
    the second in which a run may begin."""

    def __init__(self, port):
        self.port, self.is_slow, self.late = port, False, 0
        self.passes = threading.Event()
        self.passes.set()
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.address = '127.0.0.1:%d' % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client = self.listener.accept()[0]
            node = socket.create_connection(('127.0.0.1', self.port))
            for ways in ((client, node, False), (node, client, True)):
                threading.Thread(target=self.carry, args=ways, daemon=True).start()

    def carry(self, source, sink, is_answer):
        try:
            while data := source.recv(65536):
                if not is_answer:
                    self.passes.wait()
                elif self.is_slow:
                    self.late += 1
                    time.sleep(1.2)
                sink.sendall(data)
        except OSError:
            pass
        sink.close()
