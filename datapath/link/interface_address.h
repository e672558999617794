// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// An address of an interface and the network it lies in, of either family: 10.99.0.1/16, fd76::1/64.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "datapath/wire/types.h"

namespace verbline::link {

struct InterfaceAddress {
    wire::Gid gid{};            ///< an IPv4 address is mapped, as in datapath/link/ip_gid.h
    std::uint8_t length = 128;  ///< of the family: 0..32 or 0..128

    constexpr auto operator<=>(const InterfaceAddress&) const = default;
};

/// Whether a host can have it: no multicast, unspecified, loopback, network or broadcast address; a prefix length that
/// there is.
bool usable(const InterfaceAddress& address);

/// The network it lies in: host bits zero.
InterfaceAddress network_of(const InterfaceAddress& address);

std::string to_string(const InterfaceAddress& address);
/// "10.99.0.1/16" or "fd76::1/64"; nothing if it is neither. Need not be `usable`: a network is not.
std::optional<InterfaceAddress> parse_interface_address(std::string_view text);

}  // namespace verbline::link
