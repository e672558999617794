// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/rdma/steering.h"

#include <array>

#include <rte_thash.h>

#include "datapath/wire/ipv4.h"
#include "datapath/wire/ipv6.h"
#include "datapath/wire/udp.h"

namespace verbline::rdma {
namespace {

/// RSS hash of a packet from the peer. `addresses` are those of a packet to the peer, source first, `bytes` each.
template <std::size_t bytes>
std::uint32_t hash(const pmd::RssTable& rss, wire::Bytes addresses, std::uint16_t source_port) {
    constexpr std::size_t words = bytes / 4;
    std::array<std::uint32_t, 2 * words + 1> input;
    for (std::size_t i = 0; i < words; ++i) {
        input[i] = wire::load32(addresses, bytes + i * 4);  // the peer's, where ours is the source
        input[words + i] = wire::load32(addresses, i * 4);
    }
    input[2 * words] = std::uint32_t{source_port} << 16 | wire::roce_v2_port;
    return rte_softrss(input.data(), rss.udp_ports ? input.size() : 2 * words, rss.key.data());
}

}  // namespace

std::optional<std::uint16_t> receive_queue(const pmd::RssTable& rss, const link::Envelope& to_peer,
                                           std::uint16_t source_port) {
    constexpr std::size_t ipv4_addresses_at = 12, ipv6_addresses_at = 8;
    const auto network = to_peer.view().subspan(to_peer.covered_at);
    std::uint32_t value = 0;
    switch (to_peer.carrier) {
        case link::Carrier::roce_v2_ipv4: value = hash<4>(rss, network.subspan(ipv4_addresses_at), source_port); break;
        case link::Carrier::roce_v2_ipv6: value = hash<16>(rss, network.subspan(ipv6_addresses_at), source_port); break;
        default: return std::nullopt;
    }
    return rss.queues[value & (rss.queues.size() - 1)];
}

}  // namespace verbline::rdma
