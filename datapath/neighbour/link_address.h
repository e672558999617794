// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Link-layer addresses of both kinds of link, as one type: a MAC address, or an IPoIB address (QPN and GID; RFC 4391,
/// 9.1.1).

#include <string>
#include <variant>

#include "datapath/wire/types.h"

namespace verbline::neighbour {

using LinkAddress = std::variant<wire::MacAddress, wire::IpoibAddress>;

/// Whether an interface can have this address: not zero, not multicast, and no QPN that is reserved for management
/// (RFC 826; RFC 4391, 9.1.1).
bool is_host(const wire::MacAddress& mac);
bool is_host(const wire::IpoibAddress& address);
bool is_host(const LinkAddress& address);

/// The all-zero address of this kind, which means "unknown" in ARP.
LinkAddress unknown_like(const LinkAddress& address);
std::string to_string(const LinkAddress& address);

}  // namespace verbline::neighbour
