// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// An Ethernet switch of many lanes that come and go, and of uplinks that stay.
///
///     lanes                 one host each, whose MAC address is known and the only one it may send from; its IP
///        │                  addresses, too, unless it is a router (source_guard.h)
///        │ └── groups       multicast: to those that joined; unless nobody has, or it must reach all: to everyone
///     uplinks               networks of many hosts: who is behind which is learned
///
/// What is for no lane is for an uplink: for the one that it was learned behind, else for all.
///
/// Threads: the control thread adds, removes, looks after links and reads counters. One poll thread makes `poll`,
/// `wait` or `run`, on queue 0 of every device. What the control thread changes is built aside and then published; the
/// control thread waits for the poll under way, never the poll thread for it. Only the removal of a port holds the poll
/// thread up, for as long as it takes to pass on what the port had sent.

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "pmd/base/cpu_contention.h"
#include "pmd/base/event_descriptor.h"
#include "pmd/base/gate.h"
#include "pmd/base/tunables.h"
#include "pmd/bridge/forwarding_table.h"
#include "pmd/bridge/output_queue.h"
#include "pmd/bridge/source_guard.h"
#include "pmd/bridge/wakeups.h"
#include "pmd/capture/capture_file.h"
#include "pmd/netdev.h"

namespace verbline::pmd {

#define VERBLINE_SWITCH_PORT_COUNTERS(X)                                                                       \
    X(rx_packets, "frames that came in by this port")                                                          \
    X(rx_bytes, "their bytes")                                                                                 \
    X(rx_replicated, "further receivers of frames for several, each of which takes a copy")                    \
    X(rx_dropped_runt, "frames shorter than an Ethernet header")                                               \
    X(rx_dropped_source,                                                                                       \
      "frames from a source address that is not the lane's; of an uplink: one of a lane's, a group's or zero") \
    X(rx_dropped_source_ip, "frames of a lane from an IP address (or GID) that is not its own")                \
    X(rx_dropped_arp, "ARP of a lane that gives another MAC or IP address than its own as the sender's")       \
    X(rx_dropped_nd, "Neighbour Discovery of a lane that speaks for another host, or as a router")             \
    X(rx_dropped_no_receiver, "frames for an address that nobody else has")                                    \
    X(rx_dropped_no_mbuf, "copies for several receivers not made because no mbuf was free")                    \
    X(tx_packets, "frames that went out by this port")                                                         \
    X(tx_bytes, "their bytes")                                                                                 \
    X(tx_dropped_full, "frames for this port while too many waited for it already")                            \
    X(tx_dropped_removed, "frames that waited for this port when it was removed")

struct SwitchPortCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_SWITCH_PORT_COUNTERS)
};

#define VERBLINE_SWITCH_COUNTERS(X)                                       \
    X(sleeps, "times that the poll thread found nothing to do and slept") \
    X(removed_ports, "ports that were removed")                           \
    X(captured, "frames given to the capture file")                       \
    X(capture_dropped, "frames not captured because too many were waiting to be written")

struct SwitchCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_SWITCH_COUNTERS)
};

class Switch {
public:
    enum class PortId : std::uint32_t {};
    enum class Links : std::uint8_t { all, down };

    static constexpr std::size_t max_uplinks = 16;
    static constexpr std::size_t max_waiting = tunables::switch_waiting;  ///< frames that wait for one port's ring
    static constexpr Time spin = tunables::switch_spin;  ///< how long `run` polls for nothing before it sleeps

    struct Options {
        rte_mempool* pool = nullptr;     ///< for copies
        std::size_t waiting = 2048;      ///< of its buffers may wait for full ports, all together
        CaptureFile* capture = nullptr;  ///< each frame once, as it comes in; outlives us
    };

    explicit Switch(const Options& options);
    Switch(const Switch&) = delete;
    Switch& operator=(const Switch&) = delete;
    ~Switch();

    /// False: there are no descriptors left to sleep on, and `run` would never sleep.
    bool can_sleep() const { return wake_ && wakeups_.fd() >= 0; }

    // Control thread. Devices carry Ethernet frames and are up.

    /// Without a guard the lane may send from any IP address: a router, a bridge.
    PortId add_lane(std::unique_ptr<NetDevice> device, wire::MacAddress mac,
                    std::optional<SourceGuard> guard = std::nullopt);
    /// Before the first poll.
    Result<PortId> add_uplink(std::unique_ptr<NetDevice> device);
    /// What it had received is passed on first. The device is gone when this returns; its counters stay in the sums.
    void remove(PortId port);
    /// The poll thread goes on meanwhile.
    void set_group(PortId lane, wire::MacAddress group, bool member);
    /// Makes, keeps and remakes links, and ages what was learned: call a few times a second, for those that are down
    /// more often.
    void look_after(Time now, Links which);

    bool link_up(PortId port) const;
    const NetDevice& device(PortId port) const;
    const SwitchPortCounters& counters(PortId port) const;
    const SwitchCounters& counters() const { return counters_; }
    /// What all removed ports have counted, and what their devices have.
    const CounterSums& removed_ports() const { return removed_ports_; }
    const CounterSums& removed_devices() const { return removed_devices_; }

    // Poll thread.

    /// Passes on what has arrived, a share for each port. False: nothing had.
    bool poll() noexcept;
    /// Sleeps until something arrives or the control thread has changed something, for a fraction of a second at most.
    void wait() noexcept;
    /// Until `stop` and, at the same time or later, `wake`.
    void run(const std::atomic<bool>& stop) noexcept;
    /// Any thread: ends `wait`.
    void wake() const noexcept;

private:
    struct Port;
    struct Topology;
    using Ports = std::vector<Port*>;

    std::unique_ptr<Port> make_port(std::unique_ptr<NetDevice> device);
    PortId add(std::unique_ptr<Port> port);
    void share_buffers();
    std::unique_ptr<Topology> topology() const;

    bool poll(Topology& topology) noexcept;
    std::size_t take_from(Topology& topology, Port& port) noexcept;
    void take_rest(Topology& topology, Port& port) noexcept;
    void pass(Topology& topology, Port& from, Burst frames) noexcept;
    void record(Burst frames) noexcept;
    Counter* objection(const Topology& topology, Port& from, const rte_mbuf& frame) noexcept;
    bool legitimate(const Topology& topology, const Port& from, std::uint64_t source) noexcept;
    const Ports& receivers(const Topology& topology, std::uint64_t destination) const noexcept;
    void replicate(const Ports& to, Port& from, rte_mbuf* frame) noexcept;
    static void send(Port& to, Burst frames) noexcept;
    bool linger() noexcept;
    Time arm(Topology& topology) noexcept;
    void disarm(std::uint64_t port) noexcept;

    Options options_;
    CaptureFile::Source source_{};  ///< of what is captured
    std::map<PortId, std::unique_ptr<Port>> ports_;
    CounterSums removed_ports_, removed_devices_;
    std::uint32_t last_id_ = 0;
    ForwardingTable learned_;  ///< which uplink
    Gate<Topology> gate_;
    EventDescriptor wake_;
    SwitchCounters counters_;

    // The poll thread's.
    Wakeups wakeups_;
    std::size_t next_ = 0;  ///< the port polled first, so that none is always last
    Time patience_ = 0;     ///< with full ports
    CpuContention contention_{
        {.time_slice = 200 * microsecond, .shortest_hold = 100 * millisecond, .longest_hold = 1600 * millisecond}};
};

}  // namespace verbline::pmd
