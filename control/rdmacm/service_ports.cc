// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "control/rdmacm/service_core.h"

// What ports report: endpoints to poll, changes; and timeouts.

namespace verbline::rdmacm {
namespace {

/// IP addresses on InfiniBand outlive the port's GID, which the subnet manager gives.
void follow_gid(Id& id, const NetworkPort::Facts& facts, const NetworkPort& port) {
    const auto index = gid_index_of(port, facts, facts.port_gid);
    if (!index) return;
    id.source_gid = facts.port_gid;
    id.gid_index = *index;
}

}  // namespace

/// Ports that an id is bound to; all, if its address is unspecified.
std::span<NetworkPort* const> ServiceCore::ports_of(const Id& id) const {
    if (!id.port) return ports_;
    return std::span(ports_).subspan(static_cast<std::size_t>(std::ranges::find(ports_, id.port) - ports_.begin()), 1);
}

void ServiceCore::ready(cm::Endpoint& endpoint, Time now) {
    now_ = now;
    if (Id* id = ids_.find(endpoint)) return drain(*id, now);
    const auto listener = listener_keys_.find(&endpoint);
    if (listener == listener_keys_.end()) return;
    const auto key = listener->second;
    // No event queued meanwhile destroys the listener: users act only when they take events.
    drain_listener(key, endpoint, now);
}

void ServiceCore::tick(Time now) {
    now_ = now;
    while (Id* id = ids_.expired(now)) timed_out(*id);
}

bool ServiceCore::bound(const NetworkPort& port, wire::CmServiceId service) const {
    const auto number = port_of(service);
    if (!number) return false;
    return std::ranges::any_of(bindings_.users({number->first, number->second}), [&](const Id* id) {
        return id->state == IdState::addr_bound && (id->port == nullptr || id->port == &port);
    });
}

void ServiceCore::port_changed(const NetworkPort& port, bool removed, Time now) {
    now_ = now;
    if (removed) return remove_port(port, now);
    return_port(port, now);
    const auto facts = port.facts();
    std::vector<IdNumber> changed;
    ids_.each([&](const Id& id) {
        if (id.port != &port) return;
        if (id.lid != facts.lid || !gid_index_of(port, facts, id.source_gid)) changed.push_back(id.number);
    });
    for (const auto number : changed) {
        Id* const id = ids_.find(number);
        if (id == nullptr) continue;
        id->lid = facts.lid;
        if (facts.kind == link::GidTable::Kind::ib && id->source.family != Family::ib) follow_gid(*id, facts, port);
        emit(*id, EventKind::address_change);
    }
    rejoin(port);
}

/// Ids bound to the port can then only be destroyed; listeners on any address continue on the other ports.
void ServiceCore::remove_port(const NetworkPort& port, Time now) {
    std::vector<IdNumber> bound, listening;
    ids_.each([&](const Id& id) {
        if (id.port == &port) bound.push_back(id.number);
        const bool there = std::ranges::find(id.listening_on, &port) != id.listening_on.end();
        if (there && id.port != &port) listening.push_back(id.number);
    });
    std::ranges::sort(bound);
    const auto gone = std::ranges::find(ports_, &port);
    for (const auto number : listening) stop_listening(*ids_.find(number), **gone);
    for (const auto number : bound) {
        Id& id = *ids_.find(number);
        if (id.ticket != 0) id.port->cancel(std::exchange(id.ticket, 0));
        ids_.wait_until(id, std::nullopt);
        stop_listening(id);
        ids_.attach(id, nullptr);
        become(id, IdState::device_removal, now);
        emit(id, EventKind::device_removal);
    }
    if (gone == ports_.end()) return;
    removed_.push_back(*gone);
    ports_.erase(gone);
}

/// Listeners on any address listen on it, too, as on a device that is added.
void ServiceCore::return_port(const NetworkPort& port, Time now) {
    const auto found = std::ranges::find(removed_, &port);
    if (found == removed_.end()) return;
    NetworkPort& returned = **found;
    removed_.erase(found);
    ports_.push_back(&returned);
    std::vector<IdNumber> listening;
    ids_.each([&](const Id& id) {
        if (id.state == IdState::listen && id.port == nullptr) listening.push_back(id.number);
    });
    for (const auto number : listening) std::ignore = listen_on(*ids_.find(number), returned, now);
}

}  // namespace verbline::rdmacm
