// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One transmit queue of the port: Ethernet frames of the program become IPoIB packets of the link.
///
///     program ──> by the destination MAC ──┬── a host's, broadcast ──> ipoib::IpoibInterface ──> link
///                                          ├── a group's ──> by the IP address; one that is not joined yet waits
///                                          └── ARP, ND ──> event ──> control thread ── send ──> link
///
/// The program's thread calls `transmit`; the control thread everything else, while it keeps the program outside by
/// the gate (pmd/shard/quiescent_gate.h). No lock, no allocation but of packets.

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>

#include "datapath/forward/neighbours.h"
#include "datapath/ipoib/interface.h"
#include "datapath/router/event_sink.h"
#include "pmd/base/time.h"
#include "pmd/shard/quiescent_gate.h"

namespace verbline::net_ipoib {

#define VERBLINE_TRANSMIT_END_COUNTERS(X)                                                                  \
    X(tx_frames, "Ethernet frames of the program that went on to the link, or to the control thread")      \
    X(tx_frame_bytes, "bytes of these")                                                                    \
    X(tx_copied, "frames that were copied: shared by the program, or without room for the link's headers") \
    X(tx_dropped_malformed, "frames shorter than their headers, which must lie in the first buffer")       \
    X(tx_dropped_vlan, "frames with a VLAN tag: IPoIB has none, partitions take their place")              \
    X(tx_dropped_ethertype_of_program, "frames of an EtherType that IPoIB does not carry")                 \
    X(tx_dropped_unknown_mac, "frames to a MAC address that stands for no host")                           \
    X(tx_dropped_group_mismatch, "frames to a group's MAC address whose packet is not to a group")         \
    X(tx_dropped_too_long, "packets longer than the port's MTU")                                           \
    X(tx_dropped_no_copy, "frames that had to be copied when no buffer was free")                          \
    X(tx_refused_bursts, "bursts not taken because the control thread changed the queue for too long")     \
    X(tx_dropped_control_busy, "ARP, ND and packets to new groups dropped because the control thread was behind")

struct TransmitEndCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_TRANSMIT_END_COUNTERS)
};

class TransmitEnd {
public:
    struct Setup {
        pmd::NetDevice* device = nullptr;
        std::uint16_t queue = 0;
        rte_mempool* pool = nullptr;  ///< for copies and segments; buffers hold a frame of the link
        router::Ring<router::Event>* events = nullptr;
        const EventDescriptor* wake = nullptr;
        std::uint32_t mtu = 2044;
        std::uint32_t hosts = 4'096;
    };

    explicit TransmitEnd(const Setup& setup);
    TransmitEnd(const TransmitEnd&) = delete;
    TransmitEnd& operator=(const TransmitEnd&) = delete;

    /// The program: takes the first n frames and returns n; fewer than all only while the device takes none. Programs
    /// drop what is not taken, so a change by the control thread, some microseconds, is waited for, at most 2 ms.
    std::uint16_t transmit(std::span<rte_mbuf*> frames) noexcept;

    pmd::QuiescentGate& gate() { return gate_; }

    // The control thread, while it holds the gate.

    ipoib::IpoibInterface& link() { return link_; }
    void set_broadcast(const link::Destination& to) { broadcast_ = to; }
    void set_mtu(std::uint32_t mtu) { mtu_ = mtu; }
    /// Where a host is: one destination for each family.
    void set_host(wire::MacAddress mac, const link::Destination& ipv4, const link::Destination& ipv6);
    void forget_host(wire::MacAddress mac);
    /// Where a group is, by its IP address, that of IPv4 mapped; sends what has waited for it.
    void set_group(const wire::Gid& group, const link::Destination& to);
    /// There is no way to it: what has waited is dropped.
    void fail_group(const wire::Gid& group);
    /// Sends a packet that begins at its network header. Takes ownership.
    void send(rte_mbuf* packet, const link::Destination& to);
    /// Drops what has waited too long, and offers the device what it has not taken.
    void look_after(Time now);

    /// The control thread, without the gate: whether `look_after` has anything to do.
    bool unfinished() const noexcept { return unfinished_.load(std::memory_order_relaxed); }

    void counters(const CounterVisitor& visit) const;

private:
    /// A host or a group, in one family: what the InterfaceId of the key says.
    using Table = forward::NeighbourTable<link::Destination, wire::Ipv6Address>;
    static Table::NeighbourKey key_of(wire::MacAddress mac, wire::EtherType type);
    static Table::NeighbourKey key_of(const wire::Gid& group);

    /// The destination of a frame, whose Ethernet header is taken off; null if it was dropped, or taken.
    bool enter() noexcept;
    void leave() noexcept;
    const link::Destination* route(rte_mbuf*& frame) noexcept;
    const link::Destination* route_unicast(rte_mbuf& frame, wire::MacAddress to, wire::EtherType type) noexcept;
    const link::Destination* route_group(rte_mbuf& frame, wire::EtherType type) noexcept;
    const link::Destination* drop(rte_mbuf& frame, Counter& why) noexcept;
    bool own(rte_mbuf*& frame) noexcept;
    void wait_for_group(rte_mbuf& packet, const wire::Gid& group) noexcept;
    void punt(rte_mbuf& frame, wire::EtherType type) noexcept;
    void report_membership(const rte_mbuf& packet) noexcept;
    void strip(rte_mbuf& frame) noexcept;

    pmd::QuiescentGate gate_;
    ipoib::IpoibInterface link_;
    rte_mempool& pool_;
    std::uint32_t mtu_;
    std::optional<link::Destination> broadcast_;
    forward::NeighbourCounters table_counters_;
    Table table_;
    router::EventSink events_;
    bool emitted_ = false;  ///< in this burst
    std::atomic<bool> unfinished_{false};
    TransmitEndCounters counters_;
};

}  // namespace verbline::net_ipoib
