# SPDX-License-Identifier: BSD-2-Clause
"""losing_proxy.py SOCKET SERVICE LOG: passes requests on, one per connection, and notes each in LOG.

The first PUT gets no answer, the second one of its own making, the fourth one that comes late. The fifth
DELETE gets no answer.
"""
import socket
import sys
import threading
import time

path, upstream, log = sys.argv[1:]
listener = socket.socket(socket.AF_UNIX)
listener.bind(path)
listener.listen(10)
puts = deletes = 0


def read_request(client):
    request = b''
    while b'\r\n\r\n' not in request:
        request += client.recv(65536)
    head, body = request.split(b'\r\n\r\n', 1)
    fields = dict(line.split(b': ', 1) for line in head.split(b'\r\n')[1:])
    while len(body) < int(fields.get(b'Content-Length', 0)):
        body += client.recv(65536)
    method = head.split(b' ')[0].decode()
    with open(log, 'a') as out:
        print(method, fields[b'Lease-Id'].decode(), time.clock_gettime_ns(time.CLOCK_BOOTTIME), file=out)
    return method, head + b'\r\n\r\n' + body


def hand_on(source, sink):
    """Until one of both is closed."""
    try:
        while data := source.recv(65536):
            sink.sendall(data)
    except OSError:
        pass
    for end in source, sink:
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


while True:
    client, _ = listener.accept()
    method, request = read_request(client)
    server = socket.socket(socket.AF_UNIX)
    server.connect(upstream)
    server.sendall(request)
    puts += method == 'PUT'
    deletes += method == 'DELETE'
    if method == 'PUT' and puts <= 2 or method == 'DELETE' and deletes == 5:
        answer = server.recv(65536)  # it was granted, or is gone
        if puts == 2 and method == 'PUT':
            client.sendall(b'HTTP/1.1 502 Bad Gateway\r\nContent-Length: 3\r\n\r\nno\n')
        client.close()
        server.close()
        continue
    if method == 'PUT' and puts == 4:
        time.sleep(1)
    for source, sink in (client, server), (server, client):
        threading.Thread(target=hand_on, args=(source, sink), daemon=True).start()
