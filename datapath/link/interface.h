// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A link as IP sees it, on one shard: packets begin at their IP header in both directions.
///
///                     receive                        transmit(packets, destinations)
///     IP packets <── decapsulate <── rx_burst   │   segment, checksum ──> encapsulate ──> staged frames ──> tx_burst
///     non-IP     <── (Punt: ARP)                │   (unless the device offloads it)
///
/// Common base of both kinds of link (ethernet_interface.h, datapath/ipoib/interface.h): offloads that the device lacks
/// are done in software, frames that the device does not accept are staged, and dropped and counted if the stage is
/// full. A burst stays a burst down to the device: one indirect call for its headers, one for the device. Owned by one
/// shard; only `counters` may be called by other threads.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "datapath/link/destination.h"
#include "pmd/netdev.h"

struct rte_mempool;

namespace verbline::link {

/// A non-IP packet for the control thread; its data begins after the link header.
struct Punt {
    wire::EtherType type{};
    rte_mbuf* packet = nullptr;
};

/// The result of one poll of a link. The caller owns the mbufs.
struct Reception {
    std::array<rte_mbuf*, pmd::max_burst> ip;    ///< IPv4, by the link's protocol field
    std::array<rte_mbuf*, pmd::max_burst> ipv6;  ///< likewise
    std::array<Punt, pmd::max_burst> punts;
    std::uint16_t ip_count = 0, ipv6_count = 0, punt_count = 0;
    std::uint16_t frames = 0;  ///< what the device gave, with all that was discarded
    bool idle = true;          ///< the device had no packets
};

#define VERBLINE_LINK_COUNTERS(X)                                                                          \
    X(rx_packets, "IP packets received")                                                                   \
    X(rx_bytes, "bytes of IP packets received")                                                            \
    X(rx_punted, "packets other than IP handed to the control thread")                                     \
    X(rx_dropped_ethertype, "packets of an EtherType that is not carried")                                 \
    X(tx_packets, "frames sent, after segmentation")                                                       \
    X(tx_bytes, "bytes of IP packets sent, before segmentation")                                           \
    X(tx_segmented, "large packets segmented in software")                                                 \
    X(tx_segments, "segments that these became, with those for which no mbuf was free")                    \
    X(tx_dropped_no_mbuf, "segments not sent because no mbuf was free")                                    \
    X(tx_dropped_bad_request, "packets whose offload request contradicts the packet")                      \
    X(tx_dropped_no_room, "packets without the room that the link's headers, or one buffer for all, need") \
    X(tx_dropped_congested, "frames dropped because the device did not take them and the stage was full")  \
    X(tx_dropped_down, "packets for a link that is not up")

struct LinkCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_LINK_COUNTERS)
};

/// Burst size for devices with lossless receive (`lossless_rx`: tun, tap). Their packets of up to 64 KB become 33
/// frames each, so a few fill a stage.
constexpr std::size_t waiting_burst = 8;

/// Where each packet of a burst goes; not owned.
using Destinations = std::span<const Destination*>;

class Interface {
public:
    /// Segments are allocated from `pool`; `queue` is this shard's queue of `device`. `offloads_reach_ip`: whether the
    /// device's TX offloads apply inside this link's headers: a device expects the IP packet behind the header that its
    /// `carries` names, and knows no other encapsulation. If false, software does the work.
    Interface(pmd::NetDevice& device, std::uint16_t queue, rte_mempool& pool, bool offloads_reach_ip = true);
    Interface(const Interface&) = delete;
    Interface& operator=(const Interface&) = delete;
    virtual ~Interface();

    /// Polls the device once.
    virtual void receive(Reception& out) noexcept = 0;

    /// Takes ownership of the packets, at most pmd::max_burst, each of which begins at its network header and may carry
    /// offload requests; `to` names as many destinations. Both spans are used as scratch space.
    virtual void transmit(pmd::Burst packets, Destinations to) noexcept = 0;
    void transmit(rte_mbuf* packet, const Destination& to) noexcept {
        const Destination* one = &to;
        transmit({&packet, 1}, {&one, 1});
    }
    /// Offers staged frames to the device again. Call once per poll.
    void flush() noexcept;
    /// True while the device refuses frames: sources with lossless receive should not be read. Frames that wait for
    /// the end of the poll do not count, or a source would not be read while another is busy.
    bool congested() const { return congested_; }

    pmd::NetDevice& device() { return *device_; }
    const pmd::NetDevice& device() const { return *device_; }
    /// Replaces the device by the same one with other decorators around it: its capabilities are where they were.
    void set_device(pmd::NetDevice& device) noexcept;
    const pmd::Capabilities& capabilities() const { return capabilities_; }
    std::uint16_t queue() const { return queue_; }
    /// Whether the device itself does what the packet asks for, within this link's headers; else software does.
    bool device_satisfies(const rte_mbuf& packet) const noexcept;
    /// RTE_ETH_TX_OFFLOAD_*_TNL_TSO bits: the kinds of tunnels whose large packets the device cuts.
    std::uint64_t tunnel_offloads() const;
    std::size_t staged() const { return staged_.size() - head_; }
    virtual void counters(const CounterVisitor& visit) const { counters_.each(visit); }

protected:
    /// What `transmit` of every kind of link does (transmit.h). `wrap(rte_mbuf&, const Destination&)` adds the link's
    /// headers, and trailers, to a packet; returns null, or the counter of the reason to drop it.
    /// `Chains::any`: what carries the packets takes them in as many mbufs as they have, not the device.
    enum class Chains : std::uint8_t { as_device, any };
    template <class Wrap>
    void transmit_each(pmd::Burst packets, Destinations to, Wrap wrap, Chains chains = Chains::as_device) noexcept;
    /// Sends encapsulated frames; the default stages them for tx_burst.
    virtual void emit(pmd::Burst frames, Destinations to) noexcept;

    /// Receives one burst from the device. Sets `out.frames`, and `out.idle` if there was nothing to receive, for us or
    /// for others.
    pmd::Burst poll_device(std::array<rte_mbuf*, pmd::max_burst>& frames, Reception& out) noexcept;

    LinkCounters counters_;

private:
    bool must_segment(const rte_mbuf& packet) const noexcept;
    bool prepare(rte_mbuf* packet, Chains chains) noexcept;
    template <class Wrap>
    void segment(rte_mbuf* packet, const Destination& to, Wrap wrap) noexcept;

    pmd::NetDevice* device_;
    const pmd::Capabilities& capabilities_;  ///< the device's
    const bool offloads_reach_ip_;
    std::uint16_t queue_;
    rte_mempool& pool_;
    std::vector<rte_mbuf*> staged_;  ///< frames the device has not accepted yet; [0, head_) are sent already
    std::size_t head_ = 0;
    bool congested_ = false;  ///< the device did not take all of what was last offered
};

}  // namespace verbline::link
