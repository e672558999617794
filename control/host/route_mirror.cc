// SPDX-License-Identifier: BSD-3-Clause
#include "control/host/route_mirror.h"

#include <algorithm>
#include <concepts>
#include <functional>
#include <tuple>

namespace verbline::host {

namespace {

/// The order in which the kernel's own rules consult the tables (ip rule); nothing for those they do not name.
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

/// A hop may have died since the route was added; it is still the same route.
template <class Address>
bool same(const BasicRoute<Address>& a, const BasicRoute<Address>& b) {
    const auto same_way = [](const auto& x, const auto& y) {
        return x.ifindex == y.ifindex && x.gateway == y.gateway && x.ipv6_gateway == y.ipv6_gateway;
    };
    return preference(a) == preference(b) && a.type == b.type && a.protocol == b.protocol &&
           a.preferred_source == b.preferred_source && std::ranges::equal(a.hops, b.hops, same_way);
}

/// An IPv6 route with several hops is as many routes. Calls use(route) for each; false: it is one.
template <class Address>
bool for_each_part(const BasicRoute<Address>& route, const std::function<void(const BasicRoute<Address>&)>& use) {
    if (std::same_as<Address, wire::Ipv4Address> || route.hops.size() < 2) return false;
    auto part = route;
    for (const auto& hop : route.hops) {
        part.hops = {hop};
        use(part);
    }
    return true;
}

}  // namespace

template <class Address>
auto BasicRouteMirror<Address>::attach(int ifindex, forward::InterfaceId id) -> Actions {
    Actions out;
    ours_[ifindex] = id;
    reconcile_all(out);
    return out;
}

template <class Address>
auto BasicRouteMirror<Address>::detach(int ifindex) -> Actions {
    Actions out;
    ours_.erase(ifindex);
    reconcile_all(out);
    return out;
}

template <class Address>
auto BasicRouteMirror<Address>::received(const KernelEvent& event) -> Actions {
    Actions out;
    if (const auto* changed = std::get_if<LinkChanged>(&event)) link(changed->link.ifindex, changed->link.up, out);
    if (const auto* removed = std::get_if<LinkRemoved>(&event)) link(removed->ifindex, false, out);
    if (const auto* added = std::get_if<RouteAdded>(&event)) add(*added, out);
    if (const auto* removed = std::get_if<RouteRemoved>(&event)) remove(removed->route, out);
    if (std::holds_alternative<Resync>(event)) forget();
    if (std::holds_alternative<Synced>(event)) {
        synced_ = true;
        reconcile_all(out);
    }
    return out;
}

template <class Address>
void BasicRouteMirror<Address>::link(int ifindex, bool up, Actions& out) {
    const bool changed = up ? up_.insert(ifindex).second : up_.erase(ifindex) > 0;
    if (changed && ours_.contains(ifindex)) reconcile_all(out);
}

template <class Address>
void BasicRouteMirror<Address>::add(const RouteAdded& added, Actions& out) {
    const auto& route = added.route;
    if (!rank(route.table)) return counters_.routes_ignored_table.add();
    if (route.tos != 0) return counters_.routes_ignored_tos.add();
    if (route.hops.size() > 1) counters_.routes_multipath.add();
    if (for_each_part<Address>(route, [&](const Route& part) { add({part, added.place}, out); })) return;

    const auto slot = slots_.try_emplace(route.prefix).first;
    auto& routes = slot->second.routes;
    // Heard of already, in a dump taken after the change: then the dump's order is the newer one.
    if (std::ranges::any_of(routes, [&](const Route& known) { return same(known, route); })) return;

    const auto equals = std::ranges::equal_range(routes, preference(route), {}, preference<Address>);
    if (added.place == Place::instead_of_first && !equals.empty()) {
        equals.front() = route;
    } else {
        routes.insert(added.place == Place::last ? equals.end() : equals.begin(), route);
    }
    reconcile(slot, out);
}

template <class Address>
void BasicRouteMirror<Address>::remove(const Route& route, Actions& out) {
    if (for_each_part<Address>(route, [&](const Route& part) { remove(part, out); })) return;
    const auto slot = slots_.find(route.prefix);
    if (slot == slots_.end() || route.tos != 0) return;
    auto& routes = slot->second.routes;
    const auto gone = std::ranges::find_if(routes, [&](const Route& known) { return same(known, route); });
    if (gone == routes.end()) return;
    routes.erase(gone);
    reconcile(slot, out);
}

template <class Address>
void BasicRouteMirror<Address>::forget() {
    synced_ = false;
    up_.clear();
    for (auto& [prefix, slot] : slots_) slot.routes.clear();
}

template <class Address>
auto BasicRouteMirror<Address>::wanted(const Slot& slot) const -> std::optional<NextHop> {
    for (const auto& route : slot.routes) {
        if (auto next_hop = next_hop_of(route)) return next_hop;
    }
    return std::nullopt;
}

template <class Address>
auto BasicRouteMirror<Address>::next_hop_of(const Route& route) const -> std::optional<NextHop> {
    if (route.type == RTN_BLACKHOLE) return NextHop{.kind = NextHop::Kind::blackhole};
    if (route.type == RTN_UNREACHABLE || route.type == RTN_PROHIBIT) return NextHop{};
    // An address is ours even while its link is down, and whatever link it is on (RFC 1122, 3.3.4.2: weak host model).
    if (route.type == RTN_LOCAL) return NextHop{.kind = NextHop::Kind::local};
    // A subnet's routers' (RFC 4291, 2.6.1).
    if (route.type == RTN_ANYCAST) return NextHop{.kind = NextHop::Kind::local};
    if (route.type != RTN_UNICAST && route.type != RTN_BROADCAST) return std::nullopt;
    for (const auto& hop : route.hops) {
        const auto interface = ours_.find(hop.ifindex);
        if (!hop.usable || interface == ours_.end() || !up_.contains(hop.ifindex)) continue;
        if (route.type == RTN_BROADCAST) return NextHop{.kind = NextHop::Kind::local};
        const auto gateway = gateway_of(hop);
        if (!gateway) continue;
        const bool via = *gateway != Address{};
        return NextHop{via ? NextHop::Kind::via : NextHop::Kind::on_link, interface->second, *gateway};
    }
    return std::nullopt;
}

/// As forwarding knows it: zero, if the destination is on the link; none, if it cannot be known.
template <class Address>
auto BasicRouteMirror<Address>::gateway_of(const BasicHop<Address>& hop) const -> std::optional<Address> {
    if constexpr (std::same_as<Address, wire::Ipv4Address>) {
        if (hop.ipv6_gateway) return ipv6_gateways_ != nullptr ? ipv6_gateways_->add(*hop.ipv6_gateway) : std::nullopt;
    }
    return hop.gateway;
}

template <class Address>
auto BasicRouteMirror<Address>::reconcile(typename Slots::iterator slot, Actions& out) -> typename Slots::iterator {
    if (!synced_) return std::next(slot);
    auto& [prefix, state] = *slot;
    const auto next_hop = wanted(state);
    if (next_hop != state.published) {
        if (next_hop) {
            out.push_back(Set{prefix, *next_hop});
        } else {
            out.push_back(Unset{prefix});
        }
        state.published = next_hop;
    }
    return state.routes.empty() ? slots_.erase(slot) : std::next(slot);
}

template <class Address>
void BasicRouteMirror<Address>::reconcile_all(Actions& out) {
    for (auto slot = slots_.begin(); slot != slots_.end();) {
        const auto next = synced_ ? reconcile(slot, out) : std::next(slot);
        slot = next;
    }
}

template class BasicRouteMirror<wire::Ipv4Address>;
template class BasicRouteMirror<wire::Ipv6Address>;

}  // namespace verbline::host
