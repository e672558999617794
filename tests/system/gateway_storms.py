#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What comes in storms.

    gateway_storms.py changes NUMBER VIA OTHER      for `ip -batch`: so many changes of the routes of 20.0.0.0/12, which are added,
                                                    given another next hop and removed by turns
    gateway_storms.py unknown ADDRESS NUMBER RATE   sends so many datagrams, so many a second, each to another address from this one on
    gateway_storms.py routes                        standard input, what `ip -json route` prints, as sorted lines: PREFIX VIA
"""

import ipaddress
import json
import socket
import sys
import time

PREFIXES = 4096
BURST = 100  # datagrams, before the clock is looked at


def changes(number, via, other):
    prefixes = [f"20.{i >> 8}.{i & 255}.0/24" for i in range(PREFIXES)]
    turns = [lambda one: f"replace {one} via {via}", lambda one: f"replace {one} via {other}", lambda one: f"delete {one}"]
    done = 0
    while True:
        for turn in turns:
            for prefix in prefixes:
                if done == number:
                    return
                print("route", turn(prefix))
                done += 1


def unknown(address, number, rate):
    first = ipaddress.ip_address(address)
    family = socket.AF_INET6 if first.version == 6 else socket.AF_INET
    began, late = time.monotonic(), 0
    with socket.socket(family, socket.SOCK_DGRAM) as sender:
        for i in range(number):
            if i % BURST == 0 and (ahead := began + i / rate - time.monotonic()) > 0:
                time.sleep(ahead)
            try:
                sender.sendto(b"", (str(first + i), 9))
            except OSError:  # an ICMP error about an earlier one
                late += 1
    print(f"sent {number - late} in {time.monotonic() - began:.1f} s", flush=True)


def routes():
    for row in json.load(sys.stdin):
        if row.get("dst", "").startswith("20."):
            print(row["dst"], row.get("gateway", "-"))


def main():
    what, arguments = sys.argv[1], sys.argv[2:]
    if what == "changes":
        return changes(int(arguments[0]), *arguments[1:])
    if what == "unknown":
        return unknown(arguments[0], int(arguments[1]), int(arguments[2]))
    return routes()


if __name__ == "__main__":
    main()
