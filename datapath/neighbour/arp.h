// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// ARP packets (wire/arp.h) of Ethernet and IPoIB as messages (message.h), and back.
///
/// Functions of their arguments.

#include <cstddef>
#include <optional>

#include "datapath/neighbour/message.h"
#include "datapath/wire/arp.h"
#include "datapath/wire/bytes.h"

namespace verbline::neighbour {

/// Largest size of an ARP packet, in bytes.
constexpr std::size_t max_arp_size = wire::IpoibArp::size;

/// Parses ARP, from its hardware type on, of a link whose addresses are of the same kind as `like`. Bytes behind it
/// (padding) are ignored.
Read read_arp(wire::Bytes packet, const LinkAddress& like);

/// Writes a message of IPv4 addresses, for one receiver or for all (broadcast). Returns the length in bytes; `out` must
/// hold `max_arp_size`.
std::size_t write_arp(wire::MutableBytes out, const Message& message, const std::optional<LinkAddress>& to);

}  // namespace verbline::neighbour
