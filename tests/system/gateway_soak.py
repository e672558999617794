#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Traffic of the soak of a gateway, and its accounts.

sink                                                takes what comes by TCP and says how much, takes UDP
send SECONDS SEED IPV4 IPV6 GATEWAY                 sends every kind of packet for so long
accounts VERBLINE INSTANCE                          whether what came in is what went out and was dropped
happened VERBLINE INSTANCE                          whether the counters of what the soak is for are above zero
"""

import json
import random
import re
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import Counter

PORT = 9000
PATIENCE = 8  # of a connection, which may lose its last packets
GROUPS = {4: "239.1.2.3", 6: "ff15::1:203"}
NOWHERE = {4: "192.0.2.1", 6: "2001:db8::1"}
FLOWS = 64

# --- traffic ----------------------------------------------------------------------------------------------------------------


def serve(connection):
    """Takes all there is, then says how much it was."""
    with connection:
        connection.settimeout(PATIENCE)
        total = 0
        try:
            while data := connection.recv(1 << 16):
                total += len(data)
            connection.sendall(b"%d" % total)
        except OSError:
            pass


def interface():
    """The number of the namespace's own interface."""
    return next(number for number, name in socket.if_nameindex() if name != "lo")


def join_groups(datagrams):
    ipv4 = struct.pack("4s4si", socket.inet_aton(GROUPS[4]), bytes(4), interface())
    datagrams.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, ipv4)
    ipv6 = struct.pack("16sI", socket.inet_pton(socket.AF_INET6, GROUPS[6]), interface())
    datagrams.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, ipv6)


def sink():
    listener = socket.create_server(("::", PORT), family=socket.AF_INET6, dualstack_ipv6=True, backlog=128)
    datagrams = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    datagrams.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    datagrams.bind(("::", PORT))
    join_groups(datagrams)
    threading.Thread(target=lambda: [None for _ in iter(lambda: datagrams.recv(1 << 16), None)], daemon=True).start()
    print("ready", flush=True)
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()


class Sender:
    def __init__(self, until, seed, addresses, gateway):
        self.until, self.seed, self.addresses, self.gateway = until, seed, addresses, gateway
        self.done, self.lock = Counter(), threading.Lock()

    def over(self):
        return time.monotonic() > self.until

    def count(self, what):
        with self.lock:
            self.done[what] += 1

    def stream(self, version):
        """Connections one after the other. Some break: damage that no checksum of a link or of TCP finds is in their control bits."""
        chance = random.Random(f"{self.seed} {version}")
        while not self.over():
            size = chance.randrange(1, 400_000)
            try:
                with socket.create_connection((self.addresses[version], PORT), timeout=PATIENCE) as connection:
                    connection.sendall(bytes(size))
                    connection.shutdown(socket.SHUT_WR)
                    if int(connection.recv(64) or b"0") == size:
                        self.count(f"TCP over IPv{version}")
            except (OSError, ValueError):
                pass

    def datagrams(self, version):
        """Of many flows: small, large, and in fragments, for the far end, a group, nobody and the gateway; some with their last hop."""
        chance = random.Random(f"{self.seed} datagrams {version}")
        family = socket.AF_INET if version == 4 else socket.AF_INET6
        near = self.addresses[version]
        nobody, gateway = near[:-1] + "99", self.gateway if version == 4 else near
        sockets = [socket.socket(family, socket.SOCK_DGRAM) for _ in range(FLOWS)]
        last_hop = socket.socket(family, socket.SOCK_DGRAM)
        option = (socket.IPPROTO_IP, socket.IP_TTL) if version == 4 else (socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS)
        last_hop.setsockopt(*option, 1)
        for each in sockets:
            if version == 4:
                each.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 8)
            else:
                each.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 8)
                each.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, interface())
        if version == 4:
            for each in sockets:  # without DF, so that the gateway cuts what is too large for the other link
                each.setsockopt(socket.IPPROTO_IP, 10, 0)  # IP_MTU_DISCOVER, IP_PMTUDISC_DONT
        while not self.over():
            for _ in range(20):
                kind = chance.random()
                to = near if kind < 0.8 else GROUPS[version] if kind < 0.9 else nobody if kind < 0.94 else NOWHERE[version] if kind < 0.97 else gateway
                one = last_hop if kind > 0.99 else chance.choice(sockets)
                try:
                    one.sendto(bytes(chance.choice((8, 100, 1400, 1900, 5000))), (to, PORT))
                    self.count(f"UDP over IPv{version}")
                except OSError:
                    pass  # an ICMP error about an earlier one
            time.sleep(0.002)

    def run(self):
        work = [threading.Thread(target=self.stream, args=(version,)) for version in (4, 6) for _ in range(4)]
        work += [threading.Thread(target=self.datagrams, args=(version,)) for version in (4, 6)]
        for each in work:
            each.start()
        for each in work:
            each.join()
        missing = [f"{kind} over IPv{version}" for kind in ("TCP", "UDP") for version in (4, 6) if not self.done[f"{kind} over IPv{version}"]]
        print("sent", dict(self.done), "missing: " + ", ".join(missing) if missing else "nothing missing", flush=True)


# --- accounts ---------------------------------------------------------------------------------------------------------------


def counters(verbline, instance):
    shown = subprocess.run([verbline, "show", instance, "counters", "--all", "--json"], capture_output=True, check=True, timeout=30).stdout
    return json.loads(shown)


class Account:
    """Counters by owner, each of which may be on one side of one balance only."""

    def __init__(self, rows):
        self.rows, self.used = {}, set()
        for row in rows:
            owner = "shard" if re.fullmatch(r"shard\d+", row["owner"]) else row["owner"]
            self.rows.setdefault(owner, Counter())[row["name"]] += row["value"]

    def sum(self, owner, pattern):
        return sum(value for name, value in self.rows.get(owner, {}).items() if re.fullmatch(pattern, name))

    def ports(self):
        return [owner.removesuffix(" device") for owner in self.rows if owner.endswith(" device")]


LINK_RX_DROPS = r"rx_dropped_(?!punted_type).*"  # of the link; those of the control thread have a prefix, but this one


def balances(account):
    """(what, in, out) on each level, from a device to the router and back."""
    total_in, total_out = Counter(), Counter()
    for port in account.ports():
        device, kernel = f"{port} device", f"{port} kernel"
        came = account.sum(port, "rx_packets|rx_punted")
        yield (
            f"{port}: device to link",
            account.sum(device, "rx_good_packets|rx_impair_duplicated"),
            came
            + account.sum(port, LINK_RX_DROPS)
            + account.sum(device, "rx_impair_lost|rx_impair_dropped_.*|rx_dropped_handover_full"),
        )
        yield (
            f"{port}: link to device",
            account.sum(port, "tx_packets") + account.sum(device, "tx_impair_duplicated"),
            account.sum(device, "tx_good_packets|tx_impair_lost|tx_impair_dropped_.*|tx_dropped_.*"),
        )
        total_in["received by links"] += came
        total_in["of the control thread"] += account.sum(port, "control_tx_packets|control_to_kernel_packets")
        total_in["segments instead of large packets"] += account.sum(port, "tx_segments") - account.sum(port, "tx_segmented")
        total_out["sent by links"] += account.sum(port, "tx_packets")
        total_out["dropped by links"] += account.sum(port, "tx_dropped_(?!rate).*")
        total_in["kernel"] += account.sum(kernel, "rx_good_packets")
        total_out["kernel"] += account.sum(kernel, "tx_good_packets|tx_dropped_.*|rx_dropped_handover_full")
    total_in["ICMP errors"] = account.sum("shard", "icmp_errors_sent")
    total_in["fragments instead of packets"] = account.sum("shard", "fragments_made") - account.sum("shard", "fragmented_packets")
    routed, made = (account.sum("shard", f"multicast_{what}") for what in ("routed_packets", "(forwarded_packets|kernel_copies)"))
    total_in["replicas instead of packets to groups"] = made - routed
    total_out["merged"] = account.sum("shard", "rx_coalesced(_datagrams)?")
    total_out["to the control thread"] = account.sum("shard", "punted_packets")
    total_out["dropped by the router"] = account.sum("shard", r"(rx_)?dropped_.*|control_tx_dropped_.*|multicast_dropped_(?!no_mbuf|table_full).*")
    yield "the router", sum(total_in.values()), sum(total_out.values())
    print({"in": dict(total_in), "out": dict(total_out)})


def accounts(verbline, instance):
    wrong = 0
    account = Account(counters(verbline, instance))
    for what, came, went in balances(account):
        wrong += came != went
        print(f"{what:24} {came:10} in {went:10} out{'' if came == went else f'  DIFFERENCE {came - went}'}")
    for owner, values in sorted(account.rows.items()):
        for name, value in sorted(values.items()):
            if value and re.search("drop|lost", name):
                print(f"  {owner:12} {name:36} {value:9}")
    return wrong != 0


MUST_HAPPEN = (
    "fragmented_packets tx_segmented rx_coalesced icmp_errors_sent dropped_no_route dropped_ttl dropped_neighbour_failed "
    "to_kernel_packets from_kernel_packets punted_packets rx_impair_lost rx_impair_duplicated rx_impair_reordered rx_impair_corrupted "
    "tx_impair_lost tx_impair_duplicated tx_impair_reordered tx_impair_corrupted rx_handed_over tx_handed_over multicast_forwarded_packets"
).split()


def happened(verbline, instance):
    total = Counter()
    for row in counters(verbline, instance):
        total[row["name"]] += row["value"]
    missing = [name for name in MUST_HAPPEN if not total[name]]
    print("never:", *missing)
    return bool(missing)


def main():
    what, arguments = sys.argv[1], sys.argv[2:]
    if what == "sink":
        return sink()
    if what == "send":
        seconds, seed, ipv4, ipv6, gateway = arguments
        return Sender(time.monotonic() + float(seconds), seed, {4: ipv4, 6: ipv6}, gateway).run()
    return {"accounts": accounts, "happened": happened}[what](*arguments)


if __name__ == "__main__":
    sys.exit(main())
