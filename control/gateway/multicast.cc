// SPDX-License-Identifier: BSD-3-Clause
#include "control/gateway/multicast.h"

#include <algorithm>

#include "control/multicast/group_scope.h"

namespace verbline::gateway {
namespace {

using multicast::GroupRoutes, multicast::Side;

constexpr std::size_t most_asked = 256;

GroupRoutes::Setup setup_of(const Multicast::Ports& ports, bool routes) {
    GroupRoutes::Setup setup{.ports = ports.size()};
    for (const auto& port : ports) {
        if (routes_multicast(*port, routes)) setup.routed |= multicast::bit(port->id());
        if (port->ipoib() != nullptr) setup.subnets |= multicast::bit(port->id());
    }
    return setup;
}

}  // namespace

bool routes_multicast(const GatewayPort& port, bool gateway) {
    return gateway && port.config().multicast;
}

Multicast::Multicast(const Ports& ports, router::ShardLinks& shards, bool routes)
    : ports_(ports), shards_(shards), gateway_(routes), routes_(setup_of(ports, routes)) {
    for (const auto& port : ports_) follow(*port);
}

Multicast::~Multicast() {
    for (const auto& port : ports_) {
        port->port().on_listener([](const auto&, auto, bool) {});
        port->port().on_unknown_group([](const auto&) {});
        if (auto* ipoib = port->ipoib()) ipoib->on_groups_changed([] {});
    }
}

void Multicast::follow(GatewayPort& port) {
    port.port().on_listener([this, &port](const wire::Gid& group, Side side, bool listening) {
        set(group, port.id(), side, listening);
        if (!listening || !multicast::is_routed(group)) return;
        for (const auto& each : ports_) compare(*each);
    });
    port.port().on_unknown_group([this](const wire::Gid& group) { unknown(group); });
    if (auto* ipoib = port.ipoib()) ipoib->on_groups_changed([this, &port] { compare(port); });
}

void Multicast::change(const GatewayPort& port) {
    const bool routed = routes_multicast(port, gateway_);
    port.port().set_multicast(routed);
    perform(routes_.set_routed(port.id(), routed));
    compare(port);
}

/// Packets come to a group of which no reports tell: a subnet's manager may know it.
void Multicast::unknown(const wire::Gid& group) {
    if (!multicast::is_routed(group)) return;
    std::erase(asked_, group);
    if (asked_.size() >= most_asked) asked_.erase(asked_.begin());
    asked_.push_back(group);
    for (const auto& port : ports_) {
        port->port().look_for_group(group);
        compare(*port);
    }
}

/// Takes over what a subnet's manager knows of the groups that matter here.
void Multicast::compare(const GatewayPort& port) {
    auto* const ipoib = port.ipoib();
    if (ipoib == nullptr) return;
    const auto one = [&](const wire::Gid& group) {
        const bool exists = ipoib->group_exists(group);
        if (exists != routes_.listens(group, port.id(), Side::fabric)) set(group, port.id(), Side::fabric, exists);
    };
    for (const auto& group : routes_.groups()) one(group);
    for (const auto& group : std::vector(asked_)) one(group);
}

void Multicast::set(const wire::Gid& group, forward::InterfaceId port, Side side, bool listening) {
    perform(routes_.set(group, port, side, listening));
}

void Multicast::perform(const multicast::RouteActions& actions) {
    for (const auto& action : actions) {
        if (const auto* route = std::get_if<multicast::Route>(&action)) {
            shards_.send(router::SetGroupRoute{route->group, route->links, route->kernels});
        } else if (const auto* use = std::get_if<multicast::Use>(&action)) {
            ports_[static_cast<std::size_t>(use->port)]->port().use_group(*use);
        }
    }
}

}  // namespace verbline::gateway
