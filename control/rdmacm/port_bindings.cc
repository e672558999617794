// SPDX-License-Identifier: BSD-3-Clause
#include "control/rdmacm/port_bindings.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace verbline::rdmacm {
namespace {

/// Two interfaces may have the same link-local address.
bool same_address(const Id& id, const Id& other) {
    if (id.source.family != other.source.family || id.source.gid != other.source.gid) return false;
    return !link_local(id.source.gid) || id.port == other.port;
}

Result<void> conflict(const Id& id, const Id& other, bool reuse) {
    if (&id == &other || (reuse && other.reuse_address)) return {};
    if (id.only_its_family() && other.only_its_family() && id.source.family != other.source.family) return {};
    if (id.source.any() || other.source.any()) {
        return failure(EADDRNOTAVAIL, fmt::format("port {} is bound already, with any address: close it, or bind both "
                                                  "to addresses of their own",
                                                  id.source.port));
    }
    if (same_address(id, other)) {
        return failure(EADDRINUSE, fmt::format("port {} of this address is bound already: close it, take another port, "
                                               "or set reuse_address on both",
                                               id.source.port));
    }
    return {};
}

}  // namespace

PortBindings::~PortBindings() {
    for (const auto& [port, users] : users_)
        for (NetworkPort* reserved : users.reserved) reserved->release(port.space, port.number);
}

Result<void> PortBindings::bind(Id& id, PortSpace space, std::span<NetworkPort* const> ports) {
    if (ports.empty()) return failure(ENODEV, "there is no RDMA port to bind to: start the program with a link");
    if (id.source.port == 0) {
        const auto number = ephemeral(space, ports);
        if (!number) return std::unexpected(number.error());
        id.source.port = *number;
    }
    const BoundPort port{space, id.source.port};
    auto& users = users_[port];
    for (const Id* other : users.ids) {
        if (auto free = conflict(id, *other, id.reuse_address); !free) return free;
    }
    if (auto reserved = reserve(port, users, ports); !reserved) return reserved;
    users.ids.push_back(&id);
    id.bound = port;
    return {};
}

Result<void> PortBindings::exclude_others(Id& id) {
    if (!id.reuse_address || !id.bound) return {};
    for (const Id* other : users(*id.bound)) {
        if (auto free = conflict(id, *other, false); !free) return free;
    }
    id.reuse_address = false;
    return {};
}

void PortBindings::release(Id& id) {
    if (!id.bound) return;
    const auto found = users_.find(*std::exchange(id.bound, std::nullopt));
    std::erase(found->second.ids, &id);
    if (!found->second.ids.empty()) return;
    for (NetworkPort* port : found->second.reserved) port->release(found->first.space, found->first.number);
    users_.erase(found);
}

std::span<Id* const> PortBindings::users(BoundPort port) const {
    const auto found = users_.find(port);
    return found == users_.end() ? std::span<Id* const>{} : std::span<Id* const>(found->second.ids);
}

/// The first port chooses a number; if another port has reserved it for another process, the first chooses again.
Result<std::uint16_t> PortBindings::ephemeral(PortSpace space, std::span<NetworkPort* const> ports) {
    constexpr int tries = 16;
    Result<std::uint16_t> number = failure(EADDRNOTAVAIL, "no ephemeral port number is free on all RDMA ports");
    for (int i = 0; i < tries; ++i) {
        number = ports.front()->reserve(space, 0);
        if (!number) return number;
        auto& users = users_[{space, *number}];
        users.reserved.push_back(ports.front());
        const auto reserved = reserve({space, *number}, users, ports);
        if (reserved) return number;
        number = std::unexpected(reserved.error());
    }
    return number;
}

/// Reserves on those of `ports` where it is not reserved yet. On failure a number without users is released.
Result<void> PortBindings::reserve(BoundPort port, Users& users, std::span<NetworkPort* const> ports) {
    for (NetworkPort* on : ports) {
        if (std::ranges::find(users.reserved, on) != users.reserved.end()) continue;
        if (const auto number = on->reserve(port.space, port.number); !number) {
            if (!users.ids.empty()) return std::unexpected(number.error());
            for (NetworkPort* reserved : users.reserved) reserved->release(port.space, port.number);
            users_.erase(port);
            return std::unexpected(number.error());
        }
        users.reserved.push_back(on);
    }
    return {};
}

}  // namespace verbline::rdmacm
