// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Text form of addresses and numbers, for configuration, command lines and logs. Allocates: not for the packet path.
///
///     Ipv4Address   10.1.0.1                 Ipv4Prefix  10.1.0.1/24          Ipv6Address, Gid  fe80::2:c903:0:1
///     MacAddress    02:00:00:00:00:04        Guid        0x0002c90300000001   Lid   4, or 0xc000 if multicast
///     PKey          0x8001                   IpoibAddress  80:00:04:04:fe:80:...:01, as `ip link` prints it
///
/// `from_string` accepts the output of `to_string`, and numbers in decimal or, with 0x, hexadecimal; no surrounding
/// text or spaces.

#include <optional>
#include <string>
#include <string_view>

#include "datapath/wire/bytes.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

std::string to_string(Ipv4Address address);
std::string to_string(const Ipv4Prefix& prefix);
std::string to_string(const Ipv6Address& address);
std::string to_string(const Ipv6Prefix& prefix);
std::string to_string(const MacAddress& address);
std::string to_string(const IpoibAddress& address);
std::string to_string(const Gid& gid);
std::string to_string(Guid guid);
std::string to_string(Lid lid);
std::string to_string(PKey pkey);
std::string_view to_string(Malformed reason);

/// nullopt unless the whole text is one `Value`.
template <class Value>
std::optional<Value> from_string(std::string_view text) = delete;

template <>
std::optional<Ipv4Address> from_string(std::string_view text);
template <>
std::optional<Ipv4Prefix> from_string(std::string_view text);
template <>
std::optional<Ipv6Address> from_string(std::string_view text);
template <>
std::optional<Ipv6Prefix> from_string(std::string_view text);
template <>
std::optional<MacAddress> from_string(std::string_view text);
template <>
std::optional<IpoibAddress> from_string(std::string_view text);
template <>
std::optional<Gid> from_string(std::string_view text);
template <>
std::optional<Guid> from_string(std::string_view text);
template <>
std::optional<Lid> from_string(std::string_view text);
template <>
std::optional<PKey> from_string(std::string_view text);

}  // namespace verbline::wire
