// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// ARP messages of Ethernet and IPoIB (two types in wire/arp.h) as one type.

#include <cstddef>
#include <string>
#include <variant>

#include "datapath/wire/arp.h"
#include "datapath/wire/types.h"

namespace verbline::host {

using HardwareAddress = std::variant<wire::MacAddress, wire::IpoibAddress>;

struct ArpMessage {
    static constexpr std::size_t max_size = wire::IpoibArp::size;

    wire::ArpOperation operation{};
    HardwareAddress sender_link;  ///< both addresses are of the same kind
    wire::Ipv4Address sender{};
    HardwareAddress target_link;
    wire::Ipv4Address target{};

    /// Parses ARP for links of the same kind as `like`. Bytes behind the message (padding) are ignored.
    static wire::Parsed<ArpMessage> parse(wire::Bytes packet, const HardwareAddress& like);
    /// Returns the size in bytes. `out` must hold at least `max_size` bytes.
    std::size_t emit(wire::MutableBytes out) const;

    bool operator==(const ArpMessage&) const = default;
};

/// The all-zero address of this kind, which means "unknown" in ARP.
HardwareAddress unknown_like(const HardwareAddress& address);
/// Whether the address is valid for a neighbour: not zero, not multicast, and no reserved QPN (RFC 826; RFC 4391,
/// 9.1.1).
bool is_neighbour_address(const HardwareAddress& address);
std::string to_string(const HardwareAddress& address);

}  // namespace verbline::host
