// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// IP over InfiniBand (RFC 4391): a UD queue pair as an IP link; in connected mode (RFC 4755) with connections beside
/// it.
///
/// One implementation for both kinds of device, and for every carrier of UD packets. A device that carries datagrams
/// gets payload, address handle and QPN, and builds the headers itself; for one that carries frames, transport/ud.h
/// builds them.
///
///     IP packet ── IPoIB header ──┬── device.send (datagrams)
///                                 └── LRH [GRH] BTH DETH ... ICRC VCRC ── tx_burst (frames), or another carrier's

#include <array>
#include <optional>

#include "datapath/ipoib/connections.h"
#include "datapath/link/interface.h"
#include "datapath/transport/ud.h"

namespace verbline::ipoib {

/// The IP MTU: the link's less the IPoIB header, 4 bytes of EtherType and padding (RFC 4391, 6).
constexpr std::uint32_t mtu_of_link(std::uint32_t link_mtu) {
    return link_mtu - 4;
}
/// The other way round.
constexpr std::uint32_t link_mtu_of(std::uint32_t mtu) {
    return mtu + 4;
}

/// Upper bound of the headers and trailers around an IP packet in a frame of the soft fabric, bytes.
constexpr std::uint32_t frame_overhead = link::soft_ib::max_overhead + 4;
/// The same in a frame of RoCE v2 over IPv6, behind its Ethernet header: IPv6, UDP, BTH, DETH, IPoIB, padding, ICRC.
constexpr std::uint32_t roce_overhead = 40 + 8 + 12 + 8 + 4 + 3 + 4;

/// QPNs from here on are reserved for the interfaces of a port; fixed, so that neighbours still know us after a
/// restart.
constexpr std::uint32_t first_qpn = 0x48;

/// The port's addresses and the broadcast group's Q_Key, which is used for every packet of the link (RFC 4391, 4): as
/// configured by the subnet manager, or without one by control/ipoib/roce_port.h.
using Identity = transport::UdQueuePair::Attributes;

/// Builds a destination on the link, for packets of EtherType `type`. `to_mac` on RoCE only.
link::Destination destination(const Identity& from, const wire::AddressHandle& to, wire::Qpn qpn, wire::EtherType type,
                              wire::MacAddress to_mac = {});

#define VERBLINE_IPOIB_COUNTERS(X)                                               \
    X(rx_dropped_not_contiguous, "frames larger than the packet pool's buffers") \
    X(rx_dropped_short, "datagrams without a whole IPoIB header")                \
    X(rx_dropped_down, "packets that came before the port was up")

struct IpoibCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_IPOIB_COUNTERS)
};

/// Who sent a packet that was received, and to whom, as the InfiniBand headers in front of it say.
struct Origin {
    wire::Lid lid{};         ///< zero on RoCE
    wire::MacAddress mac{};  ///< on RoCE, of the sender's GID; zero if that says nothing of it
    wire::Qpn qpn{};
    bool to_group = false;

    bool operator==(const Origin&) const = default;
};
/// Of the packets of a link::Reception, at the same places.
struct Origins {
    std::array<Origin, pmd::max_burst> ip, ipv6, punts;
};

class IpoibInterface final : public link::Interface {
public:
    /// Offloads reach the IP packet only in a device that builds the InfiniBand headers itself. For any other, it lies
    /// behind headers that the device cannot parse, and is covered by CRCs computed before.
    /// `connections`: of connected mode, on a device that carries frames; they outlive the interface. Null: datagrams
    /// alone.
    IpoibInterface(pmd::NetDevice& device, std::uint16_t queue, rte_mempool& pool, Connections* connections = nullptr)
        : Interface(device, queue, pool, device.capabilities().carries == pmd::Carries::datagram),
          connections_(connections) {}

    /// Sets the port's identity and detaches all groups; while there is none, nothing is received or sent. Shard
    /// thread, as below.
    void set_port(const std::optional<Identity>& port);
    void attach(const pmd::MulticastAddress& group);
    void detach(const pmd::MulticastAddress& group);

    void receive(link::Reception& out) noexcept override { receive_into(out, nullptr); }
    /// The same, for those who must know the senders' link-layer addresses.
    void receive(link::Reception& out, Origins& origins) noexcept { receive_into(out, &origins); }
    void transmit(pmd::Burst packets, link::Destinations to) noexcept override;
    using link::Interface::transmit;
    void counters(const CounterVisitor& visit) const override;

private:
    void emit(pmd::Burst packets, link::Destinations to) noexcept override;

    void receive_into(link::Reception& out, Origins* origins) noexcept;
    /// Strips a frame to its payload; or returns the counter of the reason to drop it. Sets `origin`, unless null.
    Counter* unwrap(rte_mbuf& frame, Origin* origin) noexcept;
    Counter* open(transport::Packet& packet) noexcept;  ///< all checks of a frame; likewise
    void accept(rte_mbuf* payload, const Origin& origin, link::Reception& out, Origins* origins) noexcept;
    bool is_for_others(const rte_mbuf& frame) const noexcept;
    void receive_connected(link::Reception& out, std::size_t most) noexcept;
    std::size_t transmit_connected(pmd::Burst packets, link::Destinations to) noexcept;
    Counter* wrap(rte_mbuf& packet, const link::Destination& to) noexcept;  ///< makes a packet a frame, or a payload;
                                                                            ///< or returns the counter of the reason to
                                                                            ///< drop it
    Counter* put_header(rte_mbuf& packet, const link::Destination& to) noexcept;  ///< likewise
    bool carries_datagrams() const { return capabilities().carries == pmd::Carries::datagram; }

    Connections* const connections_;
    std::optional<transport::UdQueuePair> queue_pair_;
    IpoibCounters ipoib_counters_;
    CountersBy<link::Discard> link_discards_;
    CountersBy<transport::UdDiscard> ud_discards_;
};

}  // namespace verbline::ipoib
