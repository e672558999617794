# SPDX-License-Identifier: BSD-3-Clause
"""Our gateway between Ethernet and IPoIB, beside l3fwd between Ethernet and Ethernet, on the port of l3fwd.py.

IPoIB is that over RoCE v2 (RFC 4391 in UD datagrams, IBTA annex A17), with every ICRC made and verified in software. It has the
port's VLAN 5 to itself, as the port's untagged frames are the Ethernet link's. The last of the port's packets is the ARP reply of
the next hop, on the link that packets leave by."""

import ipaddress
import struct
import zlib

import l3fwd
from l3fwd import NEXT_HOP, OWN, PACKETS, PORT_MAC, mac

VLAN = 5
OWN_IB, NEXT_HOP_IB = "10.8.0.1", "10.8.0.2"
OWN_QPN, STATION_QPN = 0x49, 0x123  # a gateway numbers its ports' queue pairs from 0x48
QKEY = 0x0B1B
ARP_REPLY, HARDWARE_INFINIBAND = 2, 32

# Another port between the Ethernet port and the route.
CONFIGURATION = l3fwd.CONFIGURATION.replace("[[route]]", """[[port]]
name = "ib0"
type = "ipoib"
link = "roce_v2"
device = "dpdk:{port}"
vlan = 5
address = ["10.8.0.1/24"]
[[route]]""")


def link_local(station):
    """fe80::<EUI-64> (RFC 4291, appendix A)."""
    octets = mac(station)
    return ipaddress.ip_address(f"fe80::{octets[0] ^ 2:02x}{octets[1]:02x}:{octets[2]:02x}ff:fe{octets[3]:02x}:{octets[4]:02x}{octets[5]:02x}").packed


def datagram(ethertype, payload):
    """A UD SEND from the station to the gateway, tagged."""
    station = NEXT_HOP[1]
    message = struct.pack("!HH", ethertype, 0) + payload
    pad = -len(message) % 4
    transport = struct.pack("!BBHIIII", 0x64, pad << 4, 0xFFFF, OWN_QPN, 0, QKEY, STATION_QPN) + message + bytes(pad)
    length = 8 + len(transport) + 4
    udp = struct.pack("!HHHH", 0xC000, 4791, length, 0)
    addresses = link_local(station) + link_local(PORT_MAC)
    network = struct.pack("!IHBB", 6 << 28, length, 17, 64) + addresses
    # What changes on the way counts as ones, and so does the LRH that there is not (IBTA annex A17).
    masked = b"\xff" * 8 + struct.pack("!IHBB", 0x6FFFFFFF, length, 17, 0xFF) + addresses
    masked += udp[:6] + b"\xff\xff" + transport[:4] + b"\xff" + transport[5:]
    ethernet = mac(PORT_MAC) + mac(station) + struct.pack("!HHH", 0x8100, VLAN, 0x86DD)
    return ethernet + network + udp + transport + struct.pack("<I", zlib.crc32(masked))


def ipoib_arp_reply():
    """RFC 4391, 9.1.1; behind a byte of flags the addresses are QPN and GID."""
    def hardware(qpn, station):
        return struct.pack("!I", qpn) + link_local(station)

    return struct.pack("!HHBBH", HARDWARE_INFINIBAND, 0x0800, 20, 4, ARP_REPLY) + hardware(STATION_QPN, NEXT_HOP[1]) + \
        ipaddress.ip_address(NEXT_HOP_IB).packed + hardware(OWN_QPN, PORT_MAC) + ipaddress.ip_address(OWN_IB).packed


def to_ipoib(flows):
    """Ethernet frames, to a next hop on IPoIB."""
    return l3fwd.udp_frames(flows) + [datagram(0x0806, ipoib_arp_reply())]


def from_ipoib(flows):
    """The same packets on IPoIB, to a next hop on Ethernet."""
    ethernet, packet = 14, 46
    return [datagram(0x0800, frame[ethernet:ethernet + packet]) for frame in l3fwd.udp_frames(flows)] + [l3fwd.arp_reply()]


WAYS = {"Ethernet to IPoIB": (to_ipoib, NEXT_HOP_IB), "IPoIB to Ethernet": (from_ipoib, NEXT_HOP[0])}


def our_rate(verbline, flows, way):
    frames, next_hop = WAYS[way]
    return l3fwd.gateway_rate(verbline, frames(flows), CONFIGURATION, next_hop)
