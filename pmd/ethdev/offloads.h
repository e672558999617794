// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Offloads and RSS types of a DPDK port: their names, those that the datapath can use, and the choice among them.
///
/// Names are DPDK's own in small letters with hyphens, as testpmd's users know them: ipv4-cksum, tcp-tso, multi-segs.
/// One that both directions have means both, unless it begins with rx- or tx-.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pmd/base/error.h"

namespace verbline::pmd {

struct Offloads {
    std::uint64_t rx = 0;   ///< RTE_ETH_RX_OFFLOAD_*
    std::uint64_t tx = 0;   ///< RTE_ETH_TX_OFFLOAD_*
    std::uint64_t rss = 0;  ///< RTE_ETH_RSS_*: what is hashed, of a port with several receive queues

    bool operator==(const Offloads&) const = default;
};

/// All that packets may request or that is of use to their receivers (../README.md).
extern const Offloads usable_offloads;

/// What somebody has named; a port must have some of it.
struct NamedOffload {
    std::string name;
    Offloads offloads;
};

/// What a port is set up with.
struct OffloadChoice {
    Offloads if_there = usable_offloads;   ///< as far as the driver has them
    std::vector<NamedOffload> named = {};  ///< besides; a driver that has none of one is refused

    /// No offloads, and RSS by what the driver has.
    static OffloadChoice none() { return {.if_there = {.rss = usable_offloads.rss}}; }
};

/// `all`, `none`, or names with commas. EINVAL: one is unknown; the known ones are listed.
Result<OffloadChoice> parse_offloads(std::string_view text);
/// Puts these types in place of the usual ones: names with commas, such as ip,udp or ipv4-udp. EINVAL as above.
Result<void> choose_rss_types(std::string_view text, OffloadChoice& choice);

/// What `driver` has of a choice. EINVAL: it has none of what was named; those that can be named are listed.
Result<Offloads> resolve(const OffloadChoice& choice, const Offloads& driver);

std::vector<std::string> rx_offload_names(std::uint64_t mask);
std::vector<std::string> tx_offload_names(std::uint64_t mask);
/// Of types, without the groups that they belong to.
std::vector<std::string> rss_type_names(std::uint64_t mask);

}  // namespace verbline::pmd
