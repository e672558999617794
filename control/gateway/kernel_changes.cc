// SPDX-License-Identifier: BSD-3-Clause
#include "control/gateway/kernel_changes.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "control/host/kernel_interface.h"

namespace verbline::gateway {
namespace {

Result<host::StaticRoute> static_route(host::Netlink& kernel, const RouteConfig& route) {
    const auto link = route.port.empty() ? host::Link{} : kernel.link(route.port);
    if (!link) return std::unexpected(link.error());
    return host::StaticRoute{.to = route.to, .via = route.via, .ifindex = link->ifindex};
}

}  // namespace

Result<void> set_route(host::Netlink& kernel, const GatewayConfig& config, const RouteConfig& route) {
    const auto wanted = static_route(kernel, route);
    const auto added = wanted ? host::add_static_route(kernel, *wanted) : std::unexpected(wanted.error());
    if (added) return {};
    return std::unexpected(config_error(config.file, route.line, added.error().what));
}

Result<void> KernelChanges::make(const Changes& changes, const GatewayConfig& wanted) {
    undo_.clear();
    auto made = try_all(changes, wanted);
    if (!made) undo();
    return made;
}

Result<void> KernelChanges::try_all(const Changes& changes, const GatewayConfig& wanted) {
    for (const auto& [port, address] : changes.added) {
        const int ifindex = ifindexes_[port];
        if (auto done = kernel_.add_address(ifindex, address); !done) {
            const auto& lines = port_of(wanted, port).lines;
            return std::unexpected(
                config_error(wanted.file, lines.address != 0 ? lines.address : lines.port, done.error().what));
        }
        undo_.emplace_back([this, ifindex, address] { (void)kernel_.remove_address(ifindex, address); });
    }
    for (const auto& [before, after] : changes.routes) {
        if (after == nullptr) continue;
        if (auto done = set(wanted, *after); !done) return done;
        undo_.emplace_back([this, before, after] {
            if (before != nullptr)
                (void)set(running_, *before);
            else
                (void)remove(*after);
        });
    }
    for (const auto& [before, after] : changes.routes) {
        if (after != nullptr) continue;
        if (auto done = remove(*before); !done) return done;
        undo_.emplace_back([this, before] { (void)set(running_, *before); });
    }
    for (const auto& [port, address] : changes.removed) {
        const int ifindex = ifindexes_[port];
        if (auto done = kernel_.remove_address(ifindex, address); !done) return done;
        undo_.emplace_back([this, ifindex, address] { (void)kernel_.add_address(ifindex, address); });
    }
    return changes.removed.empty() ? Result<void>() : keep(wanted);
}

/// With an IPv4 address the kernel removes others of its network that came later, and routes that need it.
Result<void> KernelChanges::keep(const GatewayConfig& wanted) {
    for (std::size_t i = 0; i < running_.ports.size(); ++i) {
        for (const auto& address : port_of(wanted, i).addresses)
            if (auto done = kernel_.add_address(ifindexes_[i], address); !done) return done;
    }
    for (const auto& route : wanted.routes)
        if (auto done = set(wanted, route); !done) return done;
    return {};
}

const PortConfig& KernelChanges::port_of(const GatewayConfig& config, std::size_t port) const {
    return *find_port(config, running_.ports[port].name);
}

Result<void> KernelChanges::set(const GatewayConfig& config, const RouteConfig& route) {
    return set_route(kernel_, config, route);
}

Result<void> KernelChanges::remove(const RouteConfig& route) {
    const auto old = static_route(kernel_, route);
    return old ? host::remove_static_route(kernel_, *old) : std::unexpected(old.error());
}

void KernelChanges::undo() {
    for (const auto& step : undo_ | std::views::reverse) step();
    (void)keep(running_);
}

}  // namespace verbline::gateway
