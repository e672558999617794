// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// UDP packets as a sender makes them, with checksums computed in the plainest way.

#include <algorithm>
#include <cstdint>
#include <span>

#include "datapath/wire/udp.h"
#include "tests/datapath/offload/tcp_packet.h"
#include "tests/support/checksum.h"
#include "tests/support/packet.h"

namespace verbline::offload {

inline void carry_udp(wire::Ipv4& ip) {
    ip.protocol = wire::IpProtocol::udp;
}
inline void carry_udp(wire::Ipv6& ip) {
    ip.next_header = wire::IpProtocol::udp;
}

/// Ip: wire::Ipv4 or wire::Ipv6.
template <class Ip>
struct BasicUdpPacket {
    Ip ip = example_ip<Ip>;
    wire::Udp udp{.source_port = 4000, .destination_port = 7000};
    test::ByteVector payload = test::pattern(64);
    bool has_checksum = true;

    test::ByteVector bytes() const {
        constexpr auto headers = Ip::size + wire::Udp::size;
        auto whole_ip = ip;
        carry_udp(whole_ip);
        auto whole_udp = udp;
        test::ByteVector out(headers + payload.size());
        finish(whole_ip, out.size());
        whole_udp.length = static_cast<std::uint16_t>(out.size() - Ip::size);
        whole_ip.emit(std::span(out).template first<Ip::size>());
        whole_udp.emit(std::span(out).template subspan<Ip::size, wire::Udp::size>());
        std::ranges::copy(payload, out.begin() + headers);
        if (has_checksum) wire::store16(out, Ip::size + 6, test::naive_l4_checksum(out, Ip::size));
        return out;
    }

    /// The next packet of the same flow, with `size` bytes of payload.
    BasicUdpPacket followed_by(std::size_t size, unsigned seed = 1) const {
        auto next = *this;
        count_up(next.ip);
        next.payload = test::pattern(size, seed);
        return next;
    }
};
using UdpPacket = BasicUdpPacket<wire::Ipv4>;
using Ipv6UdpPacket = BasicUdpPacket<wire::Ipv6>;

}  // namespace verbline::offload
