#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""hostile.py CONFIGURATION: sends one wrong frame after the other, each a question that would be answered were it not wrong.

For each, no answer may come and the counter that names the fault must rise. Before and after, the same question put right is
answered: the wrong ones were heard, and did no harm. Run in the namespace of the interfaces."""

import json
import select
import socket
import subprocess
import sys
import time

import frames

ETH_P_ALL = 3


class Wire:
    """An interface: frames out, frames in."""

    def __init__(self, interface):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self.socket.bind((interface, 0))

    def ask(self, frame, is_answer, patience):
        """Sends; whether an answer comes within `patience` seconds."""
        self.socket.send(frame)
        end = time.monotonic() + patience
        while (left := end - time.monotonic()) > 0:
            if select.select([self.socket], [], [], left)[0]:
                answer, origin = self.socket.recvfrom(65536)
                if origin[2] != socket.PACKET_OUTGOING and is_answer(answer):
                    return True
        return False


class Gateway:
    def __init__(self, settings):
        self.show = [settings["verbline"], "show", settings["gateway"]]

    def counter(self, name):
        rows = json.loads(subprocess.run([*self.show, "counters", "--all", "--json"], capture_output=True, check=True).stdout)
        values = [row["value"] for row in rows if row["name"] == name]
        if not values:
            sys.exit(f"NOT so: there is a counter {name}")
        return sum(values)

    def await_rise(self, name, before):
        """The control thread's counters rise a moment later."""
        end = time.monotonic() + 2
        while time.monotonic() < end:
            if self.counter(name) > before:
                return True
        return False


def expect(good, what):
    if not good:
        sys.exit(f"NOT so: {what}")
    print(f"ok: {what}", flush=True)


def attack(gateway, wire, right, is_answer, wrong):
    """`wrong` is a list of (what, counter, frame)."""
    expect(wire.ask(right, is_answer, 3), "the right question is answered")
    for what, counter, frame in wrong:
        before = gateway.counter(counter)
        expect(not wire.ask(frame, is_answer, 0.1), f"{what}: no answer")
        expect(gateway.await_rise(counter, before), f"{what}: {counter} rises")
    expect(wire.ask(right, is_answer, 3), "the right question is answered again")


def ethernet_side(gateway, settings):
    mine, theirs = frames.mac(settings["lan_mac"]), frames.mac(settings["gateway_mac"])
    me, router = settings["lan_address"], settings["gateway_address"]
    echo = frames.icmp_echo()

    def packet(payload, **lies):
        return frames.ethernet(theirs, mine, frames.ETHERTYPE_IPV4, frames.ipv4(me, router, payload, **lies))

    def raw(destination, ethertype, payload):
        return frames.ethernet(destination, mine, ethertype, payload)

    right = packet(echo)
    def is_answer(frame):
        return frame[12:14] == b"\x08\x00" and frame[23] == 1 and frame[34] == 0

    wrong = [
        ("IP version 6 in an IPv4 frame", "rx_dropped_ip_version", packet(echo, version=6)),
        ("IP header of 4 words", "rx_dropped_ip_header", packet(echo, words=4)),
        ("IP header longer than the packet", "rx_dropped_ip_header", packet(b"", words=15)),
        ("IP packet shorter than it says", "rx_dropped_ip_truncated", packet(echo, length=1400)),
        ("wrong header checksum", "rx_dropped_ip_checksum", packet(echo, sum_error=1)),
        ("martian source", "rx_dropped_martian_source",
         raw(theirs, frames.ETHERTYPE_IPV4, frames.ipv4("127.0.0.1", router, echo))),
        ("another's MAC address", "rx_dropped_not_ours",
         raw(frames.mac("02:00:00:00:00:77"), frames.ETHERTYPE_IPV4, frames.ipv4(me, router, echo))),
        ("unknown EtherType", "rx_dropped_ethertype", raw(theirs, 0x9999, b"x" * 60)),
        ("truncated ARP", "arp_rx_dropped_malformed",
         raw(theirs, frames.ETHERTYPE_ARP, frames.arp(1, mine, me, b"\0" * 6, router, 1)[:20])),
        ("ARP of a broadcast sender", "arp_rx_dropped_malformed",
         raw(theirs, frames.ETHERTYPE_ARP, frames.arp(1, b"\xff" * 6, "10.1.0.77", b"\0" * 6, router, 1))),
        ("ARP request for another", "arp_rx_dropped_not_ours",
         raw(b"\xff" * 6, frames.ETHERTYPE_ARP, frames.arp(1, mine, "10.1.0.78", b"\0" * 6, "10.1.0.79", 1))),
        ("ARP reply nobody asked for", "arp_rx_dropped_unsolicited",
         raw(theirs, frames.ETHERTYPE_ARP, frames.arp(2, mine, "10.1.0.80", theirs, router, 1))),
    ]
    attack(gateway, Wire(settings["lan_interface"]), right, is_answer, wrong)


def infiniband_side(gateway, settings):
    mine, theirs, qpn = settings["lid"], settings["gateway_lid"], int(settings["gateway_qpn"], 16)
    hardware = (0x123).to_bytes(4, "big") + bytes.fromhex(settings["gid"])
    question = frames.arp(1, hardware, "10.2.0.50", b"\0" * 20, settings["gateway_ib_address"], 32)
    payload = frames.ipoib(frames.ETHERTYPE_ARP, question)

    def frame(dlid=theirs, destination=qpn, content=payload, **changes):
        return frames.soft_ib(mine, theirs, frames.ud(mine, dlid, destination, content, **changes))

    def cut(size):
        return frame()[:size]

    right = frame()
    def is_answer(answer):
        return answer[12:14] == b"\x88\xb5" and answer[14:].find(question[:6] + b"\x00\x02") >= 0

    wrong = [
        ("another EtherType on the soft fabric", "rx_dropped_foreign", right[:12] + b"\x08\x00" + right[14:]),
        ("cut inside the LRH", "rx_dropped_truncated", cut(14 + 5)),
        ("cut inside the payload", "rx_dropped_truncated", cut(14 + 60)),
        ("LRH says more than there is", "rx_dropped_truncated", frame(words=400)),
        ("LRH says less than headers take", "rx_dropped_lrh", frame(words=3)),
        ("LRH version 1", "rx_dropped_lrh", frame(version=1)),
        ("raw packet by its LRH", "rx_dropped_lrh", frame(lnh=0)),
        ("wrong ICRC", "rx_dropped_icrc", frame(icrc=1)),
        ("wrong VCRC", "rx_dropped_vcrc", frame(vcrc=1)),
        ("another BTH transport header version", "rx_dropped_bth", frame(bth_version=1)),
        ("an RC SEND", "rx_dropped_opcode", frame(opcode=0x04)),
        ("a UD SEND with immediate", "rx_dropped_opcode", frame(opcode=0x65)),
        ("wrong P_Key", "rx_dropped_pkey", frame(pkey=0x8001)),
        ("wrong Q_Key", "rx_dropped_qkey", frame(qkey=0x0B1C)),
        ("another's LID", "rx_dropped_address", frame(dlid=theirs + 40)),
        ("a QP that is not there", "rx_dropped_qpn", frame(destination=qpn ^ 0x40)),
        ("larger than the link's MTU", "rx_dropped_not_contiguous", frame(content=payload + b"x" * 4000)),
        ("no whole IPoIB header", "rx_dropped_short", frame(content=b"\x08")),
        ("unknown EtherType inside", "rx_dropped_ethertype", frame(content=frames.ipoib(0x9999, b"x" * 40))),
        ("ARP of Ethernet inside", "arp_rx_dropped_malformed",
         frame(content=frames.ipoib(frames.ETHERTYPE_ARP, frames.arp(1, b"\2" * 6, "10.2.0.50", b"\0" * 6,
                                                                    settings["gateway_ib_address"], 1)))),
        ("ARP request for another", "arp_rx_dropped_not_ours",
         frame(content=frames.ipoib(frames.ETHERTYPE_ARP, frames.arp(1, hardware, "10.2.0.51", b"\0" * 20, "10.2.0.52", 32)))),
        ("ARP reply nobody asked for", "arp_rx_dropped_unsolicited",
         frame(content=frames.ipoib(frames.ETHERTYPE_ARP, frames.arp(2, hardware, "10.2.0.53", b"\0" * 20, "10.2.0.1", 32)))),
        ("IPv4 header of 4 words inside", "rx_dropped_ip_header",
         frame(content=frames.ipoib(frames.ETHERTYPE_IPV4, frames.ipv4("10.2.0.50", "10.1.0.2", frames.icmp_echo(), words=4)))),
    ]
    attack(gateway, Wire(settings["ib_interface"]), right, is_answer, wrong)


def main():
    settings = json.loads(open(sys.argv[1], encoding="utf-8").read())
    gateway = Gateway(settings)
    ethernet_side(gateway, settings)
    infiniband_side(gateway, settings)


main()
