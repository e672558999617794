// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One receive queue of the port: IPoIB packets of the link become Ethernet frames of the program.
///
///     link ──> ipoib::IpoibInterface ──┬── IP ──> Ethernet header: from the sender's MAC address ──> program
///                                      └── ARP, ND ──> event ──> control thread
///     control thread ── frames (ARP, ND, queries) ── ring ───────────────────────────────────────> program
///
/// The program's thread calls `receive`; the control thread everything else, while it keeps the program outside by the
/// gate (pmd/shard/quiescent_gate.h), and `deliver`, which needs no gate. No lock, no allocation but of packets.

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "datapath/forward/neighbours.h"
#include "datapath/ipoib/interface.h"
#include "datapath/router/event_sink.h"
#include "pmd/rss/handover_ring.h"
#include "pmd/shard/quiescent_gate.h"

namespace verbline::net_ipoib {

#define VERBLINE_RECEIVE_END_COUNTERS(X)                                                                        \
    X(rx_frames, "Ethernet frames that the program received")                                                   \
    X(rx_frame_bytes, "bytes of these")                                                                         \
    X(rx_unknown_sender, "packets of hosts that have not named themselves by ARP or ND: from a common address") \
    X(rx_checksum_bad, "packets whose checksum was found wrong, where the program asked for that")              \
    X(rx_dropped_too_long, "packets longer than the program's buffers, which asked for no chains")              \
    X(rx_dropped_no_mbuf, "packets for which the program's pool had no buffer")                                 \
    X(rx_dropped_control_busy, "ARP and ND of the link dropped because the control thread was behind")

struct ReceiveEndCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_RECEIVE_END_COUNTERS)
};

/// The control thread's.
#define VERBLINE_DELIVERY_COUNTERS(X) \
    X(rx_dropped_program_busy, "ARP and ND dropped because the program did not receive what came before")

struct DeliveryCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_DELIVERY_COUNTERS)
};

class ReceiveEnd {
public:
    struct Setup {
        pmd::NetDevice* device = nullptr;
        std::uint16_t queue = 0;
        rte_mempool* frames = nullptr;   ///< the device's buffers
        rte_mempool* packets = nullptr;  ///< the program's; the same, or what is received is copied
        router::Ring<router::Event>* events = nullptr;
        const EventDescriptor* wake = nullptr;
        std::uint16_t port = 0;       ///< DPDK's number
        bool checksums = false;       ///< verify them, in software
        bool chains = false;          ///< the program takes packets in several buffers
        std::uint32_t hosts = 4'096;  ///< of which the MAC address is known
    };

    static Result<std::unique_ptr<ReceiveEnd>> create(const Setup& setup);
    ReceiveEnd(const ReceiveEnd&) = delete;
    ReceiveEnd& operator=(const ReceiveEnd&) = delete;
    ~ReceiveEnd();  ///< frees what was received and not asked for

    /// The program: fills `out` from the front with frames, and returns how many.
    std::uint16_t receive(std::span<rte_mbuf*> out) noexcept;

    pmd::QuiescentGate& gate() { return gate_; }

    // The control thread, while it holds the gate.

    ipoib::IpoibInterface& link() { return link_; }
    void set_mac(wire::MacAddress mac) { mac_ = mac; }
    /// Packets of this origin are from `mac`; none: from no host that is known.
    void set_sender(const ipoib::Origin& origin, std::optional<wire::MacAddress> mac);

    /// The control thread: hands the program a frame. Takes ownership.
    void deliver(rte_mbuf* frame) noexcept;
    /// Where such frames are from.
    rte_mempool& packets() { return packets_; }

    void counters(const CounterVisitor& visit) const;

    /// What packets of unknown hosts are from.
    static constexpr wire::MacAddress unknown_sender{
        {std::byte{0x02}, std::byte{0x00}, std::byte{0x5e}, std::byte{0x00}, std::byte{0x00}, std::byte{0x00}}};

private:
    /// LID and queue pair number are as many bits as the table's keys of an interface and an IPv4 address. On RoCE,
    /// where there is no LID, MAC address and queue pair number need more: looking these up takes longer.
    using SubnetSenders = forward::NeighbourTable<wire::MacAddress, wire::Ipv4Address>;
    using RoceSenders = forward::NeighbourTable<wire::MacAddress, wire::Ipv6Address>;

    ReceiveEnd(const Setup& setup, pmd::HandoverRing deliveries);
    static SubnetSenders::NeighbourKey subnet_key(const ipoib::Origin& origin) noexcept;
    static RoceSenders::NeighbourKey roce_key(const ipoib::Origin& origin) noexcept;
    const wire::MacAddress* find_sender(const ipoib::Origin& origin) noexcept;
    void poll() noexcept;
    void accept(pmd::Burst packets, std::span<const ipoib::Origin> origins, wire::EtherType type) noexcept;
    void punt(wire::EtherType type, rte_mbuf* packet) noexcept;
    bool finish(rte_mbuf*& packet, const ipoib::Origin& origin, wire::EtherType type) noexcept;
    wire::MacAddress sender_of(const ipoib::Origin& origin) noexcept;
    wire::MacAddress destination_of(const rte_mbuf& packet, const ipoib::Origin& origin,
                                    wire::EtherType type) const noexcept;
    void verify(rte_mbuf& packet, wire::EtherType type) noexcept;
    rte_mbuf* copy(const rte_mbuf& packet) noexcept;

    pmd::QuiescentGate gate_;
    ipoib::IpoibInterface link_;
    rte_mempool& packets_;
    const bool copies_, checksums_, chains_;
    const std::uint16_t port_;
    wire::MacAddress mac_{};
    forward::NeighbourCounters sender_counters_;
    SubnetSenders subnet_senders_;
    RoceSenders roce_senders_;
    router::EventSink events_;
    bool emitted_ = false;  ///< in this burst
    pmd::HandoverRing deliveries_;
    link::Reception received_;
    ipoib::Origins origins_;
    std::array<rte_mbuf*, pmd::max_burst> ready_;  ///< [taken_, ready_count_): received, and not asked for yet
    std::uint16_t taken_ = 0, ready_count_ = 0;
    ReceiveEndCounters counters_;
    DeliveryCounters delivery_counters_;
};

}  // namespace verbline::net_ipoib
