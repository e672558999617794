// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// An Ethernet switch with lanes (one host each), which are added and removed at run time, and permanent uplinks.
///
///     lanes                 one host each, with a configured MAC address, the only source allowed; likewise its IP
///        │                  addresses, unless it is a router (source_guard.h)
///        │ └── groups       multicast: to lanes that joined; to all if none joined or the group must reach everyone
///     uplinks               networks of many hosts, whose addresses are learned
///
/// A frame whose destination is no lane goes to the uplink behind which the address was learned, or else to all
/// uplinks.
///
/// Threads: the control thread adds and removes ports, maintains links and reads counters. One poll thread calls
/// `poll`, `wait` or `run`, on queue 0 of every device. The control thread builds a new topology and publishes it, and
/// waits for the poll under way; the poll thread does not wait for the control thread. Only the removal of a port
/// stalls the poll thread, while frames that the port had sent are forwarded.

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
#include "pmd/capture/capture_file.h"
#include "pmd/netdev.h"
#include "pmd/wakeups/wakeups.h"

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
    static constexpr std::size_t max_waiting = tunables::switch_waiting;  ///< frames queued for one port's full ring
    static constexpr Time spin = tunables::switch_spin;  ///< how long an idle `run` spins before it sleeps

    struct Options {
        rte_mempool* pool = nullptr;     ///< for copies
        std::size_t waiting = 2048;      ///< of the pool's buffers may be queued for full ports, in total
        CaptureFile* capture = nullptr;  ///< records each frame once, on ingress; outlives the switch
    };

    explicit Switch(const Options& options);
    Switch(const Switch&) = delete;
    Switch& operator=(const Switch&) = delete;
    ~Switch();

    /// False if the descriptors needed to sleep could not be opened: `run` would then never sleep.
    bool can_sleep() const { return wake_ && wakeups_.fd() >= 0; }

    // Control thread. Devices carry Ethernet frames and are up.

    /// Without a `guard` the lane may send from any IP address: for a router or a bridge.
    PortId add_lane(std::unique_ptr<NetDevice> device, wire::MacAddress mac,
                    std::optional<SourceGuard> guard = std::nullopt);
    /// Only before the first poll.
    Result<PortId> add_uplink(std::unique_ptr<NetDevice> device);
    /// Removes a port. Frames that its device had received are forwarded first. On return the device is destroyed; its
    /// counters stay in `removed_ports` and `removed_devices`.
    void remove(PortId port);
    /// Adds or removes a lane's membership of a multicast group. Does not stall the poll thread.
    void set_group(PortId lane, wire::MacAddress group, bool member);
    /// Establishes and re-establishes links (`NetDevice::link_up`), and ages learned addresses. Call a few times a
    /// second with `Links::all`, and more often with `Links::down`, which skips ports whose link is up.
    void upkeep(Time now, Links which);

    bool link_up(PortId port) const;
    const NetDevice& device(PortId port) const;
    const SwitchPortCounters& counters(PortId port) const;
    const SwitchCounters& counters() const { return counters_; }
    /// Counters of all removed ports, and of their devices.
    const CounterSums& removed_ports() const { return removed_ports_; }
    const CounterSums& removed_devices() const { return removed_devices_; }

    // Poll thread.

    /// Forwards received frames, a bounded share of each port. False if there were none.
    bool poll() noexcept;
    /// Sleeps until a frame arrives or the topology changes, for a fraction of a second at most.
    void wait() noexcept;
    /// Polls and sleeps until `stop` is set. To end a sleep, call `wake` after setting it.
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
    CaptureFile::Source source_{};  ///< the switch's interface in the capture file
    std::map<PortId, std::unique_ptr<Port>> ports_;
    CounterSums removed_ports_, removed_devices_;
    std::uint32_t last_id_ = 0;
    ForwardingTable learned_;  ///< MAC addresses behind uplinks
    Gate<Topology> gate_;
    EventDescriptor wake_;
    SwitchCounters counters_;

    // The poll thread's.
    Wakeups wakeups_;
    std::size_t next_ = 0;  ///< the port polled first, rotated for fairness
    Time backoff_ = 0;      ///< current sleep while ports are full
    CpuContention contention_{
        {.time_slice = 200 * microsecond, .shortest_hold = 100 * millisecond, .longest_hold = 1600 * millisecond}};
};

}  // namespace verbline::pmd
