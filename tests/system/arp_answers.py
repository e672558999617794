#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""arp_answers.py INTERFACE OWN-ADDRESS ADDRESS: asks for the address by ARP, ten times, and prints the MAC addresses that answer."""

import socket
import struct
import sys
import time

TRIES, PAUSE = 10, 0.1  # seconds
ETHER_TYPE = 0x0806
REQUEST, REPLY = 1, 2


def message(operation, mac, address, subject):
    return struct.pack("!HHBBH6s4s6s4s", 1, 0x0800, 6, 4, operation, mac, socket.inet_aton(address), bytes(6), socket.inet_aton(subject))


def answers(link, address, until):
    while (left := until - time.monotonic()) > 0:
        link.settimeout(left)
        try:
            packet = link.recv(2048)[14:]
        except TimeoutError:
            return
        operation, mac, of = struct.unpack("!6xH6s4s", packet[:18])
        if operation == REPLY and of == socket.inet_aton(address):
            yield mac.hex(":")


def main(interface, own, address):
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHER_TYPE)) as link:
        link.bind((interface, ETHER_TYPE))
        mac, heard = link.getsockname()[4], set()
        for _ in range(TRIES):
            link.send(bytes([0xFF] * 6) + mac + struct.pack("!H", ETHER_TYPE) + message(REQUEST, mac, own, address))
            heard.update(answers(link, address, time.monotonic() + PAUSE))
        print("\n".join(sorted(heard)))


main(*sys.argv[1:])
