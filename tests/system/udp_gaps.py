#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""How long UDP flows go without an answer.

    udp_gaps.py answer ADDRESS PORT             sends back what it receives; says `ready`
    udp_gaps.py ask ADDRESS PORT FLOWS FILE     a datagram of every flow each 10 ms until FILE exists; says `started` at the first
                                                answers of all, and prints {"sent": .., "lost": .., "gap_ms": ..}: the longest time in
                                                which a flow sent and had no answer"""

import json
import os
import select
import socket
import struct
import sys
import time

INTERVAL = 0.01
PATIENCE = 1.0  # seconds, for one answer more at the end
NUMBER = struct.Struct("!I")


def udp(address):
    """A socket of the address's family."""
    return socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)


def answer(address, port):
    server = udp(address)
    server.bind((address, int(port)))
    print("ready", flush=True)
    while True:
        datagram, sender = server.recvfrom(2048)
        try:
            server.sendto(datagram, sender)
        except OSError:
            pass  # there is no way back now


class Flow:
    def __init__(self, address, port):
        self.socket = udp(address)
        self.socket.setblocking(False)
        self.socket.connect((address, int(port)))
        self.sent, self.answered, self.since, self.gap = 0, 0, None, 0.0

    def ask(self, now):
        if self.since is None:
            self.since = now
        self.sent += 1
        try:
            self.socket.send(NUMBER.pack(self.sent) + bytes(60))
        except OSError:
            pass  # lost as any datagram may be

    def hear(self, now):
        """Of what waits. The time without an answer ends with the first."""
        while True:
            try:
                self.socket.recv(2048)
            except BlockingIOError:
                return
            except OSError:
                continue  # an ICMP error
            self.answered += 1
            self.gap = max(self.gap, now - self.since)
            self.since = now


def ask(address, port, count, stop):
    flows = [Flow(address, port) for _ in range(int(count))]
    started, due = False, time.monotonic()

    def listen(until):
        while (left := until - time.monotonic()) > 0:
            ready, _, _ = select.select([flow.socket for flow in flows], [], [], left)
            now = time.monotonic()
            for flow in flows:
                if flow.socket in ready:
                    flow.hear(now)

    while not os.path.exists(stop):
        now = time.monotonic()
        for flow in flows:
            flow.ask(now)
        if not started and all(flow.answered for flow in flows):
            started = True
            for flow in flows:  # what went before is the network's coming up
                flow.sent, flow.answered, flow.gap, flow.since = 1, 0, 0.0, now
            print("started", flush=True)
        due = max(due + INTERVAL, now)
        listen(due)
    answered, until = 0, time.monotonic() + PATIENCE
    while any(flow.answered < flow.sent for flow in flows):
        if answered != (answered := sum(flow.answered for flow in flows)):
            until = time.monotonic() + PATIENCE
        if time.monotonic() >= until:
            break
        listen(time.monotonic() + INTERVAL)
    print(json.dumps({
        "sent": sum(flow.sent for flow in flows),
        "lost": sum(max(flow.sent - flow.answered, 0) for flow in flows),
        "gap_ms": round(1000 * max(flow.gap for flow in flows)),
    }), flush=True)


{"answer": answer, "ask": ask}[sys.argv[1]](*sys.argv[2:])
