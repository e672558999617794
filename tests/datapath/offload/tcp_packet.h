// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// TCP packets as a sender makes them, with checksums computed in the plainest way, for tests of what offloads do to
/// them.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "datapath/wire/ipv4.h"
#include "datapath/wire/ipv6.h"
#include "datapath/wire/tcp.h"
#include "tests/support/checksum.h"
#include "tests/support/ipv6.h"
#include "tests/support/packet.h"

namespace verbline::offload {

using test::naive_checksum;

/// What is filled in when the packet is made, and what its sender counts up.
inline void finish(wire::Ipv4& ip, std::size_t size) {
    ip.total_length = static_cast<std::uint16_t>(size);
    ip = ip.with_checksum();
}
inline void finish(wire::Ipv6& ip, std::size_t size) {
    ip.payload_length = static_cast<std::uint16_t>(size - wire::Ipv6::size);
}
inline void count_up(wire::Ipv4& ip) {
    ++ip.identification;
}
inline void count_up(wire::Ipv6&) {}

template <class Ip>
inline const Ip example_ip;
template <>
inline const wire::Ipv4 example_ip<wire::Ipv4>{.dont_fragment = true,
                                               .protocol = wire::IpProtocol::tcp,
                                               .source = wire::ipv4(10, 1, 0, 2),
                                               .destination = wire::ipv4(10, 2, 0, 2)};
template <>
inline const wire::Ipv6 example_ip<wire::Ipv6>{.flow_label = 77,
                                               .next_header = wire::IpProtocol::tcp,
                                               .source = test::ipv6("fd01::2"),
                                               .destination = test::ipv6("fd02::2")};

/// Ip: wire::Ipv4 or wire::Ipv6.
template <class Ip>
struct BasicTcpPacket {
    Ip ip = example_ip<Ip>;
    wire::Tcp tcp{.source_port = 4000,
                  .destination_port = 80,
                  .sequence = 1000,
                  .acknowledgement = 7,
                  .flags = wire::tcp_flag::ack,
                  .window = 500};
    test::ByteVector options;  ///< a multiple of four bytes
    test::ByteVector payload;

    test::ByteVector bytes() const {
        constexpr auto headers = Ip::size + wire::Tcp::size;
        auto whole_ip = ip;
        auto whole_tcp = tcp;
        whole_tcp.header_words = static_cast<std::uint8_t>(5 + options.size() / 4);
        test::ByteVector out(headers + options.size() + payload.size());
        finish(whole_ip, out.size());
        whole_ip.emit(std::span(out).template first<Ip::size>());
        whole_tcp.emit(std::span(out).template subspan<Ip::size, wire::Tcp::size>());
        std::ranges::copy(options, out.begin() + headers);
        std::ranges::copy(payload, out.end() - static_cast<std::ptrdiff_t>(payload.size()));
        wire::store16(out, Ip::size + 16, test::naive_l4_checksum(out, Ip::size));
        return out;
    }

    /// The next packet of the same flow, with `size` bytes of payload.
    BasicTcpPacket followed_by(std::size_t size, unsigned seed = 1) const {
        auto next = *this;
        next.tcp.sequence += static_cast<std::uint32_t>(payload.size());
        count_up(next.ip);
        next.payload = test::pattern(size, seed);
        return next;
    }
};
using TcpPacket = BasicTcpPacket<wire::Ipv4>;
using Ipv6TcpPacket = BasicTcpPacket<wire::Ipv6>;

/// A kernel's timestamp option, padded as everyone pads it (RFC 7323, appendix A).
inline test::ByteVector timestamps(unsigned value) {
    return test::bytes_from(1, 1, 8, 10, 0, 0, value >> 8, value & 255, 0, 0, 0, 9);
}

}  // namespace verbline::offload
