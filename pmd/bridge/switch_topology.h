// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A switch's ports, and who is where: read by the poll thread, never changed in place.

#include <atomic>
#include <memory>
#include <unordered_map>
#include <vector>

#include "pmd/bridge/switch.h"

namespace verbline::pmd {

struct alignas(64) Switch::Port {
    // The poll thread's.
    OutputQueue output{max_waiting};
    SwitchPortCounters counters;
    bool armed = false;  ///< wakes us
    bool deaf = false;   ///< is up and cannot

    // The control thread's; the poll thread reads.
    PortId id{};
    std::unique_ptr<NetDevice> device;
    std::uint64_t mac = 0;  ///< of a lane; 0: an uplink
    unsigned uplink = 0;    ///< an uplink's number in the forwarding table
    std::set<std::uint64_t> groups;
    std::atomic<bool> link{false};

    bool is_uplink() const { return mac == 0; }
};

struct Switch::Topology {
    Ports all;
    Ports uplinks;
    std::vector<Ports> behind;                       ///< an uplink alone, by number
    std::unordered_map<std::uint64_t, Ports> known;  ///< MAC addresses of lanes, and of groups that somebody joined
};

}  // namespace verbline::pmd
