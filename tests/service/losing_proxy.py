# SPDX-License-Identifier: BSD-2-Clause
"""losing_proxy.py SOCKET SERVICE LOG: passes requests on, one per connection, and notes each in LOG.

The first PUT gets no answer, the second one of its own making, the fourth one that comes late. The fifth
DELETE gets no answer.
"""
import socket
import sys
import time

path, upstream, log = sys.argv[1:]
listener = socket.socket(socket.AF_UNIX)
listener.bind(path)
listener.listen(10)
puts = deletes = 0
while True:
    client, _ = listener.accept()
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
    server = socket.socket(socket.AF_UNIX)
    server.connect(upstream)
    server.sendall(head + b'\r\n\r\n' + body)
    answer = b''
    while (part := server.recv(65536)):
        answer += part
    puts += method == 'PUT'
    deletes += method == 'DELETE'
    lost = method == 'PUT' and puts == 1 or method == 'DELETE' and deletes == 5
    if method == 'PUT' and puts == 2:
        answer = b'HTTP/1.1 502 Bad Gateway\r\nContent-Length: 3\r\n\r\nno\n'
    if method == 'PUT' and puts == 4:
        time.sleep(1)
    if not lost:
        client.sendall(answer)
    client.close()
    server.close()
