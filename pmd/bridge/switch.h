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
/// Threads: the control thread adds and removes ports, maintains links and reads counters. Each shard has a poll
/// thread, which calls `poll`, `wait` or `run`, on queue 0 of the devices of its own ports: one shard polls all, of
/// several each its part. What is for a port of another shard is handed to that one by a ring, so that frames from port
/// to port keep their order:
///
///     lane 1 ──> shard 0 ── guard, lookup ──┬──> lane 3 (its own)
///                                           ├──> its queue of an uplink that has several
///                                           └── HandoverRing ──> shard 1 ──> lane 2
///
/// The control thread builds a new topology and publishes it, and waits for the polls under way; poll threads do not
/// wait for the control thread. Only the removal of a port stalls them, while frames that the port had sent are
/// forwarded.

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "pmd/base/gate.h"
#include "pmd/base/tunables.h"
#include "pmd/bridge/forwarding_table.h"
#include "pmd/bridge/output_queue.h"
#include "pmd/bridge/source_guard.h"
#include "pmd/capture/capture_file.h"
#include "pmd/netdev.h"
#include "pmd/shard/poll_meter.h"
#include "pmd/trace/trace_ring.h"

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
    X(rx_dropped_nd, "Neighbour Discovery of a lane for another host's address, or as a router")               \
    X(rx_dropped_no_receiver, "frames for an address that no other lane or uplink has")                        \
    X(rx_dropped_no_mbuf, "copies for several receivers not made because no mbuf was free")                    \
    X(rx_dropped_handover_full, "frames for ports of another shard, to which too many were waiting already")   \
    X(tx_packets, "frames that went out by this port")                                                         \
    X(tx_bytes, "their bytes")                                                                                 \
    X(tx_dropped_full, "frames for this port while too many waited for it already")                            \
    X(tx_dropped_removed, "frames that waited for this port when it was removed")

struct SwitchPortCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_SWITCH_PORT_COUNTERS)
};

/// Of each shard; removed_ports is of the first, for all.
#define VERBLINE_SWITCH_COUNTERS(X)                                                       \
    X(sleeps, "times that the poll thread found nothing to do and slept")                 \
    X(removed_ports, "ports that were removed")                                           \
    X(captured, "frames given to the capture file")                                       \
    X(capture_dropped, "frames not captured because too many were waiting to be written") \
    X(rx_bursts, "bursts received from ports")                                            \
    X(rx_burst_packets, "frames in these bursts")                                         \
    X(rx_handed_over, "frames received for ports of other shards, and handed to those")   \
    X(rx_taken_over, "frames that other shards have received for ports of this one")      \
    X(handover_wakeups, "times that another shard slept and was woken for its frames")    \
    X(tx_dropped_no_port, "frames from another shard for a port that was removed meanwhile")

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
        unsigned shards = 1;             ///< poll threads; a port belongs to the one that has fewest
        std::vector<TraceRing*> traces;  ///< of the shards, or none; an event's port is the low half of its PortId
    };

    explicit Switch(const Options& options);
    Switch(const Switch&) = delete;
    Switch& operator=(const Switch&) = delete;
    ~Switch();

    /// False if the descriptors needed to sleep could not be opened: `run` would then never sleep.
    bool can_sleep() const;
    unsigned shards() const { return static_cast<unsigned>(shards_.size()); }

    // Control thread. Devices carry Ethernet frames and are up.

    /// Makes the rings between several shards. Before the first poll; then until the switch is destroyed.
    Result<void> connect();

    /// Without a `guard` the lane may send from any IP address: for a router or a bridge.
    PortId add_lane(std::unique_ptr<NetDevice> device, wire::MacAddress mac,
                    std::optional<SourceGuard> guard = std::nullopt);
    /// Replaces a lane's guard. Stalls the poll threads for a moment.
    void set_guard(PortId lane, std::optional<SourceGuard> guard);
    /// Only before the first poll.
    Result<PortId> add_uplink(std::unique_ptr<NetDevice> device);
    /// The same of a device of several queues (DeviceQueue), with a port for each: shards take them in turns. Frames
    /// that go there leave by the queue of the shard that has them, and are handed over only if it has none.
    Result<std::vector<PortId>> add_uplink(std::vector<std::unique_ptr<NetDevice>> queues);
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
    unsigned shard_of(PortId port) const;
    const SwitchCounters& counters(unsigned shard = 0) const;
    /// How a shard's thread spends its time.
    const PollCounters& polls(unsigned shard) const;
    /// Counters of all removed ports, and of their devices.
    const CounterSums& removed_ports() const { return removed_ports_; }
    const CounterSums& removed_devices() const { return removed_devices_; }

    // The shard's poll thread.

    /// Forwards received frames, a bounded share of each port. False if there were none.
    bool poll(unsigned shard = 0) noexcept;
    /// Sleeps until a frame arrives or the topology changes, for a fraction of a second at most.
    void wait(unsigned shard = 0) noexcept;
    /// Polls and sleeps until `stop` is set. To end a sleep, call `wake` after setting it.
    void run(const std::atomic<bool>& stop, unsigned shard = 0) noexcept;
    /// Any thread: ends `wait` of all shards.
    void wake() const noexcept;
    /// Any thread, after it has given a port's device work that the next poll finds: ends `wait` where a shard waits.
    void wake_waiting() noexcept;

private:
    struct Port;
    struct Topology;
    struct Shard;
    using Ports = std::vector<Port*>;

    std::unique_ptr<Port> make_port(std::unique_ptr<NetDevice> device);
    PortId add(std::unique_ptr<Port> port);
    void share_buffers();
    std::unique_ptr<Topology> topology() const;

    bool poll(Shard& shard, Topology& topology) noexcept;
    bool take_over(Shard& shard, Topology& topology) noexcept;
    std::size_t take_from(Shard& shard, Topology& topology, Port& port) noexcept;
    void take_rest(Topology& topology, Port& port) noexcept;
    void pass(Shard& shard, Topology& topology, Port& from, Burst frames) noexcept;
    void record(Shard& shard, Burst frames) noexcept;
    Counter* objection(const Topology& topology, Port& from, const rte_mbuf& frame) noexcept;
    bool legitimate(const Topology& topology, const Port& from, std::uint64_t source) noexcept;
    const Ports& receivers(const Topology& topology, std::uint64_t destination) const noexcept;
    void replicate(Shard& shard, const Ports& to, Port& from, rte_mbuf* frame) noexcept;
    static void deliver(Shard& shard, Port& from, Port& to, Burst frames) noexcept;
    static void hand_over(Shard& shard, Port& from, Port& to, Burst frames) noexcept;
    static void send(Shard& shard, Port& to, Burst frames) noexcept;
    void wake_others(Shard& shard) noexcept;
    bool linger(Shard& shard) noexcept;
    Time arm(Shard& shard, Topology& topology) noexcept;
    void disarm(Shard& shard, std::uint64_t port) noexcept;
    unsigned emptiest_shard() const;

    Options options_;
    CaptureFile::Source source_{};  ///< the switch's interface in the capture file
    std::map<PortId, std::unique_ptr<Port>> ports_;
    CounterSums removed_ports_, removed_devices_;
    std::uint32_t last_id_ = 0;
    ForwardingTable learned_;  ///< MAC addresses behind uplinks
    Gate<Topology> gate_;      ///< its users are the shards
    std::vector<std::unique_ptr<Shard>> shards_;
};

}  // namespace verbline::pmd
