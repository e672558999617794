// SPDX-License-Identifier: BSD-3-Clause
#include "control/host/route_mirror.h"

#include <algorithm>
#include <concepts>
#include <iterator>
#include <utility>

namespace verbline::host {

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
    if (const auto* changed = std::get_if<NextHopChanged>(&event)) {
        if (objects_.set(changed->object)) change(changed->object.id, out);
    }
    if (const auto* removed = std::get_if<NextHopRemoved>(&event)) {
        if (objects_.remove(removed->id)) change(removed->id, out);
    }
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
    if (!Routes::consults(route.table)) return counters_.routes_ignored_table.add();
    if (route.tos != 0) return counters_.routes_ignored_tos.add();
    if (route.hops.size() > 1) counters_.routes_multipath.add();
    if (route.next_hop_id != 0) referred_to_.insert(route.next_hop_id);
    const auto slot = slots_.try_emplace(route.prefix).first;
    slot->second.routes.add(route, added.place);
    reconcile(slot, out);
}

template <class Address>
void BasicRouteMirror<Address>::remove(const Route& route, Actions& out) {
    const auto slot = slots_.find(route.prefix);
    if (slot == slots_.end() || route.tos != 0) return;
    slot->second.routes.remove(route);
    reconcile(slot, out);
}

/// An object has changed. Most do before any route refers to them.
template <class Address>
void BasicRouteMirror<Address>::change(std::uint32_t next_hop_id, Actions& out) {
    auto affected = objects_.affected_by(next_hop_id);
    std::erase_if(affected, [this](std::uint32_t id) { return !referred_to_.contains(id); });
    if (affected.empty() || !synced_) return;
    const auto refers = [&](const Route& route) { return affected.contains(route.next_hop_id); };
    for (auto slot = slots_.begin(); slot != slots_.end();) {
        slot = std::ranges::any_of(slot->second.routes, refers) ? reconcile(slot, out) : std::next(slot);
    }
}

template <class Address>
void BasicRouteMirror<Address>::forget() {
    synced_ = false;
    up_.clear();
    objects_.clear();
    referred_to_.clear();
    for (auto& [prefix, slot] : slots_) slot.routes.clear();
}

template <class Address>
auto BasicRouteMirror<Address>::wanted(const Slot& slot) const -> std::optional<NextHops> {
    const auto& routes = slot.routes;
    for (auto route = routes.begin(); route != routes.end(); ++route) {
        auto used = members(*route);
        if (used.empty()) continue;
        for (auto other = std::next(route); other != routes.end(); ++other) {
            if (Routes::share(*route, *other)) std::ranges::copy(members(*other), std::back_inserter(used));
        }
        return NextHops(std::move(used));
    }
    return std::nullopt;
}

/// Where a route leads; nowhere, if it cannot be used.
template <class Address>
auto BasicRouteMirror<Address>::members(const Route& route) const -> Members {
    if (route.next_hop_id == 0) return members(route, route.hops);
    if (objects_.is_blackhole(route.next_hop_id)) return {{NextHop{.kind = NextHop::Kind::blackhole}}};
    return members(route, objects_.hops<Address>(route.next_hop_id));
}

template <class Address>
auto BasicRouteMirror<Address>::members(const Route& route, std::span<const BasicHop<Address>> hops) const -> Members {
    constexpr NextHop local{.kind = NextHop::Kind::local};
    if (route.type == RTN_BLACKHOLE) return {{NextHop{.kind = NextHop::Kind::blackhole}}};
    if (route.type == RTN_UNREACHABLE || route.type == RTN_PROHIBIT) return {{NextHop{}}};
    // An address is ours even while its link is down, and on any link (RFC 1122, 3.3.4.2: weak host model).
    if (route.type == RTN_LOCAL) return {{local}};
    // A subnet's routers' (RFC 4291, 2.6.1).
    if (route.type == RTN_ANYCAST) return {{local}};
    if (route.type != RTN_UNICAST && route.type != RTN_BROADCAST) return {};
    Members out;
    for (const auto& hop : hops) {
        const auto interface = ours_.find(hop.ifindex);
        if (!hop.usable || interface == ours_.end() || !up_.contains(hop.ifindex)) continue;
        if (route.type == RTN_BROADCAST) return {{local}};
        const auto gateway = gateway_of(hop);
        if (!gateway) continue;
        const bool via = *gateway != Address{};
        const auto kind = via ? NextHop::Kind::via : NextHop::Kind::on_link;
        out.push_back({{kind, interface->second, *gateway}, hop.weight});
    }
    return out;
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
    auto next_hops = wanted(state);
    if (next_hops != state.published) {
        if (next_hops) {
            out.push_back(Set{prefix, *next_hops});
        } else {
            out.push_back(Unset{prefix});
        }
        state.published = std::move(next_hops);
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
