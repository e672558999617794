// SPDX-License-Identifier: BSD-3-Clause
// The control thread's side: ports, groups, links.
#include "pmd/bridge/switch.h"

#include <algorithm>
#include <utility>

#include "pmd/bridge/frame.h"
#include "pmd/bridge/switch_topology.h"

namespace verbline::pmd {

Switch::Switch(const Options& options) : options_(options), gate_(1), wake_(EventDescriptor::make()) {
    if (wake_ && !wakeups_.add(wake_.get(), 0)) wake_ = {};
    if (options_.capture != nullptr) source_ = options_.capture->add_source("hub", Carries::ethernet);
}

Switch::~Switch() {
    gate_.set(nullptr);
}

/// Divides the buffers that may be queued, so that stalled ports leave enough for the others.
void Switch::share_buffers() {
    const auto share =
        std::clamp<std::size_t>(options_.waiting / std::max<std::size_t>(ports_.size(), 1), 1, max_waiting);
    for (const auto& [id, port] : ports_) port->waiting_limit.store(share, std::memory_order_relaxed);
}

std::unique_ptr<Switch::Topology> Switch::topology() const {
    auto next = std::make_unique<Topology>();
    for (const auto& [id, port] : ports_) {
        next->all.push_back(port.get());
        if (!port->is_uplink()) {
            next->known[port->mac] = {port.get()};
        } else {
            next->uplinks.push_back(port.get());
            next->behind.push_back({port.get()});
        }
    }
    for (auto* port : next->all) {
        for (const auto group : port->groups) {
            // Hosts behind uplinks cannot join here, so uplinks receive every group.
            auto& members = next->known.try_emplace(group, next->uplinks).first->second;
            members.push_back(port);
        }
    }
    return next;
}

std::unique_ptr<Switch::Port> Switch::make_port(std::unique_ptr<NetDevice> device) {
    auto port = std::make_unique<Port>();
    port->id = PortId{++last_id_};
    port->device = std::move(device);
    return port;
}

Switch::PortId Switch::add(std::unique_ptr<Port> port) {
    const auto id = port->id;
    ports_.emplace(id, std::move(port));
    share_buffers();
    gate_.set(topology());
    wake();  // so that the poll thread arms the new port
    return id;
}

Switch::PortId Switch::add_lane(std::unique_ptr<NetDevice> device, wire::MacAddress mac,
                                std::optional<SourceGuard> guard) {
    auto port = make_port(std::move(device));
    port->mac = mac_number(mac);
    port->guard = std::move(guard);
    return add(std::move(port));
}

Result<Switch::PortId> Switch::add_uplink(std::unique_ptr<NetDevice> device) {
    const auto number = std::ranges::count_if(ports_, [](const auto& entry) { return entry.second->is_uplink(); });
    if (static_cast<std::size_t>(number) >= max_uplinks) return failure(ENOSPC, "a switch has at most 16 uplinks");
    auto port = make_port(std::move(device));
    port->uplink = static_cast<unsigned>(number);
    return add(std::move(port));
}

void Switch::remove(PortId port) {
    const auto gone = std::move(ports_.extract(port).mapped());
    share_buffers();
    auto next = topology();
    const auto before = gate_.set(nullptr);  // the poll thread is outside from here on
    if (before) take_rest(*before, *gone);
    gate_.set(std::move(next));
    wake();
    gone->device->down();
    counters_.removed_ports.add();
    gone->counters.tx_dropped_removed.add(gone->output.size());
    gone->counters.each(removed_ports_.add());
    gone->device->counters(removed_devices_.add());
}

void Switch::set_group(PortId lane, wire::MacAddress group, bool member) {
    auto& groups = ports_.at(lane)->groups;
    const bool changed = member ? groups.insert(mac_number(group)).second : groups.erase(mac_number(group)) > 0;
    if (changed) gate_.set(topology());
}

void Switch::upkeep(Time now, Links which) {
    bool changed = false;
    for (const auto& [id, port] : ports_) {
        const bool before = port->link.load(std::memory_order_relaxed);
        if (before && which == Links::down) continue;
        const bool up = port->device->link_up();
        if (up == before) continue;
        port->link.store(up, std::memory_order_relaxed);
        if (!up && port->is_uplink()) learned_.forget(port->uplink);
        changed = true;
    }
    learned_.expire(now);
    if (changed) wake();
}

bool Switch::link_up(PortId port) const {
    return ports_.at(port)->link.load(std::memory_order_relaxed);
}

const NetDevice& Switch::device(PortId port) const {
    return *ports_.at(port)->device;
}

const SwitchPortCounters& Switch::counters(PortId port) const {
    return ports_.at(port)->counters;
}

void Switch::wake() const noexcept {
    wake_.signal();  // edge-triggered: its value does not matter, and is never read
}

}  // namespace verbline::pmd
