// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/port.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_thash.h>

#include "datapath/wire/ethernet.h"
#include "datapath/wire/ipv4.h"
#include "datapath/wire/udp.h"
#include "tests/sim/network.h"

namespace verbline::sim {

SimulatedPort::SimulatedPort(Network& network, std::uint32_t index, PortSetup setup, Seed seed)
    : network_(network),
      index_(index),
      setup_(std::move(setup)),
      out_(Seed{Random(seed).next()}),
      in_(Seed{~Random(seed).next()}) {
    if (setup_.rss) capabilities_.rx_queues = static_cast<std::uint16_t>(std::ranges::max(setup_.rss->queues) + 1);
    received_.resize(capabilities_.rx_queues);
    capabilities_.max_packet = setup_.max_frame;
    capabilities_.tx_offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
}

SimulatedPort::~SimulatedPort() {
    for (const auto& queue : received_) {
        for (auto* const packet : queue) rte_pktmbuf_free(packet);
    }
}

std::uint64_t SimulatedPort::queue() const {
    return queue_.backlog(setup_.rate_bps, network_.now());
}

bool SimulatedPort::full() const {
    return transmitter_.backlog(setup_.rate_bps, network_.now()) >= setup_.transmit_limit;
}

Result<void> SimulatedPort::up() {
    is_up_ = true;
    return {};
}

std::size_t SimulatedPort::waiting() const {
    std::size_t sum = 0;
    for (const auto& queue : received_) sum += queue.size();
    return sum;
}

std::uint16_t SimulatedPort::rx_burst(std::uint16_t queue, pmd::Burst burst) noexcept {
    auto& received = received_[queue];
    const auto n = std::min(burst.size(), received.size());
    const auto end = received.begin() + static_cast<std::ptrdiff_t>(n);
    std::copy(received.begin(), end, burst.begin());
    received.erase(received.begin(), end);
    return static_cast<std::uint16_t>(n);
}

std::uint16_t SimulatedPort::tx_burst(std::uint16_t, pmd::Burst burst) noexcept {
    std::uint16_t taken = 0;
    while (taken < burst.size() && !full()) {
        auto* const packet = admit(burst[taken++]);
        if (packet == nullptr) continue;
        const auto departure = transmitter_.send(packet->pkt_len, setup_.rate_bps, network_.now());
        network_.to_switch(*this, out_.pass(packet, departure, setup_.delay, setup_.out));
    }
    return taken;
}

/// The packet as the cable carries it: contiguous where the network's buffers hold it, and nobody else's, so that what
/// its sender does to its memory later changes nothing.
rte_mbuf* SimulatedPort::admit(rte_mbuf* packet) {
    constexpr auto requests = RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_L4_MASK | RTE_MBUF_F_TX_TCP_SEG;
    if (!is_up_) return refuse(packet, counters_.tx_dropped_down);
    if ((packet->ol_flags & requests) != 0) return refuse(packet, counters_.tx_dropped_offload);
    if (packet->pkt_len < wire::Ethernet::size) return refuse(packet, counters_.tx_dropped_runt);
    if (packet->pkt_len > setup_.max_frame) return refuse(packet, counters_.tx_dropped_oversize);
    if (packet->nb_segs > 1 || !RTE_MBUF_DIRECT(packet) || rte_mbuf_refcnt_read(packet) > 1) {
        auto* const own = rte_pktmbuf_copy(packet, &network_.pool(), 0, UINT32_MAX);
        if (own == nullptr) return refuse(packet, counters_.tx_dropped_no_mbuf);
        counters_.tx_copied.add();
        rte_pktmbuf_free(packet);
        packet = own;
    }
    packet->ol_flags = 0;
    packet->tx_offload = 0;
    return packet;
}

rte_mbuf* SimulatedPort::refuse(rte_mbuf* packet, Counter& reason) {
    reason.add();
    rte_pktmbuf_free(packet);
    return nullptr;
}

void SimulatedPort::deliver(rte_mbuf* packet) {
    auto& queue = received_[queue_for(*packet)];
    if (!is_up_) {
        refuse(packet, counters_.rx_dropped_down);
    } else if (queue.size() >= setup_.receive_ring) {
        refuse(packet, counters_.rx_dropped_overrun);
    } else {
        queue.push_back(packet);
    }
}

/// As a NIC does it: Toeplitz over source address, destination address, source port, destination port, as they lie in
/// the packet; the low bits choose the entry.
std::size_t SimulatedPort::queue_for(const rte_mbuf& packet) const {
    constexpr std::size_t ip_at = wire::Ethernet::size, addresses = ip_at + 12, udp_at = ip_at + wire::Ipv4::size;
    if (!setup_.rss || packet.data_len < udp_at + wire::Udp::size) return 0;
    const wire::Bytes frame(rte_pktmbuf_mtod(&packet, const std::byte*), packet.data_len);
    if (wire::load16(frame, ip_at - 2) != 0x0800 || wire::load8(frame, ip_at + 9) != 17) return 0;
    std::array<std::uint32_t, 3> words{wire::load32(frame, addresses), wire::load32(frame, addresses + 4),
                                       wire::load32(frame, udp_at)};
    const auto hash = rte_softrss(words.data(), words.size(), setup_.rss->key.data());
    return setup_.rss->queues[hash & (setup_.rss->queues.size() - 1)];
}

std::error_code SimulatedPort::set_identity(const pmd::Identity& identity) {
    network_.place(identity.mac, *this);
    setup_.mac = identity.mac;
    return {};
}

void SimulatedPort::counters(const CounterVisitor& visit) const {
    const auto prefixed = [&](const char* prefix) {
        return [&visit, prefix](std::string_view name, std::uint64_t value, std::string_view help) {
            visit(prefix + std::string(name), value, help);
        };
    };
    counters_.each(visit);
    out_.counters().each(prefixed("tx_link_"));
    in_.counters().each(prefixed("rx_link_"));
}

}  // namespace verbline::sim
