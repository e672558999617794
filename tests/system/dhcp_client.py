#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""dhcp_client.py lease INTERFACE KIND     gets an address by DHCP, as a client on a link of that kind: ethernet or ipoib; prints it
dhcp_client.py lease6 INTERFACE            the same by DHCPv6
dhcp_client.py send INTERFACE WHAT         sends one message, and awaits no answer: WHAT is a key of MESSAGES below
dhcp_client.py forge RELAY PORT            sends a reply to a relay's address, for the clients of that port; of IPv4 or IPv6
dhcp_client.py occupy INTERFACE            has the servers' UDP port there, and shares it with none; prints "ready"

Clients on IPoIB follow RFC 4390: htype 32, no chaddr, the broadcast flag, a client identifier (RFC 4361)."""

import os
import signal
import socket
import struct
import sys
import time

CLIENT, SERVER, CLIENT6, SERVER6 = 68, 67, 546, 547
RELAYS_AND_SERVERS = "ff02::1:2"
REQUEST, REPLY = 1, 2
COOKIE = bytes.fromhex("63825363")
DISCOVER, OFFER, REQUESTED, ACK = 1, 2, 3, 5
TYPE, WANTED, CHOSEN, CLIENT_ID, RELAY_AGENT, END = 53, 50, 54, 61, 82, 255
SOLICIT, ADVERTISE, REQUEST6, REPLY6, RELAY_REPLY = 1, 2, 3, 7, 13
CLIENT_ID6, SERVER_ID6, IA_NA, IA_ADDRESS, ELAPSED, RELAYED, INTERFACE_ID = 1, 2, 3, 5, 8, 9, 18
TRIES, WAIT = 8, 2  # seconds

DUID = struct.pack("!HH", 3, 32) + bytes.fromhex("0002c90300a1b2c3")
IAID = 7
MESSAGES = {
    "plain": {},
    "hops": {"hops": 17},
    "option82": {"options": [(RELAY_AGENT, b"\x01\x04fake")]},
    "giaddr": {"relay": "10.1.0.1"},
    "truncated": {"options": [(CLIENT_ID, b"")], "cut": 12},
}


def option(code, value):
    return bytes([code, len(value)]) + value


def message(kind, transaction, *, link, op=REQUEST, hops=0, relay="0.0.0.0", options=(), cut=0):
    """A client's message; `cut`: of the last option so many bytes are promised and missing."""
    on_ipoib = link == "ipoib"
    header = struct.pack("!BBBBIHH", op, 32 if on_ipoib else 1, 0 if on_ipoib else 6, hops, transaction, 0, 0x8000 if on_ipoib else 0)
    header += bytes(12) + socket.inet_aton(relay)
    header += (b"" if on_ipoib else bytes.fromhex("020000000007")).ljust(16 + 64 + 128, b"\0") + COOKIE
    identifier = (CLIENT_ID, b"\xff" + struct.pack("!I", IAID) + DUID)
    body = b"".join(option(*each) for each in [(TYPE, bytes([kind])), identifier, *options])
    if cut:
        return header + body[:-1] + bytes([cut])
    return (header + body + bytes([END])).ljust(300, b"\0")


def parsed(packet):
    """The fields of a reply that matter here."""
    op, htype, hlen, _, transaction, _, _ = struct.unpack_from("!BBBBIHH", packet)
    options, at = {}, 240
    while at < len(packet) and packet[at] != END:
        if packet[at] == 0:
            at += 1
            continue
        options[packet[at]] = packet[at + 2 : at + 2 + packet[at + 1]]
        at += 2 + packet[at + 1]
    return {"op": op, "link": (htype, hlen), "transaction": transaction, "yours": packet[16:20], "chaddr": packet[28:44], "options": options}


def client_socket(family, interface, port):
    link = socket.socket(family, socket.SOCK_DGRAM)
    link.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.encode())
    link.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    link.bind(("", port))
    return link


def exchange(link, packet, destination, answer):
    """Sends until answer(packet) is something, and returns that."""
    for _ in range(TRIES):
        link.sendto(packet, destination)
        until = time.monotonic() + WAIT
        while (left := until - time.monotonic()) > 0:
            link.settimeout(left)
            try:
                found = answer(link.recv(9216))
            except TimeoutError:
                break
            if found is not None:
                return found
    sys.exit("no answer")


def lease(interface, kind):
    transaction = int.from_bytes(os.urandom(4))

    def of_type(wanted):
        def answer(packet):
            reply = parsed(packet)
            mine = reply["op"] == REPLY and reply["transaction"] == transaction
            return reply if mine and reply["options"].get(TYPE) == bytes([wanted]) else None

        return answer

    def ask(packet, wanted):
        reply = exchange(link, packet, ("255.255.255.255", SERVER), of_type(wanted))
        if RELAY_AGENT in reply["options"]:
            sys.exit("option 82 came back to the client")
        if kind == "ipoib" and (reply["link"] != (32, 0) or any(reply["chaddr"])):
            sys.exit("that is no reply to a client on IPoIB")
        return reply

    with client_socket(socket.AF_INET, interface, CLIENT) as link:
        offer = ask(message(DISCOVER, transaction, link=kind), OFFER)
        chosen = [(WANTED, offer["yours"]), (CHOSEN, offer["options"][CHOSEN])]
        ack = ask(message(REQUESTED, transaction, link=kind, options=chosen), ACK)
    print(f"leased {socket.inet_ntoa(ack['yours'])} from {socket.inet_ntoa(ack['options'][CHOSEN])}")


def option6(code, value):
    return struct.pack("!HH", code, len(value)) + value


def parsed6(options):
    found = {}
    while len(options) >= 4:
        code, length = struct.unpack_from("!HH", options)
        found[code], options = options[4 : 4 + length], options[4 + length :]
    return found


def lease6(interface):
    transaction = os.urandom(3)

    def ask(kind, options, wanted):
        def answer(packet):
            mine = packet[0] == wanted and packet[1:4] == transaction
            return parsed6(packet[4:]) if mine else None

        common = option6(CLIENT_ID6, DUID) + option6(ELAPSED, bytes(2))
        return exchange(link, bytes([kind]) + transaction + common + options, group, answer)

    group = (RELAYS_AND_SERVERS, SERVER6, 0, socket.if_nametoindex(interface))
    with client_socket(socket.AF_INET6, interface, CLIENT6) as link:
        advertised = ask(SOLICIT, option6(IA_NA, struct.pack("!III", IAID, 0, 0)), ADVERTISE)
        wanted = option6(SERVER_ID6, advertised[SERVER_ID6]) + option6(IA_NA, advertised[IA_NA])
        reply = ask(REQUEST6, wanted, REPLY6)
    address = parsed6(reply[IA_NA][12:])[IA_ADDRESS][:16]
    print(f"leased {socket.inet_ntop(socket.AF_INET6, address)}")


def send(interface, what):
    with client_socket(socket.AF_INET, interface, CLIENT) as link:
        link.sendto(message(DISCOVER, 1, link="ethernet", **MESSAGES[what]), ("255.255.255.255", SERVER))


def forge(relay, port):
    if ":" in relay:
        to_client = bytes([ADVERTISE]) + bytes(3)
        header = bytes([RELAY_REPLY, 0]) + socket.inet_pton(socket.AF_INET6, relay) + socket.inet_pton(socket.AF_INET6, "fe80::7")
        packet = header + option6(INTERFACE_ID, port.encode()) + option6(RELAYED, to_client)
    else:
        circuit = (RELAY_AGENT, option(1, port.encode()))
        packet = message(OFFER, 1, link="ethernet", op=REPLY, relay=relay, options=[circuit])
    with socket.socket(socket.AF_INET6 if ":" in relay else socket.AF_INET, socket.SOCK_DGRAM) as impostor:
        impostor.sendto(packet, (relay, SERVER6 if ":" in relay else SERVER))


def occupy(interface):
    with client_socket(socket.AF_INET, interface, SERVER):
        print("ready", flush=True)
        signal.pause()


if __name__ == "__main__":
    {"lease": lease, "lease6": lease6, "send": send, "forge": forge, "occupy": occupy}[sys.argv[1]](*sys.argv[2:])
