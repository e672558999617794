// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/port/link_ports.h"

#include <cerrno>
#include <utility>

namespace verbline::verbs {

Result<std::uint16_t> LinkPorts::reserve(std::uint16_t space, std::uint16_t port) {
    const std::scoped_lock lock(hub_mutex_);
    if (link_.lane.control) return hub::reserve_port(link_.lane, space, port);
    if (auto opened = open_host(); !opened) return std::unexpected(opened.error());
    return host_->reserve(space, port);
}

Result<void> LinkPorts::release(std::uint16_t space, std::uint16_t port) {
    const std::scoped_lock lock(hub_mutex_);
    if (link_.lane.control) return hub::release_port(link_.lane, space, port);
    if (!host_) return failure(ENOENT, link_.text + ": no port is reserved");
    return host_->release(space, port);
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
