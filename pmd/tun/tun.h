// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A kernel TUN or TAP interface as a device: `rx_burst` returns packets that the kernel transmits on it; packets given
/// to `tx_burst` are received by the kernel.
///
/// Checksum and segmentation requests cross in both directions (see vnet_header.h), so a TCP stream moves in packets of
/// up to 64 KB, one system call and one copy each. Multi-queue: the kernel spreads its flows over the queues.

#include <memory>
#include <tuple>
#include <vector>

#include "pmd/netdev.h"
#include "pmd/packet_pools.h"
#include "pmd/tun/interface.h"

namespace verbline::pmd {

#define VERBLINE_TUN_COUNTERS(X)                                                                     \
    X(rx_good_packets, "packets taken from the kernel")                                              \
    X(rx_good_bytes, "their bytes")                                                                  \
    X(rx_mbuf_allocation_errors, "reads put off because the pool had no mbuf; the kernel queues on") \
    X(rx_dropped_vnet_header, "packets with an offload request that contradicts the packet")         \
    X(rx_dropped_oversize, "packets longer than any the interface may send")                         \
    X(rx_errors, "reads that failed")                                                                \
    X(tx_good_packets, "packets given to the kernel")                                                \
    X(tx_good_bytes, "their bytes")                                                                  \
    X(tx_dropped_offload, "packets whose offload request contradicts the packet")                    \
    X(tx_dropped_segments, "packets in more pieces than one system call takes")                      \
    X(tx_dropped_refused, "packets that the kernel refused: malformed, or interface down")

struct TunCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_TUN_COUNTERS)
};

class Tun : public NetDevice {
public:
    /// Received packets are allocated from `pools`, which must outlive the device and its packets.
    static Result<std::unique_ptr<Tun>> create(const TunOptions& options, const PacketPools& pools);
    ~Tun() override;

    std::string_view name() const override { return interface_.name(); }
    const Capabilities& capabilities() const override { return capabilities_; }
    Result<void> up() override { return interface_.set_up(true); }
    void down() override { std::ignore = interface_.set_up(false); }
    bool link_up() override { return interface_.is_up(); }
    /// As TunInterface::set_carrier. Control thread.
    Result<void> set_carrier(bool carrier) { return interface_.set_carrier(carrier); }
    std::uint16_t rx_burst(std::uint16_t queue, Burst burst) noexcept override;
    std::uint16_t tx_burst(std::uint16_t queue, Burst burst) noexcept override;
    int rx_event(std::uint16_t queue) const noexcept override { return interface_.queue(queue); }
    void counters(const CounterVisitor& visit) const override;

private:
    struct Queue;

    Tun(TunInterface interface, const TunOptions& options, const PacketPools& pools);
    rte_mbuf* receive(Queue& queue, std::size_t bytes) noexcept;

    TunInterface interface_;
    Capabilities capabilities_;
    std::vector<std::unique_ptr<Queue>> queues_;
};

}  // namespace verbline::pmd
