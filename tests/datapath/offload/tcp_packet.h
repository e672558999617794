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
#include "datapath/wire/tcp.h"
#include "tests/support/checksum.h"
#include "tests/support/packet.h"

namespace verbline::offload {

using test::naive_checksum;

struct TcpPacket {
    wire::Ipv4 ip{.dont_fragment = true,
                  .protocol = wire::IpProtocol::tcp,
                  .source = wire::ipv4(10, 1, 0, 2),
                  .destination = wire::ipv4(10, 2, 0, 2)};
    wire::Tcp tcp{.source_port = 4000,
                  .destination_port = 80,
                  .sequence = 1000,
                  .acknowledgement = 7,
                  .flags = wire::tcp_flag::ack,
                  .window = 500};
    test::ByteVector options;  ///< a multiple of four bytes
    test::ByteVector payload;

    test::ByteVector bytes() const {
        auto whole_ip = ip;
        auto whole_tcp = tcp;
        whole_tcp.header_words = static_cast<std::uint8_t>(5 + options.size() / 4);
        whole_ip.total_length = static_cast<std::uint16_t>(40 + options.size() + payload.size());
        test::ByteVector out(40 + options.size() + payload.size());
        whole_ip.with_checksum().emit(std::span(out).first<20>());
        whole_tcp.emit(std::span(out).subspan<20, 20>());
        std::ranges::copy(options, out.begin() + 40);
        std::ranges::copy(payload, out.end() - static_cast<std::ptrdiff_t>(payload.size()));
        wire::store16(out, 20 + 16, test::naive_l4_checksum(out, 20));
        return out;
    }

    /// The next packet of the same flow, with `size` bytes of payload.
    TcpPacket followed_by(std::size_t size, unsigned seed = 1) const {
        auto next = *this;
        next.tcp.sequence += static_cast<std::uint32_t>(payload.size());
        ++next.ip.identification;
        next.payload = test::pattern(size, seed);
        return next;
    }
};

/// A kernel's timestamp option, padded as everyone pads it (RFC 7323, appendix A).
inline test::ByteVector timestamps(unsigned value) {
    return test::bytes_from(1, 1, 8, 10, 0, 0, value >> 8, value & 255, 0, 0, 0, 9);
}

}  // namespace verbline::offload
