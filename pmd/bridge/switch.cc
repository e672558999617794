// SPDX-License-Identifier: BSD-3-Clause
// The control thread's side: ports, groups, links.
#include "pmd/bridge/switch.h"

#include <algorithm>
#include <utility>

#include <sys/eventfd.h>

#include "pmd/bridge/frame.h"
#include "pmd/bridge/switch_topology.h"

namespace verbline::pmd {

Switch::Switch(const Options& options) : options_(options), gate_(1), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    wakeups_.add(wake_.get(), 0);
    if (options_.capture != nullptr) source_ = options_.capture->add_source("hub", Carries::ethernet);
}

Switch::~Switch() {
    gate_.set(nullptr);
}

template <class Change>
void Switch::change(Change make) {
    const auto before = gate_.set(nullptr);  // the poll thread is out from here on
    make(before.get());
    auto next = topology();
    // What waits for ports that are stuck must leave buffers for those that are not.
    const auto share = options_.waiting / std::max<std::size_t>(ports_.size(), 1);
    for (const auto& [id, port] : ports_) port->output.set_limit(std::clamp<std::size_t>(share, 1, max_waiting));
    gate_.set(std::move(next));
    wake();
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
            // Nobody on an uplink can join; who wants it there is not known.
            auto& members = next->known.try_emplace(group, next->uplinks).first->second;
            members.push_back(port);
        }
    }
    return next;
}

Switch::Port& Switch::add(std::unique_ptr<NetDevice> device) {
    auto port = std::make_unique<Port>();
    port->id = PortId{++last_id_};
    port->device = std::move(device);
    return *ports_.emplace(port->id, std::move(port)).first->second;
}

Switch::PortId Switch::add_lane(std::unique_ptr<NetDevice> device, wire::MacAddress mac) {
    PortId id{};
    change([&](Topology*) {
        auto& port = add(std::move(device));
        port.mac = mac_number(mac);
        id = port.id;
    });
    return id;
}

Result<Switch::PortId> Switch::add_uplink(std::unique_ptr<NetDevice> device) {
    const auto number = std::ranges::count_if(ports_, [](const auto& entry) { return entry.second->is_uplink(); });
    if (static_cast<std::size_t>(number) >= max_uplinks) return failure(ENOSPC, "a switch has at most 16 uplinks");
    PortId id{};
    change([&](Topology*) {
        auto& port = add(std::move(device));
        port.uplink = static_cast<unsigned>(number);
        id = port.id;
    });
    return id;
}

void Switch::remove(PortId port) {
    std::unique_ptr<Port> gone;
    change([&](Topology* before) {
        if (before != nullptr) take_rest(*before, *ports_.at(port));
        gone = std::move(ports_.extract(port).mapped());
    });
}

void Switch::set_group(PortId lane, wire::MacAddress group, bool member) {
    auto& groups = ports_.at(lane)->groups;
    change([&](Topology*) {
        if (member) {
            groups.insert(mac_number(group));
        } else {
            groups.erase(mac_number(group));
        }
    });
}

void Switch::look_after(Time now, Links which) {
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
    eventfd_write(wake_.get(), 1);  // edge-triggered: its value does not matter, and is never read
}

}  // namespace verbline::pmd
