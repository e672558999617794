#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""hub_client.py SOCKET [--mac MAC] [--ip CIDR]... [--group MAC]... -- COMMAND...: joins a hub and becomes COMMAND, in whose
arguments {memif}, {mac} and {ip} stand for what it was given. The connection stays open in it: the lane ends with COMMAND.

Speaks the protocol of control/hub/protocol.h by itself, so that a change of it which would leave older programs out shows."""

import argparse
import ipaddress
import os
import socket
import struct
import sys

MARK, VERSION = 0x766C6875, 11
JOIN, GRANTED, REFUSED, GROUP, DONE = range(1, 6)
HEADER = struct.Struct("=IHH")
MOST_ADDRESSES = 8
ADDRESS = struct.Struct("=16sBH")
DEFAULT_PARTITION = 0xFFFF


def mac_bytes(text):
    return bytes.fromhex(text.replace(":", ""))


def address_field(text):
    interface = ipaddress.ip_interface(text)
    packed = interface.ip.packed
    if interface.version == 4:
        packed = bytes(10) + b"\xff\xff" + packed
    return ADDRESS.pack(packed, interface.network.prefixlen, DEFAULT_PARTITION)


def address_text(field):
    packed, length, _ = ADDRESS.unpack(field)
    address = ipaddress.ip_address(packed)
    return f"{address.ipv4_mapped or address}/{length}"


class Hub:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(10)
        self.socket.connect(path)

    def ask(self, kind, body, expected):
        self.socket.send(HEADER.pack(MARK, VERSION, kind) + body)
        answer = self.socket.recv(4096)
        mark, version, kind = HEADER.unpack_from(answer)
        body = answer[HEADER.size :]
        if mark != MARK or version != VERSION:
            sys.exit(f"hub_client: a message of mark {mark:#x}, version {version}")
        if kind == REFUSED:
            sys.exit("hub_client: " + body[4:].rstrip(b"\0").decode())
        if kind != expected:
            sys.exit(f"hub_client: a message of type {kind}")
        return body

    def join(self, mac, addresses, program):
        """Of direct links it takes no offers: its frames all go through the hub."""
        fields = b"".join(map(address_field, addresses)).ljust(MOST_ADDRESSES * ADDRESS.size, b"\0")
        body = struct.pack("=6sB", mac_bytes(mac), len(addresses)) + fields + program.encode()[:32].ljust(32, b"\0") + b"\0"
        granted = self.ask(JOIN, body, GRANTED)
        fixed = struct.Struct("=6sHHB")
        mac, mtu, member, count = fixed.unpack_from(granted)
        places = [fixed.size + i * ADDRESS.size for i in range(count)]
        path = granted[fixed.size + MOST_ADDRESSES * ADDRESS.size :].rstrip(b"\0").decode()
        return {
            "memif": path,
            "mac": mac.hex(":"),
            "mtu": str(mtu),
            "member": str(member),
            "ip": address_text(granted[places[0] : places[0] + ADDRESS.size]).split("/")[0],
        }

    def join_group(self, mac):
        # The group's GID and LID are for nodes.
        self.ask(GROUP, mac_bytes(mac) + b"\1" + bytes(16) + bytes(2), DONE)


def main():
    split = sys.argv.index("--")
    parser = argparse.ArgumentParser()
    parser.add_argument("socket")
    parser.add_argument("--mac", default="00:00:00:00:00:00")
    parser.add_argument("--ip", action="append", default=[])
    parser.add_argument("--group", action="append", default=[])
    options = parser.parse_args(sys.argv[1:split])
    command = sys.argv[split + 1 :]

    hub = Hub(options.socket)
    lane = hub.join(options.mac, options.ip, os.path.basename(command[0]))
    for group in options.group:
        hub.join_group(group)
    os.set_inheritable(hub.socket.fileno(), True)
    for key, value in lane.items():
        command = [word.replace("{" + key + "}", value) for word in command]
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
