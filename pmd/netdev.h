// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The device contract: receive and transmit bursts, capabilities, filters and counters.
///
/// Modelled on the kernel's accelerated IPoIB interface (struct rdma_netdev): a small table of operations of which a
/// device implements those it can. An operation that it lacks returns `operation_not_supported`, and the caller falls
/// back to its own implementation; callers never test for the kind of device.
///
///     up, down, rx_burst, tx_burst, capabilities        every device
///     set_identity, attach_multicast, detach_multicast,
///     receive_all_multicast                             filters; default: receive all, let the link layer discard
///     send                                              devices that carry datagrams (an HCA builds the headers)
///
/// Threads: one thread per (direction, queue) pair calls `rx_burst`/`tx_burst`; the control thread calls everything
/// else, and may do so while bursts are running. Nothing here throws.
///
/// Offload requests travel in the mbuf, as in DPDK: the producer of a packet with unfinished work sets
/// RTE_MBUF_F_TX_IP_CKSUM, RTE_MBUF_F_TX_TCP_CKSUM or RTE_MBUF_F_TX_UDP_CKSUM, RTE_MBUF_F_TX_TCP_SEG with `tso_segsz`,
/// and l2_len, l3_len, l4_len. While a checksum is requested, its field in the packet is undefined: the code that
/// satisfies the request seeds it with the pseudo-header sum. A device is given only requests that its capabilities
/// name; datapath/offload satisfies the rest. See README.md of this folder for the whole convention.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>

#include "datapath/wire/address_handle.h"
#include "datapath/wire/types.h"
#include "pmd/base/counter.h"
#include "pmd/base/error.h"
#include "pmd/rss.h"

struct rte_mbuf;

namespace verbline::pmd {

using Burst = std::span<rte_mbuf*>;

constexpr std::size_t max_burst = 64;  ///< upper bound of every burst, in packets
constexpr int any_numa_socket = -1;    ///< DPDK's SOCKET_ID_ANY

/// What a device's packets begin with.
enum class Carries : std::uint8_t {
    ethernet,  ///< an Ethernet header, without FCS; the datapath builds every header
    ip,        ///< an IPv4 or IPv6 header (a kernel TUN interface)
    datagram,  ///< the payload of an InfiniBand UD message; hardware builds LRH to DETH
};

/// What a device that carries datagrams is connected to.
enum class LinkLayer : std::uint8_t {
    infiniband,  ///< a subnet, whose manager assigns addresses
    ethernet,    ///< RoCE v2
};

struct Capabilities {
    Carries carries = Carries::ethernet;
    std::uint16_t rx_queues = 1;        ///< for RSS
    std::uint16_t tx_queues = 1;        ///< for TSS
    std::uint32_t max_packet = 1514;    ///< bytes from the first header `carries` names; segmentation requests excepted
    std::uint64_t tx_offloads = 0;      ///< RTE_ETH_TX_OFFLOAD_* bits that a packet may request (MULTI_SEGS among them)
    std::uint64_t rx_offloads = 0;      ///< RTE_ETH_RX_OFFLOAD_* bits that are done on receive
    std::uint32_t max_tso = 0;          ///< largest packet with a segmentation request, bytes; 0: none
    std::uint16_t min_tso_segment = 1;  ///< least `tso_segsz` of one
    std::uint16_t max_tso_segments = UINT16_MAX;  ///< mbufs in the chain of one
    std::uint16_t max_segments = UINT16_MAX;      ///< mbufs in the chain of any other, where MULTI_SEGS allows several
    bool lossless_rx = false;  ///< lossless receive: unread packets wait at their sender (tun, tap), so the
                               ///< shard stops reading this device while an output is congested
};

/// What both of two devices can do, whose packets begin with the same.
constexpr Capabilities common(const Capabilities& a, const Capabilities& b) {
    return {.carries = a.carries,
            .rx_queues = std::min(a.rx_queues, b.rx_queues),
            .tx_queues = std::min(a.tx_queues, b.tx_queues),
            .max_packet = std::min(a.max_packet, b.max_packet),
            .tx_offloads = a.tx_offloads & b.tx_offloads,
            .rx_offloads = a.rx_offloads & b.rx_offloads,
            .max_tso = std::min(a.max_tso, b.max_tso),
            .min_tso_segment = std::max(a.min_tso_segment, b.min_tso_segment),
            .max_tso_segments = std::min(a.max_tso_segments, b.max_tso_segments),
            .max_segments = std::min(a.max_segments, b.max_segments),
            .lossless_rx = a.lossless_rx && b.lossless_rx};
}

/// The port's own addresses on the link, for devices that filter on receive. One that carries datagrams sends and
/// receives nothing before it has an identity.
struct Identity {
    wire::MacAddress mac{};  ///< Carries::ethernet
    wire::PKey pkey{0xffff};
    wire::Qpn qpn{};    ///< Carries::datagram
    wire::QKey qkey{};  ///< likewise: of what it receives

    bool operator==(const Identity&) const = default;
};

/// Where peers reach a device that carries datagrams: what hardware and link have determined.
struct DatagramEnd {
    wire::Qpn qpn{};
    wire::Gid gid{};

    bool operator==(const DatagramEnd&) const = default;
};

/// A multicast group under each kind of address; a device uses the one of its link layer.
struct MulticastAddress {
    wire::MacAddress mac{};
    wire::Gid mgid{};
    wire::Lid mlid{};
};

/// One UD message for a device that carries datagrams. Ownership of the mbuf passes to the device once `send` accepts
/// it.
struct Datagram {
    rte_mbuf* payload = nullptr;
    const wire::AddressHandle* address = nullptr;  ///< valid during the call only
    wire::Qpn destination{};
    wire::QKey qkey{};
};

class NetDevice {
public:
    NetDevice() = default;
    NetDevice(const NetDevice&) = delete;
    NetDevice& operator=(const NetDevice&) = delete;
    virtual ~NetDevice() = default;  ///< takes the device down

    virtual std::string_view name() const = 0;
    virtual const Capabilities& capabilities() const = 0;

    /// The device's own MAC address; none if it does not determine one (tun, tap, memif).
    virtual std::optional<wire::MacAddress> mac() const { return std::nullopt; }

    /// The device's end of a link of datagrams; none if those above determine it (every device that carries frames). It
    /// may be another after `link_up` has returned false. Control thread.
    virtual std::optional<DatagramEnd> datagram_end() const { return std::nullopt; }

    /// The NUMA socket that the device is attached to; any_numa_socket if that is unknown, or if it is memory alone, of
    /// any socket (tun, tap, memif).
    virtual int numa_socket() const { return any_numa_socket; }

    /// RSS configuration, once the device is up; none if it has one queue or does not report it.
    virtual std::optional<RssTable> rss() const { return std::nullopt; }

    /// False once the device has failed at segmentation, which its capabilities name: large packets are cut before it
    /// from then on. Any thread.
    virtual bool segments() const noexcept { return true; }

    virtual Result<void> up() = 0;
    virtual void down() = 0;
    /// Whether the link is up, so that packets sent now reach a peer. Devices that reconnect (memif) do so in this
    /// call; the control thread makes it a few times a second.
    virtual bool link_up() = 0;
    /// True while `link_up` should be called again soon, because a connection is being established or requested: one
    /// call a millisecond is enough. Any thread.
    virtual bool wants_link_up() const noexcept { return false; }

    /// Fills `burst` from the front and returns the number received. The caller owns the mbufs.
    virtual std::uint16_t rx_burst(std::uint16_t queue, Burst burst) noexcept = 0;
    /// Whether the queue's last `rx_burst` took packets that it did not return: a bridge passes most of them on. Then
    /// it may return none although there are more. Called by the receiving thread.
    virtual bool rx_consumed(std::uint16_t /*queue*/) const noexcept { return false; }
    /// Takes ownership of the first n mbufs of `burst` and returns n; the rest stay the caller's. An empty burst is
    /// allowed: a device that delays packets (impair) then sends those that are due.
    virtual std::uint16_t tx_burst(std::uint16_t queue, Burst burst) noexcept = 0;

    /// File descriptor that becomes readable when packets arrive, for poll(2) or epoll(7); -1 if there is none, and the
    /// queue must be polled periodically. Owned by the device; any `link_up` may replace it.
    virtual int rx_event(std::uint16_t /*queue*/) const noexcept { return -1; }
    /// Arms or disarms the receive event, and clears pending signals. While disarmed (the initial state) arrivals need
    /// not make the descriptor readable, which saves the sender a system call. Check the queue again after arming and
    /// before sleeping. Called by the receiving thread.
    virtual void want_rx_event(std::uint16_t /*queue*/, bool /*wanted*/) noexcept {}

    virtual std::error_code set_identity(const Identity&) { return unsupported(); }
    virtual std::error_code attach_multicast(const MulticastAddress&) { return unsupported(); }
    virtual std::error_code detach_multicast(const MulticastAddress&) { return unsupported(); }
    /// Whether groups that are not attached are received too, as the querier of a link must: hosts report each group to
    /// the group itself (RFC 2236, 3; RFC 2710, 4).
    virtual std::error_code receive_all_multicast(bool /*all*/) { return unsupported(); }
    /// As `tx_burst`, for Carries::datagram.
    virtual std::uint16_t send(std::uint16_t /*queue*/, std::span<const Datagram>) noexcept { return 0; }

    /// Visits every counter of the device, including its drops by reason.
    virtual void counters(const CounterVisitor&) const {}
    /// Visits the counters of one queue, where the device has its own for each; `counters` has their sums.
    virtual void queue_counters(std::uint16_t /*queue*/, const CounterVisitor&) const {}

protected:
    static std::error_code unsupported() { return std::make_error_code(std::errc::operation_not_supported); }
};

}  // namespace verbline::pmd
