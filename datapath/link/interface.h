// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A link as IP sees it, on one shard: packets in and out that begin at their IP header.
///
///                     receive                        transmit(packet, destination)
///     IP packets <── decapsulate <── rx_burst   │   segment, checksum ──> encapsulate ──> staged frames ──> tx_burst
///     the rest   <── (Punt: ARP)                │   (what the device does not do itself)
///
/// What the two kinds of link (ethernet_interface.h, datapath/ipoib/interface.h) share is here: work that the device
/// cannot do is done in software, frames that the device does not take at once are staged, and a full stage drops by
/// name. Owned by one shard; only `counters` may be read by others.

#include <array>
#include <cstdint>
#include <vector>

#include "datapath/link/destination.h"
#include "pmd/netdev.h"

struct rte_mempool;

namespace verbline::link {

/// A packet that is not IP, for the control thread: its data begins after the link header.
struct Punt {
    wire::EtherType type{};
    rte_mbuf* packet = nullptr;
};

/// What one poll of a link gave. The mbufs are the receiver's.
struct Reception {
    std::array<rte_mbuf*, pmd::max_burst> ip;
    std::array<Punt, pmd::max_burst> punts;
    std::uint16_t ip_count = 0, punt_count = 0;
    bool idle = true;  ///< the device had nothing
};

#define VERBLINE_LINK_COUNTERS(X)                                                                          \
    X(rx_packets, "IP packets received")                                                                   \
    X(rx_bytes, "bytes of IP packets received")                                                            \
    X(rx_punted, "packets other than IP handed to the control thread")                                     \
    X(rx_dropped_ethertype, "packets of an EtherType that is not carried")                                 \
    X(tx_packets, "frames sent, after segmentation")                                                       \
    X(tx_bytes, "bytes of IP packets sent, before segmentation")                                           \
    X(tx_segmented, "large packets segmented in software")                                                 \
    X(tx_dropped_no_mbuf, "segments not sent because no mbuf was free")                                    \
    X(tx_dropped_bad_request, "packets whose offload request contradicts the packet")                      \
    X(tx_dropped_no_room, "packets without the room that the link's headers, or one buffer for all, need") \
    X(tx_dropped_congested, "frames dropped because the device did not take them and the stage was full")  \
    X(tx_dropped_down, "packets for a link that is not up")

struct LinkCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_LINK_COUNTERS)
};

/// How much is taken at a time from a source that can wait (tun, tap). It hands over up to 64 KB per packet, which
/// become 33 frames each: a few fill a stage.
constexpr std::size_t waiting_burst = 8;

class Interface {
public:
    /// `pool` is where segments come from; `queue` is this shard's queue of `device`.
    Interface(pmd::NetDevice& device, std::uint16_t queue, rte_mempool& pool);
    Interface(const Interface&) = delete;
    Interface& operator=(const Interface&) = delete;
    virtual ~Interface();

    /// Polls the device once.
    virtual void receive(Reception& out) noexcept = 0;

    /// Takes `packet`, which begins at its network header and may carry offload requests.
    void transmit(rte_mbuf* packet, const Destination& to) noexcept;
    /// Offers staged frames to the device again. Call once per poll.
    void flush() noexcept;
    /// Frames wait for the device: producers that can wait should.
    bool congested() const { return head_ != staged_.size(); }

    pmd::NetDevice& device() { return device_; }
    const pmd::NetDevice& device() const { return device_; }
    std::uint16_t queue() const { return queue_; }
    std::size_t staged() const { return staged_.size() - head_; }
    virtual void counters(const CounterVisitor& visit) const { counters_.each(visit); }

protected:
    /// Puts the link's headers (and trailers) around each packet, all for one destination; drops and counts what it
    /// cannot, compacting the burst. Returns how many remain.
    virtual std::uint16_t encapsulate(pmd::Burst packets, const Destination& to) noexcept = 0;
    /// Whether the device's TX offloads find the IP packet inside this link's headers: a device looks for it behind the
    /// header that its `carries` names, and knows no other encapsulation. Where not, software does the work.
    virtual bool offloads_reach_ip() const noexcept { return true; }
    /// Hands encapsulated frames on; the default stages them for tx_burst.
    virtual void emit(pmd::Burst frames, const Destination& to) noexcept;

    /// One burst from the device.
    pmd::Burst poll_device(std::array<rte_mbuf*, pmd::max_burst>& frames) noexcept;

    LinkCounters counters_;

private:
    bool device_satisfies(const rte_mbuf& packet) const noexcept;
    void segment(rte_mbuf* packet, const Destination& to) noexcept;
    void send(pmd::Burst packets, const Destination& to) noexcept;

    pmd::NetDevice& device_;
    std::uint16_t queue_;
    rte_mempool& pool_;
    std::vector<rte_mbuf*> staged_;  ///< frames the device has not taken; [0, head_) are gone
    std::size_t head_ = 0;
};

}  // namespace verbline::link
