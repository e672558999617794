// SPDX-License-Identifier: BSD-3-Clause
#include "control/rdmacm/port_bindings.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace verbline::rdmacm {
namespace {

/// Two interfaces may have the same link-local address.
bool on_other_links(const Id& id, const Id& other) {
    return id.port != other.port && link_local(id.source.gid) && link_local(other.source.gid);
}

Result<void> to_error(PortConflict why, std::uint16_t number) {
    switch (why) {
        case PortConflict::none: break;
        case PortConflict::any_address:
            return failure(EADDRNOTAVAIL, fmt::format("port {} is bound already, with any address: close it, or bind "
                                                      "both to addresses of their own",
                                                      number));
        case PortConflict::same_address:
            return failure(EADDRINUSE, fmt::format("port {} of this address is bound already: close it, take another "
                                                   "port, or set reuse_address on both",
                                                   number));
    }
    return {};
}

}  // namespace

PortUse use_of(const Id& id) {
    const PortUse use{.family = id.source.family,
                      .address = id.source.gid,
                      .only_its_family = id.only_its_family(),
                      .reuse = id.reuse_address};
    return id.state == IdState::listen ? use.as_listener() : use;
}

PortBindings::~PortBindings() {
    for (const auto& [port, bindings] : bindings_) {
        for (const auto& binding : bindings)
            for (const auto& [on, use] : binding.reserved) on->release(port.space, port.number, use);
    }
}

Result<void> PortBindings::bind(Id& id, PortSpace space, std::span<NetworkPort* const> ports) {
    if (ports.empty()) return failure(ENODEV, "there is no RDMA port to bind to: start the program with a link");
    auto binding = id.source.port == 0 ? take_ephemeral(id, space, ports) : take(id, space, ports);
    if (!binding) return std::unexpected(binding.error());
    id.bound = BoundPort{space, id.source.port};
    bindings_[*id.bound].push_back(std::move(*binding));
    return {};
}

Result<void> PortBindings::check(const Id& id, const PortUse& use, BoundPort port) const {
    for (const Id* other : users(port)) {
        if (other == &id || on_other_links(id, *other)) continue;
        if (auto free = to_error(conflict(use, use_of(*other)), port.number); !free) return free;
    }
    return {};
}

/// Reserves the id's port number on all of `ports`, or on none.
Result<PortBindings::Binding> PortBindings::take(Id& id, PortSpace space, std::span<NetworkPort* const> ports) const {
    const auto use = use_of(id);
    const auto number = id.source.port;
    if (auto free = check(id, use, {space, number}); !free) return std::unexpected(free.error());
    Binding binding{&id, {}};
    for (NetworkPort* on : ports) {
        if (const auto done = on->reserve(space, number, use); !done) {
            for (const auto& reservation : binding.reserved) reservation.on->release(space, number, use);
            return std::unexpected(done.error());
        }
        binding.reserved.push_back({on, use});
    }
    return binding;
}

/// The first port chooses a number; if another port has reserved it for another process, the first chooses again.
Result<PortBindings::Binding> PortBindings::take_ephemeral(Id& id, PortSpace space,
                                                           std::span<NetworkPort* const> ports) const {
    constexpr int tries = 16;
    const auto use = use_of(id);
    Result<Binding> binding = failure(EADDRNOTAVAIL, "no ephemeral port number is free on all RDMA ports");
    for (int i = 0; i < tries && !binding; ++i) {
        const auto number = ports.front()->reserve(space, 0, use);
        if (!number) return std::unexpected(number.error());
        id.source.port = *number;
        binding = take(id, space, ports.subspan(1));
        if (binding) {
            binding->reserved.push_back({ports.front(), use});
        } else {
            ports.front()->release(space, *number, use);
            id.source.port = 0;
        }
    }
    return binding;
}

Result<void> PortBindings::listen(Id& id) {
    if (!id.bound) return {};
    const auto use = use_of(id).as_listener();
    if (auto alone = check(id, use, *id.bound); !alone) return alone;
    for (auto& [on, now] : binding_of(id).reserved) {
        if (auto done = on->rebind(id.bound->space, id.bound->number, now, use); !done) {
            update(id);
            return done;
        }
        now = use;
    }
    id.reuse_address = false;
    return {};
}

void PortBindings::update(const Id& id) {
    if (!id.bound) return;
    const auto use = use_of(id);
    for (auto& [on, now] : binding_of(id).reserved) {
        const bool elsewhere = id.port != nullptr && on != id.port;
        if (elsewhere || now == use) continue;
        if (on->rebind(id.bound->space, id.bound->number, now, use)) now = use;
    }
}

void PortBindings::release(Id& id) {
    if (!id.bound) return;
    const auto found = bindings_.find(*id.bound);
    for (const auto& [on, use] : binding_of(id).reserved) on->release(id.bound->space, id.bound->number, use);
    std::erase_if(found->second, [&](const Binding& binding) { return binding.id == &id; });
    if (found->second.empty()) bindings_.erase(found);
    id.bound.reset();
}

std::vector<Id*> PortBindings::users(BoundPort port) const {
    std::vector<Id*> ids;
    if (const auto found = bindings_.find(port); found != bindings_.end())
        for (const auto& binding : found->second) ids.push_back(binding.id);
    return ids;
}

PortBindings::Binding& PortBindings::binding_of(const Id& id) {
    return *std::ranges::find(bindings_.at(*id.bound), &id, &Binding::id);
}

}  // namespace verbline::rdmacm
