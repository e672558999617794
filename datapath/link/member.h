// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Addresses of the processes that share a port, the members of a node (`verbline node`).
///
///     QPN          | member, 10 bits | queue pair, 14 bits |      0 to 2 are the node's own: QP0, QP1 and IPoIB's; its
///                                                                 highest quarter are XRC targets that members share
///     MAC address  06:76:6e:6f: | member, 16 bits |               between members and their node; never on the wire
///
/// On the wire all members have the port's addresses, and a packet's destination QPN names its member. Within the node
/// each has a MAC address besides, so that an ordinary switch tells them apart. MAC addresses are not covered by the
/// ICRC (IBTA annex A16, A17), so that they may be replaced. All functions are pure.

#include <cstddef>
#include <cstdint>
#include <optional>

#include "datapath/wire/bytes.h"
#include "datapath/wire/types.h"

namespace verbline::link {

/// 0: the node itself.
enum class MemberId : std::uint16_t {};

constexpr unsigned member_queue_pair_bits = 14;
constexpr std::uint32_t member_queue_pairs = 1u << member_queue_pair_bits;  ///< of one member
constexpr unsigned member_bits = 24 - member_queue_pair_bits;
/// XRC targets that members share have numbers of the node's range, by which each of these members knows them. So the
/// last of the 14 bits' values are no member's own.
constexpr std::uint32_t shared_targets = member_queue_pairs / 4;
constexpr std::uint32_t own_queue_pairs = member_queue_pairs - shared_targets;  ///< of one member
constexpr std::uint16_t last_member = (1u << member_bits) - 1;
constexpr MemberId node_itself{0};
/// Of a node on a soft fabric: for ARP and ND, as an IPoIB interface has one (RFC 4391, 4).
constexpr wire::Qpn node_ipoib_qpn{2};

constexpr std::uint32_t first_qpn(MemberId member) {
    return std::uint32_t{static_cast<std::uint16_t>(member)} << member_queue_pair_bits;
}
constexpr MemberId member_of(wire::Qpn qpn) {
    return MemberId{static_cast<std::uint16_t>(static_cast<std::uint32_t>(qpn) >> member_queue_pair_bits)};
}

constexpr bool is_shared_target(wire::Qpn qpn) {
    const auto number = static_cast<std::uint32_t>(qpn);
    return number >= own_queue_pairs && number < member_queue_pairs;
}

constexpr std::uint32_t member_mac_prefix = 0x0676'6e6f;  ///< locally administered

constexpr wire::MacAddress mac_of(MemberId member) {
    wire::MacAddress mac;
    wire::store32(mac.bytes, 0, member_mac_prefix);
    wire::store16(mac.bytes, 4, static_cast<std::uint16_t>(member));
    return mac;
}
/// None: no member's address.
constexpr std::optional<MemberId> member_of(const wire::MacAddress& mac) {
    if (wire::load32(mac.bytes, 0) != member_mac_prefix) return std::nullopt;
    return MemberId{wire::load16(mac.bytes, 4)};
}

}  // namespace verbline::link
