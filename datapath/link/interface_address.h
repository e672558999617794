// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// An interface address with its prefix length, of either family: 10.99.0.1/16, fd76::1/64. On an InfiniBand port it is
/// in a partition, as that of the kernel's ib0.8001 is: 10.8.0.1/24%0x8001.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "datapath/wire/types.h"

namespace verbline::link {

struct InterfaceAddress {
    wire::Gid gid{};            ///< an IPv4 address is mapped, as in datapath/link/ip_gid.h
    std::uint8_t length = 128;  ///< prefix length: 0..32 or 0..128, by family
    wire::PKey pkey{0xffff};    ///< InfiniBand: its partition's, of full members

    constexpr auto operator<=>(const InterfaceAddress&) const = default;
};

/// Whether a host may be assigned it: not a multicast, unspecified, loopback, network or broadcast address, and with a
/// valid prefix length.
bool usable(const InterfaceAddress& address);

/// Those of the addresses that are in this partition.
std::vector<InterfaceAddress> addresses_in(wire::PKey pkey, std::span<const InterfaceAddress> all);

/// The address's network: host bits zero.
InterfaceAddress network_of(const InterfaceAddress& address);

/// Whether `address` is on the network of `own`; false if it is of another family.
bool contains(const InterfaceAddress& own, const wire::Gid& address);

std::string to_string(const InterfaceAddress& address);
/// The address alone: "10.99.0.1" or "fd76::1".
std::string address_text(const wire::Gid& gid);
/// Parses "10.99.0.1/16" or "fd76::1/64"; none if the text is neither. Does not require `usable`, so networks parse
/// too.
std::optional<InterfaceAddress> parse_interface_address(std::string_view text);
/// The same, of an InfiniBand port: also with the P_Key of a partition, behind a percent sign.
std::optional<InterfaceAddress> parse_ipoib_address(std::string_view text);

}  // namespace verbline::link
