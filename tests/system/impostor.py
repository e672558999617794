#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Serves Unix sockets where somebody else's are looked for, as another user: impostor.py UID PATH...

Makes the directories of the paths if they are not there, listens at each path, prints "ready", and then for every client its user
and how many bytes it sent."""

import os
import selectors
import socket
import struct
import sys


def listen(path):
    os.makedirs(os.path.dirname(path), mode=0o777, exist_ok=True)
    server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    server.bind(path)
    server.listen(8)
    return server


def meet(path, server):
    client, _ = server.accept()
    credentials = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    client.settimeout(5)
    try:
        size = len(client.recv(4096))
    except OSError:
        size = 0
    print(f"{path}: a client of user {struct.unpack('3i', credentials)[1]} sent {size} bytes", flush=True)


def main():
    user = int(sys.argv[1])
    os.setgid(user)
    os.setuid(user)
    os.umask(0)
    waiting = selectors.DefaultSelector()
    for path in sys.argv[2:]:
        waiting.register(listen(path), selectors.EVENT_READ, path)
    print("ready", flush=True)
    while True:
        for key, _ in waiting.select():
            meet(key.data, key.fileobj)


main()
