#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""name-server.py ADDRESS: a name server at port 53 of ADDRESS that knows each name as 127.0.0.1, and prints it."""

import socket
import struct
import sys

TYPE_A = 1

sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.bind((sys.argv[1], 53))
print("listening", flush=True)
while True:
    query, client = sock.recvfrom(512)
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1:at + 1 + query[at]].decode())
        at += 1 + query[at]
    question = query[12:at + 5]
    is_a = struct.unpack("!H", query[at + 1:at + 3])[0] == TYPE_A
    print(".".join(labels), flush=True)
    answer = struct.pack("!HHHIH4s", 0xC00C, TYPE_A, 1, 0, 4, socket.inet_aton("127.0.0.1")) if is_a else b""
    # A reply with recursion, of one question and no error.
    sock.sendto(query[:2] + struct.pack("!HHHHH", 0x8180, 1, int(is_a), 0, 0) + question + answer, client)
