#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Verifies the ICRC of every packet of a pcapng file: RoCE v2 over IPv4 and IPv6, RoCE v1, InfiniBand in ERF records (there the
VCRC as well). Prints a line per kind and `N packets, M bad`; fails if any is bad, or is none of these. Written from the standard
(IBTA volume 1, 7.8.1; annexes A16 and A17) and not from Verbline, so that an error made twice is not made here too."""

import collections
import struct
import sys
import zlib

from frames import crc16

INTERFACE, PACKET = 1, 6  # blocks
ETHERNET, ERF = 1, 197  # link types
ERF_HEADER = 16
LOCAL_LRH = b"\xff" * 8  # stands for the LRH that Ethernet has not


def packets(data):
    """Yields (link type, bytes) of each packet of a little-endian pcapng file."""
    interfaces, at = [], 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == INTERFACE:
            interfaces.append(struct.unpack_from("<H", data, at + 8)[0])
        elif kind == PACKET:
            interface, _, _, captured = struct.unpack_from("<IIII", data, at + 8)
            yield interfaces[interface], data[at + 28 : at + 28 + captured]
        at += length


def mask_ipv6(header):
    """Traffic class, flow label and hop limit change on the way; a GRH looks the same."""
    header[0] |= 0x0F
    header[1:4] = b"\xff" * 3
    header[7] = 0xFF


def good(prefix, packet, bth):
    """Whether the last four bytes are the ICRC of what stands before them, masked but for the BTH."""
    packet[bth + 4] = 0xFF  # FECN, BECN, reserved
    return struct.pack("<I", zlib.crc32(prefix + packet[:-4])) == bytes(packet[-4:])


def over_udp(packet, udp):
    if struct.unpack_from("!H", packet, udp + 2)[0] != 4791:
        return None
    packet[udp + 6 : udp + 8] = b"\xff\xff"
    return good(LOCAL_LRH, packet, udp + 8)


def ethernet(frame):
    """(kind, whether its ICRC is right), of bytes from the Ethernet header; None for the latter: not RoCE."""
    if frame[12:14] == b"\x81\x00":  # an 802.1Q tag
        frame = frame[:12] + frame[16:]
    ethertype, packet = struct.unpack_from("!H", frame, 12)[0], bytearray(frame[14:])
    if ethertype == 0x8915:
        packet = packet[: 40 + struct.unpack_from("!H", packet, 4)[0]]
        mask_ipv6(packet)
        return "RoCE v1", good(LOCAL_LRH, packet, 40)
    if ethertype == 0x86DD and packet[6] == 17:
        packet = packet[: 40 + struct.unpack_from("!H", packet, 4)[0]]
        mask_ipv6(packet)
        return "RoCE v2, IPv6", over_udp(packet, 40)
    if ethertype == 0x0800 and packet[9] == 17:
        words = packet[0] & 15
        packet = packet[: struct.unpack_from("!H", packet, 2)[0]]
        packet[1] = packet[8] = 0xFF  # DSCP and ECN, TTL
        packet[10:12] = b"\xff\xff"
        return "RoCE v2, IPv4", over_udp(packet, words * 4)
    return f"EtherType {ethertype:#06x}", None


def infiniband(packet):
    """The same, of bytes from the LRH."""
    packet, vcrc = bytearray(packet[:-2]), packet[-2:]
    vcrc_good = struct.pack("<H", crc16(packet)) == vcrc
    is_global = packet[1] & 3 == 3
    packet[0] |= 0xF0  # VL
    if is_global:  # routers make a new LRH
        packet[0:8] = LOCAL_LRH
        masked = packet[8:48]
        mask_ipv6(masked)
        packet[8:48] = masked
    return "InfiniBand", good(b"", packet, 48 if is_global else 8) and vcrc_good


def main():
    seen, bad, total = collections.Counter(), 0, 0
    for link_type, packet in packets(open(sys.argv[1], "rb").read()):
        kind, verdict = ethernet(packet) if link_type == ETHERNET else infiniband(packet[ERF_HEADER:])
        seen[kind, {True: "good", False: "BAD", None: "not RoCE"}[verdict]] += 1
        total += 1
        bad += verdict is not True
    for (kind, verdict), count in sorted(seen.items()):
        print(f"{kind}: {count} {verdict}")
    print(f"{total} packets, {bad} bad")
    return 1 if bad or not total else 0


sys.exit(main())
