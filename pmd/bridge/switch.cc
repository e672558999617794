// SPDX-License-Identifier: BSD-3-Clause
// The control thread's side: ports, groups, links.
#include "pmd/bridge/switch.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pmd/bridge/frame.h"
#include "pmd/bridge/switch_topology.h"

namespace verbline::pmd {

Switch::Switch(const Options& options) : options_(options), gate_(options.shards) {
    for (unsigned i = 0; i < options.shards; ++i)
        shards_.push_back(std::make_unique<Shard>(i, i < options.traces.size() ? Trace(options.traces[i]) : Trace()));
    if (options_.capture != nullptr) source_ = options_.capture->add_source("hub", Carries::ethernet);
}

Switch::~Switch() {
    gate_.set(nullptr);
}

bool Switch::can_sleep() const {
    return std::ranges::all_of(
        shards_, [](const auto& shard) { return shard->can_sleep && shard->signal && shard->wakeups.fd() >= 0; });
}

Result<void> Switch::connect() {
    if (shards_.size() == 1) return {};
    for (const auto& from : shards_) {
        from->handed.resize(shards_.size());
        for (const auto& to : shards_) {
            auto& outbox = from->outboxes.emplace_back();
            if (from == to) continue;
            // Names of rings are the process's; so are addresses.
            auto ring = HandoverRing::create(fmt::format("{}h{}-{}", fmt::ptr(this), from->number, to->number),
                                             any_numa_socket);
            if (!ring) return std::unexpected(ring.error());
            outbox.emplace(std::move(*ring));
        }
        for (const auto& to : shards_) {
            if (auto& outbox = from->outboxes[to->number]) to->inboxes.push_back(&*outbox);
        }
    }
    return {};
}

/// Divides the buffers that may be queued, so that stalled ports leave enough for the others.
void Switch::share_buffers() {
    const auto share =
        std::clamp<std::size_t>(options_.waiting / std::max<std::size_t>(ports_.size(), 1), 1, max_waiting);
    for (const auto& [id, port] : ports_) port->waiting_limit.store(share, std::memory_order_relaxed);
}

std::unique_ptr<Switch::Topology> Switch::topology() const {
    auto next = std::make_unique<Topology>();
    next->of_shard.resize(shards_.size());
    for (const auto& [id, port] : ports_) {
        next->of_shard[port->shard].push_back(port.get());
        if (port->first != port.get()) continue;
        next->all.push_back(port.get());
        if (shards_.size() > 1) next->by_id.emplace(static_cast<std::uint32_t>(id), port.get());
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

unsigned Switch::emptiest_shard() const {
    std::vector<std::size_t> counts(shards_.size());
    for (const auto& [id, port] : ports_) ++counts[port->shard];
    return static_cast<unsigned>(std::ranges::min_element(counts) - counts.begin());
}

std::unique_ptr<Switch::Port> Switch::make_port(std::unique_ptr<NetDevice> device) {
    auto port = std::make_unique<Port>();
    port->id = PortId{++last_id_};
    port->shard = emptiest_shard();
    port->device = std::move(device);
    return port;
}

Switch::PortId Switch::add(std::unique_ptr<Port> port) {
    const auto id = port->id;
    ports_.emplace(id, std::move(port));
    share_buffers();
    gate_.set(topology());
    wake();  // so that its poll thread arms the new port
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
    const auto number = std::ranges::count_if(ports_, [](const auto& entry) {
        const auto& port = *entry.second;
        return port.is_uplink() && port.first == &port;
    });
    if (static_cast<std::size_t>(number) >= max_uplinks) return failure(ENOSPC, "a switch has at most 16 uplinks");
    auto port = make_port(std::move(device));
    port->uplink = static_cast<unsigned>(number);
    return add(std::move(port));
}

Result<std::vector<Switch::PortId>> Switch::add_uplink(std::vector<std::unique_ptr<NetDevice>> queues) {
    auto added = add_uplink(std::move(queues.front()));
    if (!added) return std::unexpected(added.error());
    std::vector ids{*added};
    if (queues.size() == 1) return ids;
    auto& first = *ports_.at(*added);
    first.shard = 0;
    first.queues = {&first};
    for (unsigned i = 1; i < queues.size(); ++i) {
        auto port = make_port(std::move(queues[i]));
        port->shard = i % shards();
        port->uplink = first.uplink;
        port->first = &first;
        first.queues.push_back(port.get());
        ids.push_back(add(std::move(port)));
    }
    gate_.set(topology());
    return ids;
}

void Switch::remove(PortId port) {
    const auto gone = std::move(ports_.extract(port).mapped());
    share_buffers();
    auto next = topology();
    const auto before = gate_.set(nullptr);  // the poll threads are outside from here on
    if (before) take_rest(*before, *gone);
    gate_.set(std::move(next));
    wake();
    gone->device->down();
    shards_.front()->counters.removed_ports.add();
    gone->counters.tx_dropped_removed.add(gone->output.size());
    gone->counters.each(removed_ports_.add());
    gone->device->counters(removed_devices_.add());
}

void Switch::set_group(PortId lane, wire::MacAddress group, bool member) {
    auto& groups = ports_.at(lane)->groups;
    const bool changed = member ? groups.insert(mac_number(group)).second : groups.erase(mac_number(group)) > 0;
    if (changed) gate_.set(topology());
}

void Switch::set_guard(PortId lane, std::optional<SourceGuard> guard) {
    auto before = gate_.set(nullptr);  // the poll threads are outside from here on
    ports_.at(lane)->guard = std::move(guard);
    gate_.set(std::move(before));
    wake();
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

unsigned Switch::shard_of(PortId port) const {
    return ports_.at(port)->shard;
}

const SwitchCounters& Switch::counters(unsigned shard) const {
    return shards_[shard]->counters;
}

const PollCounters& Switch::polls(unsigned shard) const {
    return shards_[shard]->meter.counters();
}

const SwitchPortCounters& Switch::counters(PortId port) const {
    return ports_.at(port)->counters;
}

void Switch::wake() const noexcept {
    // Edge-triggered: the values are never read.
    for (const auto& shard : shards_) shard->signal.interrupt();
}

void Switch::wake_waiting() noexcept {
    for (const auto& shard : shards_) std::ignore = shard->signal.wake_up();
}

}  // namespace verbline::pmd
