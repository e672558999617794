// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A switch's ports, and the lookup of receivers by MAC address: read by the poll thread, never changed in place.

#include <atomic>
#include <memory>
#include <unordered_map>
#include <vector>

#include "pmd/bridge/switch.h"

namespace verbline::pmd {

struct alignas(64) Switch::Port {
    // The poll thread's.
    SwitchPortCounters counters;
    OutputQueue output{max_waiting, {.packets = &counters.tx_packets, .bytes = &counters.tx_bytes}};
    bool armed = false;  ///< its receive event is armed
    bool deaf = false;   ///< up, but without a receive event

    // Written by the control thread, read by the poll thread.
    PortId id{};
    std::unique_ptr<NetDevice> device;
    std::uint64_t mac = 0;             ///< of a lane; 0: an uplink
    unsigned uplink = 0;               ///< an uplink's number in the forwarding table
    std::optional<SourceGuard> guard;  ///< of a lane
    std::set<std::uint64_t> groups;    ///< the poll thread reads them in the topology
    std::atomic<bool> link{false};
    std::atomic<std::size_t> waiting_limit{max_waiting};  ///< its share of the buffers

    bool is_uplink() const { return mac == 0; }
};

struct Switch::Topology {
    Ports all;
    Ports uplinks;
    std::vector<Ports> behind;                       ///< an uplink alone, by number
    std::unordered_map<std::uint64_t, Ports> known;  ///< by MAC address: of lanes, and of groups with members
};

}  // namespace verbline::pmd
