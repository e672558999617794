// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The UDP source port of an IP packet carried by RoCE v2: a hash of its flow, so that receive queues and equal-cost
/// paths, which know only the outer headers, spread the flows inside (IBTA annex A17).

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "datapath/link/flow_hash.h"
#include "datapath/wire/bytes.h"

namespace verbline::ipoib {

/// The UDP source port for a packet that begins at its IP header: 0xc000..0xffff, as link::udp_source_port. A flow is
/// what link::flow_of says; all that is of none (ARP) is one.
inline std::uint16_t flow_port(wire::Bytes packet) noexcept {
    constexpr std::uint64_t multiplier = 0x9e37'79b9'7f4a'7c15;  // 2^64 by the golden ratio (Knuth, 6.4)
    constexpr std::uint32_t lowest = 0xc000;
    std::uint64_t hash = 0;
    const auto add = [&hash]<std::size_t size>(std::span<const std::byte, size> bytes) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data(), size);  // in either byte order: only the sender hashes
        hash = (hash ^ word) * multiplier;
        hash ^= hash >> 32;  // upper bits of a product reach lower ones of the next
    };
    const auto flow = link::flow_of(pmd::Carries::ip, packet);
    for (std::size_t i = 0; i < flow.addresses.size(); i += 8) add(flow.addresses.subspan(i).first<8>());
    if (!flow.ports.empty()) add(flow.ports.first<4>());
    return static_cast<std::uint16_t>(lowest | hash >> 50);
}

}  // namespace verbline::ipoib
