// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What generated frames look like: which headers, and the values that each of their fields takes.
///
/// A flow is one combination of values. Flow n has, in each field, the digit of n in a number system whose bases are
/// the fields' numbers of values: the source port counts fastest, then the destination port, the source address, and so
/// on to the MAC addresses, and the destination QPN.

#include <cstdint>
#include <optional>

#include "datapath/wire/types.h"

namespace verbline::traffic {

/// `count` values from `first` on, rising by one.
template <class Value>
struct Values {
    Value first{};
    std::uint32_t count = 1;
    bool operator==(const Values&) const = default;
};

/// 2001:2:0:SUBNET::1, of the prefix for benchmarks (RFC 5180 8).
constexpr wire::Ipv6Address benchmark_ipv6(std::uint8_t subnet) {
    wire::Ipv6Address address{{std::byte{0x20}, std::byte{1}, {}, std::byte{2}}};
    address.bytes[7] = std::byte{subnet};
    address.bytes[15] = std::byte{1};
    return address;
}

enum class Transport : std::uint8_t { udp, tcp };

/// What is between Ethernet and the stamp.
enum class Encapsulation : std::uint8_t {
    none,     ///< an IP packet, of UDP or TCP
    roce_v1,  ///< a GRH, whose GIDs are the addresses, and a datagram to a queue pair (IBTA A16)
    roce_v2,  ///< IP and UDP, whose destination port is RoCE's, and a datagram to a queue pair (A17)
    ipoib,    ///< a datagram of RoCE v2, and in it IPoIB's header and an IP packet, of UDP or TCP (RFC 4391 6)
};

/// Q_Keys of datagrams: that of IPoIB, as OpenSM gives its groups, tells a receiver that an IP packet is inside.
constexpr wire::QKey datagram_qkey{0x1111'1111}, ipoib_qkey{0x0b1b};
constexpr wire::Qpn datagram_source{0x200};

/// The defaults are UDP echo between the addresses of RFC 2544, C.2.2 and C.2.6.4. Of IPoIB the fields are those of the
/// packet inside; the addresses and ports outside are the defaults.
struct FrameSpec {
    Values<wire::MacAddress> source_mac{{{std::byte{2}, {}, {}, {}, {}, std::byte{1}}}};
    Values<wire::MacAddress> destination_mac{{{std::byte{2}, {}, {}, {}, {}, std::byte{2}}}};
    std::optional<Values<std::uint16_t>> vlan;  ///< ids of an 802.1Q tag; none: untagged
    bool ipv6 = false;                          ///< which of the addresses below are used
    Values<wire::Ipv4Address> source_ipv4{wire::ipv4(198, 18, 0, 1)};
    Values<wire::Ipv4Address> destination_ipv4{wire::ipv4(198, 19, 0, 1)};
    Values<wire::Ipv6Address> source_ipv6{benchmark_ipv6(0)};
    Values<wire::Ipv6Address> destination_ipv6{benchmark_ipv6(1)};
    Transport transport = Transport::udp;
    Values<std::uint16_t> source_port{49152};
    Values<std::uint16_t> destination_port{7};
    Encapsulation encapsulation = Encapsulation::none;
    Values<wire::Qpn> destination_qpn{wire::Qpn{0x100}};  ///< of a datagram
};

}  // namespace verbline::traffic
