// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/port/link_ports.h"

#include <cerrno>
#include <new>
#include <tuple>

namespace verbline::verbs {

Result<std::uint16_t> LinkPorts::reserve(std::uint16_t space, std::uint16_t port) {
    const std::scoped_lock lock(hub_mutex_);
    if (link_.lane.control) return reserve_at_hub(space, port);
    if (auto opened = open_host(); !opened) return std::unexpected(opened.error());
    return host_->reserve(space, port);
}

Result<void> LinkPorts::release(std::uint16_t space, std::uint16_t port) {
    const std::scoped_lock lock(hub_mutex_);
    if (link_.lane.control) {
        at_hub_.erase({space, port});  // also if the hub has ended, and with it the reservation
        return hub::release_port(link_.lane, space, port);
    }
    if (!host_) return failure(ENOENT, link_.text + ": no port is reserved");
    return host_->release(space, port);
}

Result<std::uint16_t> LinkPorts::reserve_at_hub(std::uint16_t space, std::uint16_t port) {
    const auto reserved = hub::reserve_port(link_.lane, space, port);
    if (!reserved) return reserved;
    try {
        at_hub_.emplace(space, *reserved);
    } catch (const std::bad_alloc&) {
        std::ignore = hub::release_port(link_.lane, space, *reserved);
        throw;
    }
    return reserved;
}

Result<void> LinkPorts::restore() const {
    for (const auto& [space, port] : at_hub_)
        if (const auto reserved = hub::reserve_port(link_.lane, space, port); !reserved)
            return std::unexpected(reserved.error());
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
