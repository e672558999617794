// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A learning switch over several Ethernet devices and a local port, presented as one device.
///
///        member 0 ──┐                      ┌── what a member received for us
///        member 1 ──┼── forwarding table ──┤
///        member 2 ──┘                      └── what we send: to one member, or to all
///
/// `rx_burst` forwards frames between members. A frame for several receivers is copied for each but the last, since
/// each may write into it. A single member is passed through unchanged.
///
/// Threads: for one queue, the same thread makes both `rx_burst` and `tx_burst`, because both may send to any member.

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pmd/base/event_descriptor.h"
#include "pmd/bridge/forwarding_table.h"
#include "pmd/bridge/output_queue.h"
#include "pmd/netdev.h"
#include "pmd/wakeups/wakeups.h"

struct rte_mempool;

namespace verbline::pmd {

#define VERBLINE_BRIDGE_COUNTERS(X)                                                       \
    X(forwarded, "frames passed from one member to another")                              \
    X(flooded, "copies made of frames for several receivers or an unknown one")           \
    X(forward_dropped_full, "frames for a member with too many waiting already")          \
    X(flood_dropped_no_mbuf, "copies not made because no mbuf was free")                  \
    X(flood_dropped_no_link, "frames of ours not sent because no member was up")          \
    X(rx_dropped_runt, "frames shorter than an Ethernet header")                          \
    X(rx_dropped_source, "frames from a source address that is a group's, zero, or ours") \
    X(rx_dropped_same_member, "frames whose receiver is behind the member they arrived on")

struct BridgeCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_BRIDGE_COUNTERS)
};

class Bridge : public NetDevice {
public:
    using Clock = std::function<Time()>;  ///< called by the control thread only

    static constexpr std::size_t max_members = 16;
    static constexpr std::size_t max_waiting = 256;  ///< forwarded frames queued for one member's full ring

    /// Every member must carry Ethernet frames. Copies are allocated from `pool`.
    static Result<std::unique_ptr<Bridge>> create(std::string name, std::vector<std::unique_ptr<NetDevice>> members,
                                                  rte_mempool* pool, Clock clock);

    std::string_view name() const override { return name_; }
    const Capabilities& capabilities() const override { return capabilities_; }
    std::optional<wire::MacAddress> mac() const override;
    int numa_socket() const override;  ///< that of all members, if it is the same one
    Result<void> up() override;
    void down() override;
    /// True if any member is up. Polls every member's link, and ages the forwarding table.
    bool link_up() override;
    std::uint16_t rx_burst(std::uint16_t queue, Burst burst) noexcept override;
    bool rx_consumed(std::uint16_t queue) const noexcept override;
    /// Stops at the first unicast frame whose member has no room. Flooded frames go to the members that have room.
    std::uint16_t tx_burst(std::uint16_t queue, Burst burst) noexcept override;
    /// Readable when any member's event is, and when a member's link went up or down, as its event may be another then;
    /// -1 while a member that is up has no event, or frames wait for a full one.
    int rx_event(std::uint16_t queue) const noexcept override;
    void want_rx_event(std::uint16_t queue, bool wanted) noexcept override;
    /// Until it is called, every frame is also delivered locally.
    std::error_code set_identity(const Identity& identity) override;
    std::error_code attach_multicast(const MulticastAddress& group) override;  ///< every group reaches us anyway
    std::error_code detach_multicast(const MulticastAddress& group) override;
    std::error_code receive_all_multicast(bool all) override;
    /// The bridge's own, then each member's with the prefix `member<n>_`.
    void counters(const CounterVisitor& visit) const override;
    void queue_counters(std::uint16_t queue, const CounterVisitor& visit) const override;

private:
    struct alignas(64) Lane {
        BridgeCounters counters;
        std::size_t next = 0;              ///< the member polled first, rotated for fairness
        std::vector<OutputQueue> waiting;  ///< by member
        bool consumed = false;             ///< by the last `rx_burst`
        Wakeups wakeups;
        bool deaf = false;  ///< a member that is up has no event, or frames wait for room, which signals no event
    };
    /// Frames collected for each member, sent together at the end of a burst.
    struct Outgoing {
        std::array<std::array<rte_mbuf*, max_burst>, max_members> frames;
        std::array<std::uint16_t, max_members> count{};
    };

    Bridge(std::string name, std::vector<std::unique_ptr<NetDevice>> members, rte_mempool* pool, Clock clock);
    bool alone() const { return members_.size() == 1; }
    bool for_us(rte_mbuf* frame, std::size_t from, Lane& lane, Outgoing& out) noexcept;
    rte_mbuf* copy(const rte_mbuf& frame, Lane& lane) const noexcept;
    void flush(std::uint16_t queue, Lane& lane, Outgoing& out) noexcept;
    void forward(std::uint16_t queue, std::size_t to, Burst frames, Lane& lane) noexcept;
    void flood(std::uint16_t queue, rte_mbuf* frame, Lane& lane) noexcept;

    std::string name_;
    std::vector<std::unique_ptr<NetDevice>> members_;
    rte_mempool* pool_;
    Clock clock_;
    Capabilities capabilities_;
    ForwardingTable table_;
    std::array<std::atomic<bool>, max_members> link_{};  ///< as last polled
    std::atomic<std::uint64_t> local_{0};                ///< the local MAC address; 0: none yet
    EventDescriptor changed_;                            ///< wakes the receivers after a member's link changed
    std::vector<Lane> lanes_;                            ///< by queue
};

}  // namespace verbline::pmd
