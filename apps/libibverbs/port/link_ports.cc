// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/port/link_ports.h"

#include <algorithm>
#include <cerrno>
#include <new>
#include <ranges>
#include <tuple>

#include <fmt/format.h>

namespace verbline::verbs {

Result<std::uint16_t> LinkPorts::reserve(std::uint16_t space, std::uint16_t port, const PortUse& use) {
    const std::scoped_lock lock(hub_mutex_);
    const bool at_hub = static_cast<bool>(link_.lane.control);
    const auto reserved =
        at_hub ? hub::reserve_port(link_.lane, space, port, use) : reserve_on_host({space, port}, use);
    if (!reserved) return reserved;
    try {
        held_.emplace(Port{space, *reserved}, use);
    } catch (const std::bad_alloc&) {
        std::ignore =
            at_hub ? hub::release_port(link_.lane, space, *reserved, use) : release_on_host({space, *reserved});
        throw;
    }
    return reserved;
}

Result<void> LinkPorts::rebind(std::uint16_t space, std::uint16_t port, const PortUse& from, const PortUse& to) {
    const std::scoped_lock lock(hub_mutex_);
    const auto held = find({space, port}, from);
    if (held == held_.end()) return failure(ENOENT, fmt::format("{}: port {} is not bound so", link_.text, port));
    const auto done = link_.lane.control ? hub::rebind_port(link_.lane, {space, port, from, to})
                                         : check({space, port}, to, &held->second);
    if (done) held->second = to;
    return done;
}

Result<void> LinkPorts::release(std::uint16_t space, std::uint16_t port, const PortUse& use) {
    const std::scoped_lock lock(hub_mutex_);
    const auto held = find({space, port}, use);
    if (held == held_.end()) return failure(ENOENT, fmt::format("{}: port {} is not reserved", link_.text, port));
    held_.erase(held);  // also if the hub has ended, and with it the reservation
    if (link_.lane.control) return hub::release_port(link_.lane, space, port, use);
    return release_on_host({space, port});
}

LinkPorts::Held::iterator LinkPorts::find(Port port, const PortUse& use) {
    const auto [first, last] = held_.equal_range(port);
    const auto found = std::find_if(first, last, [&](const auto& held) { return held.second == use; });
    return found == last ? held_.end() : found;
}

/// Among the program's own uses.
Result<void> LinkPorts::check(Port port, const PortUse& use, const PortUse* instead_of) const {
    const auto [first, last] = held_.equal_range(port);
    for (const auto& [at, held] : std::ranges::subrange(first, last)) {
        if (&held == instead_of || conflict(held, use) == rdmacm::PortConflict::none) continue;
        return failure(EADDRINUSE, fmt::format("port {} is in use by this program; choose another", port.second));
    }
    return {};
}

Result<std::uint16_t> LinkPorts::reserve_on_host(Port port, const PortUse& use) {
    if (port.second != 0 && held_.contains(port)) {
        if (const auto free = check(port, use, nullptr); !free) return std::unexpected(free.error());
        return port.second;
    }
    if (auto opened = open_host(); !opened) return std::unexpected(opened.error());
    return host_->reserve(port.first, port.second);
}

/// When its last use has ended.
Result<void> LinkPorts::release_on_host(Port port) {
    if (held_.contains(port)) return {};
    return host_->release(port.first, port.second);
}

Result<void> LinkPorts::restore() const {
    for (const auto& [port, use] : held_) {
        if (const auto reserved = hub::reserve_port(link_.lane, port.first, port.second, use); !reserved)
            return std::unexpected(reserved.error());
    }
    return {};
}

/// If the reservations cannot be read, no program has been able to make one: false.
bool LinkPorts::elsewhere(std::uint16_t space, std::uint16_t port) {
    if (!link_.shared()) return false;
    const std::scoped_lock lock(hub_mutex_);
    return open_host() && host_->elsewhere(space, port).value_or(false);
}

Result<void> LinkPorts::open_host() {
    if (host_) return {};
    auto opened = host::PortReservations::open(link_.mac);
    if (!opened) return std::unexpected(opened.error());
    host_.emplace(std::move(*opened));
    return {};
}

}  // namespace verbline::verbs
