#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""One TCP connection that is never idle, both ways, and whose contents are checked.

    tcp_echo.py serve ADDRESS PORT         sends back what it receives; says `ready`
    tcp_echo.py send ADDRESS PORT FILE [SECONDS]   sends until FILE exists, and receives all of it again; prints `started`, and at
                                           the end how many bytes came back. SECONDS: the pause between blocks of 64 KB"""

import hashlib
import os
import socket
import sys
import time

BLOCK = 65536
LIMIT = 20  # seconds without a byte: the connection is dead


def serve(address, port):
    listener = socket.create_server((address, int(port)))
    print("ready", flush=True)
    peer = listener.accept()[0]
    while block := peer.recv(BLOCK):
        peer.sendall(block)


def send(address, port, stop, pause="0.002"):
    peer = socket.create_connection((address, int(port)), timeout=LIMIT)
    sent, received, total = hashlib.sha256(), hashlib.sha256(), 0
    print("started", flush=True)
    while not os.path.exists(stop):
        block = os.urandom(BLOCK)
        peer.sendall(block)
        sent.update(block)
        left = BLOCK
        while left:
            part = peer.recv(left)
            if not part:
                sys.exit("the connection was closed")
            received.update(part)
            left -= len(part)
        total += BLOCK
        time.sleep(float(pause))
    if sent.digest() != received.digest():
        sys.exit("what came back is not what was sent")
    print(f"{total} bytes, as sent", flush=True)


{"serve": serve, "send": send}[sys.argv[1]](*sys.argv[2:])
