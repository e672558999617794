// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// ARP of either kind of link as one value: what wire/arp.h knows as two types, by the time it is asked for.

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

    /// Reads ARP for links of the kind that `like` is an address of. Bytes behind the message (padding) are ignored.
    static wire::Parsed<ArpMessage> parse(wire::Bytes packet, const HardwareAddress& like);
    /// Returns the size. `out` holds at least `max_size` bytes.
    std::size_t emit(wire::MutableBytes out) const;

    bool operator==(const ArpMessage&) const = default;
};

/// The address of this kind whose bytes are all zero: "not known" in ARP.
HardwareAddress unknown_like(const HardwareAddress& address);
/// Whether a neighbour can have this address: not zero, no group, and no QPN that is reserved (RFC 826; RFC
/// 4391, 9.1.1).
bool is_neighbour_address(const HardwareAddress& address);
std::string to_string(const HardwareAddress& address);

}  // namespace verbline::host
