#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Datagrams to multicast groups, IPv4 or IPv6, by the kernel's sockets.

    multicast.py hear GROUP PORT INTERFACE COUNT       says `ready` once it is in the group, then how many it has heard, each
                                                       time, and ends with the COUNT-th
    multicast.py send GROUP PORT INTERFACE COUNT [HOPS [BYTES]]   at 5 ms' distance; not to listeners on this host
"""

import socket
import struct
import sys
import time

GAP = 0.005


def ipv6(group):
    return ":" in group


def group_socket(group):
    return socket.socket(socket.AF_INET6 if ipv6(group) else socket.AF_INET, socket.SOCK_DGRAM)


def join(own, group, interface):
    index = socket.if_nametoindex(interface)
    if ipv6(group):
        request = socket.inet_pton(socket.AF_INET6, group) + struct.pack("@I", index)
        own.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, request)
    else:
        request = socket.inet_aton(group) + socket.inet_aton("0.0.0.0") + struct.pack("@i", index)
        own.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, request)


def hear(group, port, interface, count):
    with group_socket(group) as own:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        own.bind((group, int(port)))
        join(own, group, interface)
        print("ready", flush=True)
        for heard in range(1, int(count) + 1):
            own.recv(65536)
            print(f"heard {heard}", flush=True)


def send(group, port, interface, count, hops=8, size=100):
    index = socket.if_nametoindex(interface)
    with group_socket(group) as own:
        if ipv6(group):
            own.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
            own.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, int(hops))
            own.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_LOOP, 0)
        else:
            request = socket.inet_aton("0.0.0.0") * 2 + struct.pack("@i", index)
            own.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, request)
            own.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, int(hops))
            own.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 0)
        for _ in range(int(count)):
            own.sendto(bytes(int(size)), (group, int(port)))
            time.sleep(GAP)


if __name__ == "__main__":
    {"hear": hear, "send": send}[sys.argv[1]](*sys.argv[2:])
