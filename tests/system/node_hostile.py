#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""node_hostile.py SOCKET PROCESS VERBLINE NODE VICTIM ADDRESS -- COMMAND...: a hostile process on a node. VICTIM is the process id
of a program that has a connection; COMMAND connects anew, and succeeds after each attack and during a flood."""

import json
import struct
import subprocess
import sys
import threading

import frames
from hub_hostile import SLOTS, HubProcess, Lane, check, within

QUEUE_PAIR_BITS, ID_BITS = 14, 22  # of a member: its queue pairs' numbers, its communication ids
GSI, QP0 = 1, 0
REQ, DREQ = 0x10, 0x15
SHARED_TARGET = 12300  # of the node's own numbers
RC_SEND_ONLY, XRC_SEND_ONLY, XRC_ACKNOWLEDGE = 0x04, 0xA4, 0xB1


class Attacker(Lane):
    def __init__(self, path, name):
        super().__init__(path, name)
        self.member = int(self.info["member"])
        self.own_qpn = (self.member << QUEUE_PAIR_BITS) + 2
        self.own_id = (self.member << ID_BITS) + 7

    def datagram(self, qpn, payload=b"hostile!", **fields):
        self.send(frames.ethernet(self.mac, self.mac, frames.ETHERTYPE_IPV4, frames.roce_v2(self.ip, self.ip, qpn, payload, **fields)))

    def message(self, attribute, local, remote, body=b""):
        """A MAD of the connection manager (IBTA volume 1, 12.6)."""
        head = struct.pack("!BBBBHHQHHI", 1, 7, 2, 3, 0, 0, local, attribute, 0, 0)
        self.datagram(GSI, (head + struct.pack("!II", local, remote) + body).ljust(256, b"\0"))


def connection_of(verbline, victim):
    """Its local id, the peer's, and its queue pair's number."""
    shown = subprocess.run([verbline, "show", f"rping-{victim}", "cm", "--json"], capture_output=True, check=True, timeout=20).stdout
    row = next(row for row in json.loads(shown) if row["remote"] not in ("", "0x0"))
    return int(row["local"], 16), int(row["remote"], 16), row["qpn"]


def lies(node, attacker, victim, honest):
    local, remote, qpn = victim
    check(qpn >> QUEUE_PAIR_BITS != attacker.member, "the victim's queue pair is another member's")
    qpn_field = struct.pack("!I", qpn << 8)
    attacks = (
        ("a datagram in the name of another's queue pair", "rx_dropped_foreign_qpn", lambda: attacker.datagram(qpn, source_qpn=qpn)),
        ("a datagram in the name of QP1", "rx_dropped_foreign_qpn", lambda: attacker.datagram(qpn, source_qpn=GSI)),
        ("a datagram for QP0", "rx_dropped_foreign_qpn", lambda: attacker.datagram(QP0, source_qpn=attacker.own_qpn)),
        ("a frame that is not RDMA", "rx_dropped_not_rdma",
         lambda: attacker.send(frames.ethernet(attacker.mac, attacker.mac, frames.ETHERTYPE_IPV4,
                                               frames.ipv4(attacker.ip, attacker.ip, frames.icmp_echo())))),
        ("a request for an XRC target that nobody has", "xrc_dropped_unknown",
         lambda: attacker.datagram(SHARED_TARGET, struct.pack("!I", victim[2]), opcode=XRC_SEND_ONLY)),
        ("an answer in the name of such a target", "xrc_dropped_unknown",
         lambda: attacker.datagram(SHARED_TARGET, opcode=XRC_ACKNOWLEDGE)),
        ("an RC packet for such a target", "xrc_dropped_unknown", lambda: attacker.datagram(SHARED_TARGET, opcode=RC_SEND_ONLY)),
        ("a datagram in the name of another's queue pair for such a target", "rx_dropped_foreign_qpn",
         lambda: attacker.datagram(SHARED_TARGET, source_qpn=qpn)),
        ("a MAD too short", "gsi_dropped_malformed", lambda: attacker.datagram(GSI, b"short MAD")),
        ("a DREQ with the victim's id", "gsi_dropped_foreign_id", lambda: attacker.message(DREQ, local, remote, qpn_field)),
        ("a DREQ with the id of the victim's peer", "gsi_dropped_foreign_id", lambda: attacker.message(DREQ, remote, local, qpn_field)),
    )  # fmt: skip
    for what, counter, attack in attacks:
        before = node.counter(counter)
        attack()
        check(within(5, lambda: node.counter(counter) == before + 1), f"{what} is dropped as {counter}")
    attacker.message(DREQ, attacker.own_id, local, qpn_field)
    check(honest(), "a DREQ of its own id for the victim's connection reaches the victim, which knows another peer: others connect")


def flood(attacker, honest):
    """Requests for a service that nobody has, each with an id of its own, as fast as the ring takes them."""
    over = threading.Event()

    def send():
        turn = 0
        while not over.is_set():
            turn += 1
            attacker.message(REQ, attacker.own_id + turn % 1000, 0, struct.pack("!QQ", 0, 0x0000000001060000 + turn % 9))
            attacker.received()

    thread = threading.Thread(target=send)
    thread.start()
    good = honest()
    over.set()
    thread.join()
    check(good, f"during a flood of {attacker.sent} requests another connects")


def nonsense_in_rings(node, path, honest):
    for what, write in (
        ("a head beyond the ring", lambda memory: struct.pack_into("<H", memory, 6, 3 * SLOTS)),
        ("a buffer outside of its memory", lambda memory: struct.pack_into("<HHIII", memory, 128, 0, 0, 64, 0xFFFF0000, 0)),
        ("a buffer in no region", lambda memory: struct.pack_into("<HHIII", memory, 128, 0, 7, 64, 0, 0)),
    ):  # fmt: skip
        lane = Attacker(path, "nonsense")
        before = node.counter("link_violations")
        write(lane.memory)
        if what != "a head beyond the ring":
            struct.pack_into("<H", lane.memory, 6, 1)
        lane.signal()
        check(within(5, lambda: node.counter("link_violations") == before + 1), f"{what} ends its connection: link_violations")
        check(honest(), "another connects")
        lane.close()


def main():
    split = sys.argv.index("--")
    path, process, verbline, name, victim, address = sys.argv[1:split]
    command = sys.argv[split + 1 :]
    node = HubProcess(path, process, verbline, name)

    def honest():
        return any(subprocess.run(command, capture_output=True, timeout=60).returncode == 0 for _ in range(3))

    check(honest(), "a program connects")
    attacker = Attacker(path, "hostile")
    check(attacker.ip == address and attacker.member != 0, "the attacker is on the port, with a number of its own")
    lies(node, attacker, connection_of(verbline, victim), honest)
    flood(attacker, honest)
    attacker.close()
    nonsense_in_rings(node, path, honest)


if __name__ == "__main__":
    main()
