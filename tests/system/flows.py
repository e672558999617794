#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""UDP flows whose datagrams are numbered.

    flows.py receive ADDRESS PORT EXPECTED [SECONDS]    says `ready`, ends when all have come or nothing has for two seconds, or so
                                                        many, and prints {"received": .., "flows": .., "reordered": ..}
    flows.py send ADDRESS PORT FLOWS EACH               EACH datagrams of every flow, in turns
"""

import json
import socket
import struct
import sys
import time

SO_RCVBUFFORCE = 33  # <asm-generic/socket.h>; this Python has no name for it
PAUSE = 0.01  # between turns: the network is not to be overloaded
NUMBER = struct.Struct("!I")
PAYLOAD = bytes(96)


def family_of(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def receive(address, port, expected, patience=2):
    with socket.socket(family_of(address), socket.SOCK_DGRAM) as server:
        server.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 16 << 20)
        server.bind((address, port))
        print("ready", flush=True)
        server.settimeout(20)
        latest, received, reordered = {}, 0, 0
        while received < expected:
            try:
                datagram, sender = server.recvfrom(2048)
            except TimeoutError:
                break
            server.settimeout(patience)
            (number,) = NUMBER.unpack_from(datagram)
            reordered += number <= latest.get(sender, -1)
            latest[sender] = max(number, latest.get(sender, -1))
            received += 1
    print(json.dumps({"received": received, "flows": len(latest), "reordered": reordered}), flush=True)


def send(address, port, flows, each):
    sockets = [socket.socket(family_of(address), socket.SOCK_DGRAM) for _ in range(flows)]
    for one in sockets:
        one.connect((address, port))
    for number in range(each):
        for one in sockets:
            one.send(NUMBER.pack(number) + PAYLOAD)
        time.sleep(PAUSE)


if __name__ == "__main__":
    {"receive": receive, "send": send}[sys.argv[1]](sys.argv[2], *map(int, sys.argv[3:]))
