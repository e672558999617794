#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Which of several servers of one address UDP flows arrive at.

    anycast.py serve ADDRESS PORT NAME     says `ready`, and answers every datagram by its name until it is ended
    anycast.py ask ADDRESS PORT FLOWS      asks by as many flows, three times each, and prints how many were answered by whom:
                                           {"lan": .., "ib-a": .., "nobody": .., "moved": ..}; `moved`: by several
"""

import collections
import json
import socket
import sys

QUESTIONS = 3
PATIENCE = 1.0  # seconds; the first packets wait until a neighbour is resolved


def serve(address, port, name):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind((address, int(port)))
        print("ready", flush=True)
        while True:
            server.sendto(name.encode(), server.recvfrom(64)[1])


def answer_to(flow):
    flow.send(b"?")
    try:
        return flow.recv(64).decode()
    except (TimeoutError, ConnectionRefusedError):
        return "nobody"


def ask(address, port, flows):
    counts = collections.Counter()
    for _ in range(int(flows)):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as flow:
            flow.settimeout(PATIENCE)
            flow.connect((address, int(port)))
            names = {answer_to(flow) for _ in range(QUESTIONS)}
            counts[names.pop() if len(names) == 1 else "moved"] += 1
    print(json.dumps(counts))


if __name__ == "__main__":
    {"serve": serve, "ask": ask}[sys.argv[1]](*sys.argv[2:])
