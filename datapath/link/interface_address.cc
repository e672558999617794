// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/link/interface_address.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "datapath/link/ip_gid.h"
#include "datapath/wire/text.h"

namespace verbline::link {
namespace {

constexpr bool usable(wire::Ipv4Prefix prefix) {
    if (prefix.length == 0 || prefix.length > 32 || is_multicast(prefix.address)) return false;
    const auto first_byte = static_cast<std::uint32_t>(prefix.address) >> 24;
    if (first_byte == 0 || first_byte == 127 || first_byte >= 240) return false;
    // RFC 3021: a /31 has no network and no broadcast address.
    return prefix.length >= 31 || (prefix.address != prefix.network() && prefix.address != prefix.broadcast());
}

}  // namespace

bool usable(const InterfaceAddress& address) {
    if (wire::partition(address.pkey) == 0 || !wire::is_full_member(address.pkey)) return false;
    if (const auto ipv4 = ipv4_of(address.gid)) return usable({*ipv4, address.length});
    const bool none_or_loopback = address.gid.prefix() == 0 && address.gid.interface_id() <= wire::Guid{1};
    return !none_or_loopback && !address.gid.multicast() && address.length > 0 && address.length <= 128;
}

std::vector<InterfaceAddress> addresses_in(wire::PKey pkey, std::span<const InterfaceAddress> all) {
    std::vector<InterfaceAddress> own;
    std::ranges::copy_if(all, std::back_inserter(own), [pkey](const auto& address) { return address.pkey == pkey; });
    return own;
}

InterfaceAddress network_of(const InterfaceAddress& address) {
    const unsigned bits = (ipv4_of(address.gid) ? 96u : 0u) + address.length;
    auto network = address;
    for (unsigned i = 0; i < network.gid.bytes.size(); ++i) {
        const unsigned kept = bits <= 8 * i ? 0 : std::min(8u, bits - 8 * i);
        network.gid.bytes[i] &= static_cast<std::byte>(0xff00 >> kept);
    }
    return network;
}

bool contains(const InterfaceAddress& own, const wire::Gid& address) {
    const bool same_family = ipv4_of(own.gid).has_value() == ipv4_of(address).has_value();
    return same_family && network_of(own).gid == network_of({address, own.length}).gid;
}

std::string to_string(const InterfaceAddress& address) {
    const auto prefix = fmt::format("{}/{}", address_text(address.gid), address.length);
    return address.pkey == wire::PKey{0xffff} ? prefix : fmt::format("{}%{}", prefix, wire::to_string(address.pkey));
}

std::string address_text(const wire::Gid& gid) {
    const auto ipv4 = ipv4_of(gid);
    return ipv4 ? to_string(*ipv4) : to_string(gid);
}

std::optional<InterfaceAddress> parse_interface_address(std::string_view text) {
    if (const auto ipv4 = wire::from_string<wire::Ipv4Prefix>(text)) return {{gid_of(ipv4->address), ipv4->length}};
    const auto ipv6 = wire::from_string<wire::Ipv6Prefix>(text);
    if (!ipv6) return std::nullopt;
    const InterfaceAddress address{gid_of(ipv6->address), ipv6->length};
    if (ipv4_of(address.gid)) return std::nullopt;  // ::ffff:10.0.0.1/120 would be read as an IPv4 prefix
    return address;
}

std::optional<InterfaceAddress> parse_ipoib_address(std::string_view text) {
    const auto percent = text.find('%');
    auto address = parse_interface_address(text.substr(0, percent));
    if (!address || percent == std::string_view::npos) return address;
    const auto pkey = wire::from_string<wire::PKey>(text.substr(percent + 1));
    if (!pkey || wire::partition(*pkey) == 0) return std::nullopt;
    address->pkey = wire::full_member(*pkey);
    return address;
}

}  // namespace verbline::link
