// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A switch's ports, and the lookup of receivers by MAC address: read by the poll threads, never changed in place. And
/// what each poll thread has for itself.

#include <atomic>
#include <memory>
#include <unordered_map>
#include <vector>

#include "pmd/base/cpu_contention.h"
#include "pmd/bridge/switch.h"
#include "pmd/rss/handover_ring.h"
#include "pmd/wakeups/wake_signal.h"
#include "pmd/wakeups/wakeups.h"

namespace verbline::pmd {

struct alignas(64) Switch::Port {
    // Its shard's poll thread's.
    SwitchPortCounters counters;
    OutputQueue output{max_waiting, {.packets = &counters.tx_packets, .bytes = &counters.tx_bytes}};
    bool armed = false;  ///< its receive event is armed
    bool deaf = false;   ///< up, but without a receive event

    // Written by the control thread, read by the poll threads.
    PortId id{};
    unsigned shard = 0;  ///< that polls it
    std::unique_ptr<NetDevice> device;
    std::uint64_t mac = 0;             ///< of a lane; 0: an uplink
    unsigned uplink = 0;               ///< an uplink's number in the forwarding table
    const Port* first = this;          ///< of an uplink's ports
    Ports queues;                      ///< in the first of several: all
    std::optional<SourceGuard> guard;  ///< of a lane
    std::set<std::uint64_t> groups;    ///< poll threads read them in the topology
    std::atomic<bool> link{false};
    std::atomic<std::size_t> waiting_limit{max_waiting};  ///< its share of the buffers

    bool is_uplink() const { return mac == 0; }
};

/// An uplink of several ports is named by the first, but for `of_shard`.
struct Switch::Topology {
    Ports all;
    Ports uplinks;
    std::vector<Ports> of_shard;
    std::unordered_map<std::uint32_t, Port*> by_id;  ///< if there are several shards
    std::vector<Ports> behind;                       ///< an uplink alone, by number
    std::unordered_map<std::uint64_t, Ports> known;  ///< by MAC address: of lanes, and of groups with members
};

struct alignas(64) Switch::Shard {
    Shard(unsigned which, Trace its_trace) : number(which), trace(its_trace), meter(its_trace) {
        if (signal && !wakeups.add(signal.descriptor(), 0)) can_sleep = false;
    }

    unsigned number;
    SwitchCounters counters;
    Trace trace;
    PollMeter meter;
    std::size_t next = 0;  ///< the port polled first, rotated for fairness
    Time backoff = 0;      ///< current sleep while ports are full
    CpuContention contention{
        {.time_slice = 200 * microsecond, .shortest_hold = 100 * millisecond, .longest_hold = 1600 * millisecond}};
    Wakeups wakeups;
    WakeSignal signal;
    bool can_sleep = true;

    // Of several shards. Frames in a ring have the id of their port in `hash.usr`.
    std::vector<std::optional<HandoverRing>> outboxes;  ///< by shard; none to itself
    std::vector<HandoverRing*> inboxes;                 ///< from every other one
    std::vector<bool> handed;                           ///< by shard: got frames in this poll
};

}  // namespace verbline::pmd
