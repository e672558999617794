// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The device contract: how packets enter and leave, and what the device can do for us.
///
/// Modelled on the kernel's accelerated IPoIB interface (struct rdma_netdev): a small table of operations of which a
/// device implements those it can. What it lacks answers `operation_not_supported`, and the caller's default
/// implementation takes over; nothing above asks what kind of device it is.
///
///     up, down, rx_burst, tx_burst, capabilities        every device
///     set_identity, attach_multicast, detach_multicast  filters; default: receive all, let the link layer discard
///     send                                              devices that carry datagrams (an HCA builds the headers)
///
/// Threads: one thread per (direction, queue) pair calls `rx_burst`/`tx_burst`; the control thread calls everything
/// else, and may do so while bursts are running. Nothing here throws.
///
/// Offload requests travel in the mbuf, as in DPDK: whoever produces a packet whose work is unfinished sets
/// RTE_MBUF_F_TX_IP_CKSUM, RTE_MBUF_F_TX_TCP_CKSUM or RTE_MBUF_F_TX_UDP_CKSUM, RTE_MBUF_F_TX_TCP_SEG with `tso_segsz`,
/// and l2_len, l3_len, l4_len. While requested, the checksum field in the packet is undefined: whoever satisfies the
/// request seeds it. A device is only handed requests that its capabilities name; datapath/offload satisfies the rest.
/// See README.md of this folder for the whole convention.

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

constexpr std::size_t max_burst = 64;  ///< no burst anywhere is longer

/// What a device's packets begin with.
enum class Carries : std::uint8_t {
    ethernet,  ///< an Ethernet header, without FCS; we build every header
    ip,        ///< an IPv4 or IPv6 header (a kernel TUN interface)
    datagram,  ///< the payload of an InfiniBand UD message; hardware builds LRH to DETH
};

struct Capabilities {
    Carries carries = Carries::ethernet;
    std::uint16_t rx_queues = 1;      ///< for RSS
    std::uint16_t tx_queues = 1;      ///< for TSS
    std::uint32_t max_packet = 1514;  ///< bytes from the first header `carries` names; segmentation requests excepted
    std::uint64_t tx_offloads = 0;    ///< RTE_ETH_TX_OFFLOAD_* bits that a packet may request (MULTI_SEGS among them)
    std::uint64_t rx_offloads = 0;    ///< RTE_ETH_RX_OFFLOAD_* bits that are done on receive
    std::uint32_t max_tso = 0;        ///< largest packet with a segmentation request, bytes; 0: none
    bool sender_waits = false;        ///< what we do not read yet waits at its sender and is not lost (tun, tap): the
                                      ///< shard stops reading it while an output is congested
};

/// Who we are on the link, for devices that filter.
struct Identity {
    wire::MacAddress mac{};  ///< Carries::ethernet
    wire::PKey pkey{0xffff};
    wire::Qpn qpn{};  ///< Carries::datagram
};

/// A multicast group under each of its names; a device uses the one it knows.
struct MulticastAddress {
    wire::MacAddress mac{};
    wire::Gid mgid{};
    wire::Lid mlid{};
};

/// One UD message for a device that carries datagrams. Not owned: the mbuf passes to the device once it is accepted.
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

    /// The address the device came with; none for a device that has no say in it (tun, tap, memif).
    virtual std::optional<wire::MacAddress> mac() const { return std::nullopt; }

    /// How received packets are spread over the queues, once the device is up; none: one queue, or it cannot be known.
    virtual std::optional<RssTable> rss() const { return std::nullopt; }

    virtual Result<void> up() = 0;
    virtual void down() = 0;
    /// Whether packets sent now have somewhere to go. Devices that reconnect (memif) do so in this call: the control
    /// thread makes it a few times a second.
    virtual bool link_up() = 0;
    /// The next `link_up` is due now, not only some time: a connection is being made, or is wanted. Any thread; while
    /// it is true, a millisecond between two calls is soon enough.
    virtual bool wants_link_up() const noexcept { return false; }

    /// Fills `burst` from the front; the mbufs are the caller's. Returns how many.
    virtual std::uint16_t rx_burst(std::uint16_t queue, Burst burst) noexcept = 0;
    /// Takes the first n mbufs of `burst` and returns n; the rest stay the caller's. An empty burst is allowed: a
    /// device that holds packets back (impair) sends those that are due.
    virtual std::uint16_t tx_burst(std::uint16_t queue, Burst burst) noexcept = 0;

    /// For those who sleep until something arrives: a descriptor that becomes readable then, or -1: there is no such
    /// thing, poll from time to time. It may be another one after each `link_up`, and stays the device's.
    virtual int rx_event(std::uint16_t /*queue*/) const noexcept { return -1; }
    /// Whether the descriptor is needed. While it is not (at first it is not), arrivals need not make it readable,
    /// which costs the sender less. Once wanted, look at the queue again before sleeping. By the thread that receives;
    /// also takes back what the descriptor has told so far.
    virtual void want_rx_event(std::uint16_t /*queue*/, bool /*wanted*/) noexcept {}

    virtual std::error_code set_identity(const Identity&) { return unsupported(); }
    virtual std::error_code attach_multicast(const MulticastAddress&) { return unsupported(); }
    virtual std::error_code detach_multicast(const MulticastAddress&) { return unsupported(); }
    /// As `tx_burst`, for Carries::datagram.
    virtual std::uint16_t send(std::uint16_t /*queue*/, std::span<const Datagram>) noexcept { return 0; }

    /// Every counter of the device, its drops by reason among them.
    virtual void counters(const CounterVisitor&) const {}

protected:
    static std::error_code unsupported() { return std::make_error_code(std::errc::operation_not_supported); }
};

}  // namespace verbline::pmd
