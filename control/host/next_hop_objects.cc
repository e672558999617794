// SPDX-License-Identifier: BSD-3-Clause
#include "control/host/next_hop_objects.h"

#include <algorithm>
#include <concepts>
#include <optional>

namespace verbline::host {
namespace {

/// As a hop of a route of this family, to which a gateway of the other may be of no use.
template <class Address>
std::optional<BasicHop<Address>> hop_for(const Hop& hop, std::uint32_t weight) {
    auto out = BasicHop<Address>{.ifindex = hop.ifindex, .usable = hop.usable, .weight = weight};
    if constexpr (std::same_as<Address, wire::Ipv4Address>) {
        out.gateway = hop.gateway;
        out.ipv6_gateway = hop.ipv6_gateway;
    } else {
        if (hop.gateway != wire::Ipv4Address{}) return std::nullopt;
        out.gateway = hop.ipv6_gateway.value_or(Address{});
    }
    return out;
}

}  // namespace

bool NextHopObjects::set(const NextHopObject& object) {
    const auto [entry, fresh] = objects_.try_emplace(object.id, object);
    if (fresh) return true;
    if (entry->second == object) return false;
    entry->second = object;
    return true;
}

std::set<std::uint32_t> NextHopObjects::affected_by(std::uint32_t id) const {
    std::set<std::uint32_t> out{id};
    for (const auto& [number, object] : objects_) {
        if (std::ranges::find(object.group, id, &NextHopObject::Member::id) != object.group.end()) out.insert(number);
    }
    return out;
}

bool NextHopObjects::is_blackhole(std::uint32_t id) const {
    const auto found = objects_.find(id);
    if (found == objects_.end()) return false;
    const auto& object = found->second;
    if (object.group.size() != 1) return object.blackhole;  // in a group, it is the only member
    const auto member = objects_.find(object.group.front().id);
    return member != objects_.end() && member->second.blackhole;
}

template <class Address>
std::vector<BasicHop<Address>> NextHopObjects::hops(std::uint32_t id) const {
    std::vector<BasicHop<Address>> out;
    const auto add = [&](const NextHopObject& object, std::uint32_t weight) {
        if (object.blackhole || !object.group.empty()) return;  // the kernel has no groups of groups
        if (const auto hop = hop_for<Address>(object.hop, weight)) out.push_back(*hop);
    };
    const auto found = objects_.find(id);
    if (found == objects_.end()) return out;
    add(found->second, 1);
    for (const auto& member : found->second.group) {
        const auto object = objects_.find(member.id);
        if (object != objects_.end()) add(object->second, member.weight);
    }
    return out;
}

template std::vector<Hop> NextHopObjects::hops<wire::Ipv4Address>(std::uint32_t) const;
template std::vector<Ipv6Hop> NextHopObjects::hops<wire::Ipv6Address>(std::uint32_t) const;

}  // namespace verbline::host
