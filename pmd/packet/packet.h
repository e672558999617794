// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// An existing kernel Ethernet interface as a device, by a packet socket: a NIC without a DPDK driver, a veth, the tap
/// of a virtual machine. The kernel keeps using it; this device receives a copy of each frame.
///
/// Receiving takes no system call; sending takes one for each burst.

#include <array>
#include <memory>
#include <string>

#include <sys/socket.h>
#include <sys/uio.h>

#include "pmd/netdev.h"
#include "pmd/packet/ring.h"
#include "pmd/packet/socket.h"

struct rte_mempool;

namespace verbline::pmd {

struct PacketOptions {
    std::string interface;             ///< in the calling thread's network namespace
    bool only_rdma = true;             ///< receive only traffic that packet/filter.h matches; else everything
    bool promiscuous = false;          ///< also receive frames for other MAC addresses
    std::size_t ring_bytes = 4 << 20;  ///< size of the receive ring
};

#define VERBLINE_PACKET_COUNTERS(X)                                                                      \
    X(rx_good_packets, "frames from the interface")                                                      \
    X(rx_good_bytes, "their bytes")                                                                      \
    X(rx_mbuf_allocation_errors, "receives put off because the pool was empty; frames wait in the ring") \
    X(rx_dropped_oversize, "frames longer than the interface's MTU was when it was opened")              \
    X(tx_good_packets, "frames given to the kernel")                                                     \
    X(tx_good_bytes, "their bytes")                                                                      \
    X(tx_dropped_segments, "frames in more pieces than one system call takes")                           \
    X(tx_dropped_refused, "frames that the kernel refused: longer than the MTU, or its queue was full")  \
    X(tx_dropped_link_down, "frames while the interface was down or removed")

struct PacketCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_PACKET_COUNTERS)
};

class AfPacket : public NetDevice {
public:
    /// Errors are one line: no such interface, not Ethernet, no permission.
    static Result<std::unique_ptr<AfPacket>> create(const PacketOptions& options, rte_mempool* pool);

    std::string_view name() const override { return name_; }
    const Capabilities& capabilities() const override { return capabilities_; }
    std::optional<wire::MacAddress> mac() const override { return socket_.mac(); }
    int numa_socket() const override { return numa_socket_; }
    /// An error if the kernel interface is down: the administrator must bring it up.
    Result<void> up() override;
    void down() override;
    bool link_up() override { return is_up_ && socket_.has_carrier(); }
    std::uint16_t rx_burst(std::uint16_t queue, Burst burst) noexcept override;
    std::uint16_t tx_burst(std::uint16_t queue, Burst burst) noexcept override;
    int rx_event(std::uint16_t) const noexcept override { return socket_.fd(); }
    /// Also receives frames for `identity.mac` if it differs from the interface's address.
    std::error_code set_identity(const Identity& identity) override;
    std::error_code attach_multicast(const MulticastAddress& group) override;
    std::error_code detach_multicast(const MulticastAddress& group) override;
    std::error_code receive_all_multicast(bool all) override;
    void counters(const CounterVisitor& visit) const override;

private:
    static constexpr std::size_t max_segments = 8;  ///< of a frame
    /// Arguments of one sendmmsg(2).
    struct Batch {
        std::array<mmsghdr, max_burst> messages;
        std::array<std::array<iovec, max_segments>, max_burst> vectors;
    };

    AfPacket(const PacketOptions& options, packet::Socket socket, packet::ReceiveRing ring, rte_mempool* pool);
    rte_mbuf* receive(const packet::ReceiveRing::Frame& frame) noexcept;
    std::size_t transmit(Burst burst) noexcept;

    std::string name_;
    Capabilities capabilities_;
    int numa_socket_;
    rte_mempool* pool_;
    mutable packet::Socket socket_;
    packet::ReceiveRing ring_;
    bool is_up_ = false;
    std::optional<wire::MacAddress> identity_;  ///< received in addition to the interface's own
    bool all_multicast_ = false;
    mutable Counter kernel_drops_;  ///< as of the last query
    PacketCounters rx_;
    alignas(64) PacketCounters tx_;
    Batch batch_;
};

}  // namespace verbline::pmd
