# SPDX-License-Identifier: BSD-2-Clause
"""The package of Python in a bare system: use.py CHECK. Nodes: PLAIN_NODES, SECURE_NODES (with TLS)."""
import os
import socket
import ssl
import sys
import threading

import redlock_native

HERE = os.path.dirname(os.path.abspath(__file__))
CA = HERE + "/ca.pem"


def lock(name, nodes, **more):
    with redlock_native.Client(os.environ[nodes].split(","), node_timeout=10, **more) as client:
        with client.lock(name, wait=60) as held:
            held.check()


def lock_securely(name):
    lock(name, "SECURE_NODES", tls_ca_file=CA)


def untrusted():
    with redlock_native.Client(os.environ["SECURE_NODES"].split(","), node_timeout=10) as client:
        try:
            client.acquire("untrusted")
        except redlock_native.NoQuorum as refused:
            # None: two nodes decided before the third was asked.
            reasons = {node.reason for node in refused.report.nodes} - {None}
            assert reasons == {redlock_native.Reason.AUTHORITY}, reasons
        else:
            raise AssertionError("a certificate was trusted that nothing vouches for")


def serve(listener):
    """One connection after the other, with the OpenSSL of Python."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CA, HERE + "/key.pem")
    while True:
        connection, _ = listener.accept()
        with context.wrap_socket(connection, server_side=True) as secure:
            secure.sendall(b"own")


def request_over_own_tls(port):
    context = ssl.create_default_context(cafile=CA)
    with socket.create_connection(("127.0.0.1", port)) as plain:
        with context.wrap_socket(plain, server_hostname="127.0.0.1") as secure:
            assert secure.recv(16) == b"own"


def beside():
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=serve, args=[listener], daemon=True).start()
    port, failed = listener.getsockname()[1], []

    def work(number):
        try:
            for _ in range(3):
                request_over_own_tls(port)
                lock_securely(f"beside-{number % 3}")
        except BaseException as error:  # pylint: disable=broad-exception-caught
            failed.append(error)

    threads = [threading.Thread(target=work, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed


{
    "plain": lambda: lock("plain", "PLAIN_NODES"),
    "secure": lambda: lock_securely("secure"),
    "trusted": lambda: lock("trusted", "SECURE_NODES"),  # the certificates of the system
    "untrusted": untrusted,
    "beside": beside,
}[sys.argv[1]]()
print("held")
