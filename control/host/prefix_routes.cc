// SPDX-License-Identifier: BSD-3-Clause
#include "control/host/prefix_routes.h"

#include <algorithm>
#include <concepts>
#include <optional>
#include <tuple>

namespace verbline::host {
namespace {

template <class Address>
constexpr bool is_ipv6 = std::same_as<Address, wire::Ipv6Address>;

/// The order in which the kernel's own rules consult the tables; nothing for those they do not name.
std::optional<int> rank(std::uint32_t table) {
    switch (table) {
        case RT_TABLE_LOCAL: return 0;
        case RT_TABLE_MAIN: return 1;
        case RT_TABLE_DEFAULT: return 2;
        default: return std::nullopt;
    }
}

template <class Address>
auto preference(const BasicRoute<Address>& route) {
    return std::tuple(rank(route.table), route.metric);
}

/// A hop may have died since the route was added; it is still the same route. The weight of an IPv6 one is reported
/// only while the route has others.
template <class Address>
bool same(const BasicRoute<Address>& a, const BasicRoute<Address>& b) {
    const auto same_way = [](const auto& x, const auto& y) {
        return x.ifindex == y.ifindex && x.gateway == y.gateway && x.ipv6_gateway == y.ipv6_gateway &&
               (is_ipv6<Address> || x.weight == y.weight);
    };
    return preference(a) == preference(b) && a.type == b.type && a.protocol == b.protocol &&
           a.preferred_source == b.preferred_source && a.next_hop_id == b.next_hop_id &&
           (a.next_hop_id != 0 || std::ranges::equal(a.hops, b.hops, same_way));
}

/// Calls `use` with the route, or with each of those that an IPv6 route of several hops is.
template <class Address, class Use>
void for_each_part(const BasicRoute<Address>& route, Use use) {
    if (!is_ipv6<Address> || route.next_hop_id != 0 || route.hops.size() < 2) return use(route);
    auto part = route;
    for (const auto& hop : route.hops) {
        part.hops = {hop};
        use(part);
    }
}

template <class Address>
bool may_share(const BasicRoute<Address>& route) {
    if (!is_ipv6<Address> || route.type != RTN_UNICAST || route.protocol == RTPROT_RA) return false;
    if (route.next_hop_id != 0) return false;
    return !route.hops.empty() && route.hops.front().gateway != Address{};
}

}  // namespace

template <class Address>
bool BasicPrefixRoutes<Address>::consults(std::uint32_t table) {
    return rank(table).has_value();
}

template <class Address>
bool BasicPrefixRoutes<Address>::share(const Route& one, const Route& other) {
    return may_share(one) && may_share(other) && preference(one) == preference(other);
}

template <class Address>
void BasicPrefixRoutes<Address>::add(const Route& route, Place place) {
    if (is_ipv6<Address> && place == Place::instead_of_first) {
        remove_replaced(route);
        place = Place::first;
    }
    for_each_part(route, [&](const Route& part) { insert(part, place); });
}

template <class Address>
void BasicPrefixRoutes<Address>::remove(const Route& route) {
    for_each_part(route, [this](const Route& part) { take_out(part); });
}

template <class Address>
void BasicPrefixRoutes<Address>::insert(const Route& route, Place place) {
    // Heard of already, in a dump taken after the change: then the dump's order is the newer one.
    if (std::ranges::any_of(routes_, [&](const Route& known) { return same(known, route); })) return;
    const auto equals = std::ranges::equal_range(routes_, preference(route), {}, preference<Address>);
    if (place == Place::instead_of_first && !equals.empty()) {
        equals.front() = route;
    } else {
        routes_.insert(place == Place::last ? equals.end() : equals.begin(), route);
    }
}

/// Removes what an IPv6 route replaces: one of its own kind if there is any; of those that share packets, all.
template <class Address>
void BasicPrefixRoutes<Address>::remove_replaced(const Route& route) {
    const auto equals = std::ranges::equal_range(routes_, preference(route), {}, preference<Address>);
    if (equals.empty()) return;
    const auto alike = std::ranges::find(equals, may_share(route), may_share<Address>);
    const auto replaced = alike != equals.end() ? alike : equals.begin();
    if (!may_share(*replaced)) {
        routes_.erase(replaced);
        return;
    }
    const auto gone = std::ranges::remove_if(equals, may_share<Address>);
    routes_.erase(gone.begin(), gone.end());
}

template <class Address>
void BasicPrefixRoutes<Address>::take_out(const Route& route) {
    const auto gone = std::ranges::find_if(routes_, [&](const Route& known) { return same(known, route); });
    if (gone != routes_.end()) routes_.erase(gone);
}

template class BasicPrefixRoutes<wire::Ipv4Address>;
template class BasicPrefixRoutes<wire::Ipv6Address>;

}  // namespace verbline::host
