# SPDX-License-Identifier: BSD-3-Clause
"""Frames for tests, built from the standards and from nothing of Verbline's, so that an error made twice is not made here too."""

import ipaddress
import struct
import zlib

ETHERTYPE_ARP = 0x0806
ETHERTYPE_IPV4 = 0x0800
ETHERTYPE_SOFT_IB = 0x88B5
UD_SEND_ONLY = 0x64


def address(text):
    return ipaddress.IPv4Address(text).packed


def mac(text):
    return bytes.fromhex(text.replace(":", ""))


def checksum(data):
    """RFC 1071."""
    total = sum(struct.unpack(f"!{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ethernet(destination, source, ethertype, payload):
    return destination + source + struct.pack("!H", ethertype) + payload


def icmp_echo():
    body = struct.pack("!BBHHH", 8, 0, 0, 77, 1) + b"hostile?" * 4
    return body[:2] + struct.pack("!H", checksum(body)) + body[4:]


def ipv4(source, destination, payload, version=4, words=5, length=None, ttl=64, protocol=1, sum_error=0):
    """RFC 791; the last arguments tell lies."""
    length = 20 + len(payload) if length is None else length
    fields = (version << 4 | words, 0, length, 1, 0, ttl, protocol, 0, address(source), address(destination))
    header = struct.pack("!BBHHHBBH4s4s", *fields)
    return header[:10] + struct.pack("!H", checksum(header) ^ sum_error) + header[12:] + payload


def arp(operation, sender, sender_ip, target, target_ip, hardware_type):
    """RFC 826; hardware type 1 has addresses of 6 bytes, 32 of 20 (RFC 4391, 9.1)."""
    head = struct.pack("!HHBBH", hardware_type, ETHERTYPE_IPV4, len(sender), 4, operation)
    return head + sender + address(sender_ip) + target + address(target_ip)


def ipoib(ethertype, payload):
    """RFC 4391, 6."""
    return struct.pack("!HH", ethertype, 0) + payload


def crc16(data):
    """VCRC: x^16 + x^12 + x^3 + x + 1, bytes from their least significant bit (IBTA volume 1, 7.8.2)."""
    state = 0xFFFF
    for byte in data:
        state ^= byte
        for _ in range(8):
            state = state >> 1 ^ (0xD008 if state & 1 else 0)
    return ~state & 0xFFFF


def icrc(packet):
    """Over a local packet: VL and the BTH's byte 4 count as ones (IBTA volume 1, 7.8.1)."""
    masked = bytearray(packet)
    masked[0] |= 0xF0
    masked[8 + 4] = 0xFF
    return zlib.crc32(masked)


def ud(slid, dlid, qpn, payload, pkey=0xFFFF, qkey=0x0B1B, opcode=UD_SEND_ONLY, source_qpn=0x123, **lies):
    """A UD SEND behind a local route header (IBTA volume 1, 7.7, 9.2, 9.3.4). Lies: lnh, words, version, bth_version, icrc, vcrc."""
    pad = -len(payload) % 4
    transport = struct.pack("!BBHIIII", opcode, pad << 4 | lies.get("bth_version", 0), pkey, qpn, 0, qkey, source_qpn) + payload + b"\0" * pad
    words = lies.get("words", (8 + len(transport) + 4) // 4)
    lrh = struct.pack("!BBHHH", lies.get("version", 0), lies.get("lnh", 2), dlid, words, slid)
    packet = lrh + transport
    packet += struct.pack("<I", icrc(packet) ^ lies.get("icrc", 0))
    return packet + struct.pack("<H", crc16(packet) ^ lies.get("vcrc", 0))


def roce_v2(source, destination, qpn, payload, qkey=0x80010000, source_qpn=1, opcode=UD_SEND_ONLY):
    """A UD SEND in IPv4 and UDP (IBTA volume 1, annex A17). The ICRC covers it as it leaves, with ones for what may change on the way."""
    pad = -len(payload) % 4
    transport = struct.pack("!BBHIIII", opcode, pad << 4, 0xFFFF, qpn, 0, qkey, source_qpn) + payload + b"\0" * pad
    udp = struct.pack("!HHHH", 0xC000, 4791, 8 + len(transport) + 4, 0)
    packet = bytearray(ipv4(source, destination, udp + transport + bytes(4), protocol=17))
    masked = bytearray(packet[:-4])
    masked[1] = masked[8] = masked[10] = masked[11] = masked[26] = masked[27] = masked[28 + 4] = 0xFF
    packet[-4:] = struct.pack("<I", zlib.crc32(b"\xff" * 8 + masked))
    return bytes(packet)


def soft_ib(slid, dlid, packet):
    """The soft fabric's Ethernet frame: addresses made from the LIDs."""
    return ethernet(b"\2\0\0\0" + struct.pack("!H", dlid), b"\2\0\0\0" + struct.pack("!H", slid), ETHERTYPE_SOFT_IB, packet)
