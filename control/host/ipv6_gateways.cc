// SPDX-License-Identifier: BSD-3-Clause
#include "control/host/ipv6_gateways.h"

#include <cstdint>

namespace verbline::host {
namespace {

constexpr std::uint32_t first = 0x7f00'0001;  // 127.0.0.1

}  // namespace

std::optional<wire::Ipv4Address> Ipv6Gateways::add(const wire::Ipv6Address& gateway) {
    if (const auto known = find(gateway)) return known;
    if (gateways_.size() == max) return std::nullopt;
    const wire::Ipv4Address stand_in{first + static_cast<std::uint32_t>(gateways_.size())};
    gateways_.push_back(gateway);
    stand_ins_.emplace(gateway, stand_in);
    return stand_in;
}

std::optional<wire::Ipv4Address> Ipv6Gateways::find(const wire::Ipv6Address& gateway) const {
    const auto known = stand_ins_.find(gateway);
    return known == stand_ins_.end() ? std::nullopt : std::optional(known->second);
}

std::optional<wire::Ipv6Address> Ipv6Gateways::gateway_of(wire::Ipv4Address stand_in) const {
    const std::size_t index = static_cast<std::uint32_t>(stand_in) - first;  // wraps round below the first
    return index < gateways_.size() ? std::optional(gateways_[index]) : std::nullopt;
}

}  // namespace verbline::host
