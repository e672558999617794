// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/hca/offers.h"

#include <algorithm>
#include <bit>

#include "pmd/hca/extended_verbs.h"

namespace verbline::pmd::hca {
namespace {

constexpr std::uint32_t of_ud = 1u << IBV_QPT_UD;  ///< in masks of queue pair types
constexpr std::uint64_t ipv4 = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4;
constexpr std::uint64_t ipv6 = IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_DST_IPV6;
constexpr std::uint64_t tcp_ports = IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_TCP;
constexpr std::uint64_t udp_ports = IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP;

/// Both of a pair or none: by the source alone a server's flows are spread, but not its answers' at their sender.
std::uint64_t whole_pairs(std::uint64_t fields) {
    std::uint64_t pairs = 0;
    for (const auto pair : {ipv4, ipv6, tcp_ports, udp_ports}) {
        if ((fields & pair) == pair) pairs |= pair;
    }
    return pairs;
}

}  // namespace

Offers offers_of(ibv_context& context) {
    ibv_device_attr_ex device{};
    if (query_device_ex(context, device) != 0) return {};
    Offers offers{.checksums = (device.orig_attr.device_cap_flags & IBV_DEVICE_UD_IP_CSUM) != 0};
    if (offers.checksums && (device.tso_caps.supported_qpts & of_ud) != 0) offers.max_tso = device.tso_caps.max_tso;
    const auto& rss = device.rss_caps;
    const auto fields = whole_pairs(rss.rx_hash_fields_mask);
    const bool spreads = (rss.supported_qpts & of_ud) != 0 && rss.max_rwq_indirection_tables > 0 &&
                         (rss.rx_hash_function & IBV_RX_HASH_FUNC_TOEPLITZ) != 0 && (fields & ipv4) != 0;
    if (spreads && has_work_queues(context)) {
        // A table has a power of two of entries.
        offers.most_entries = std::bit_floor(rss.max_rwq_indirection_table_size);
        offers.receive_queues = std::max(std::min(offers.most_entries, device.max_wq_type_rq), 1u);
        offers.hash_fields = fields;
    }
    return offers;
}

}  // namespace verbline::pmd::hca
