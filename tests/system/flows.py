#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""UDP flows whose datagrams are numbered.

    flows.py receive ADDRESS PORT EXPECTED [SECONDS]    says `ready`, ends when all have come or nothing has for two seconds, or so
                                                        many, and prints {"received": .., "flows": .., "reordered": ..}
    flows.py send ADDRESS PORT FLOWS EACH               EACH datagrams of every flow, in turns
    flows.py flood ADDRESS PORT FLOWS EACH              the same, whether they arrive or not

The receiver answers what `send` sends, which waits for all answers of a turn before the next: no queue on the way has to hold more
than one turn, however busy the machine is.
"""

import contextlib
import json
import socket
import struct
import sys
import time

SO_RCVBUFFORCE = 33  # <asm-generic/socket.h>; this Python has no name for it
PAUSE = 0.01  # between the turns of a flood, seconds
PATIENCE = 1.0  # for the answers to a turn, seconds; what is lost is the receiver's to report
HEADER = struct.Struct("!I?")  # the turn; whether the receiver is to answer
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
            number, answer = HEADER.unpack_from(datagram)
            reordered += number <= latest.get(sender, -1)
            latest[sender] = max(number, latest.get(sender, -1))
            received += 1
            if answer:
                server.sendto(datagram, sender)
    print(json.dumps({"received": received, "flows": len(latest), "reordered": reordered}), flush=True)


def turns(address, port, flows, each, answers):
    """Sends all turns. Yields the sockets and the turn's number after each."""
    sockets = [socket.socket(family_of(address), socket.SOCK_DGRAM) for _ in range(flows)]
    for one in sockets:
        one.connect((address, port))
        one.settimeout(PATIENCE)
    for number in range(each):
        for one in sockets:
            one.send(HEADER.pack(number, answers) + PAYLOAD)
        yield sockets, number


def send(address, port, flows, each):
    for sockets, number in turns(address, port, flows, each, True):
        with contextlib.suppress(TimeoutError):
            for one in sockets:
                while HEADER.unpack_from(one.recv(2048))[0] < number:
                    pass


def flood(address, port, flows, each):
    for _ in turns(address, port, flows, each, False):
        time.sleep(PAUSE)


if __name__ == "__main__":
    {"receive": receive, "send": send, "flood": flood}[sys.argv[1]](sys.argv[2], *map(int, sys.argv[3:]))
