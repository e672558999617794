// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/packet/packet.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <linux/if_packet.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#include <fmt/format.h>

#include "datapath/wire/bytes.h"
#include "pmd/append.h"
#include "pmd/base/numa.h"

namespace verbline::pmd {
namespace {

constexpr std::size_t addresses_size = 2 * RTE_ETHER_ADDR_LEN;

}  // namespace

Result<std::unique_ptr<AfPacket>> AfPacket::create(const PacketOptions& options, rte_mempool* pool) {
    auto socket = packet::Socket::open(options.interface);
    if (!socket) return std::unexpected(socket.error());
    if (options.only_rdma) {
        if (auto done = socket->filter_rdma(); !done) return std::unexpected(done.error());
    }
    if (options.promiscuous) std::ignore = socket->set_membership(true, PACKET_MR_PROMISC, {});
    const auto geometry =
        packet::ring_geometry(socket->mtu() + std::size_t{RTE_ETHER_HDR_LEN} + RTE_VLAN_HLEN, options.ring_bytes);
    const auto memory = socket->map_ring(geometry);
    if (!memory) return std::unexpected(memory.error());
    return std::unique_ptr<AfPacket>(
        new AfPacket(options, std::move(*socket), packet::ReceiveRing(*memory, geometry), pool));
}

AfPacket::AfPacket(const PacketOptions& options, packet::Socket socket, packet::ReceiveRing ring, rte_mempool* pool)
    : name_("eth:" + options.interface),
      capabilities_{.carries = Carries::ethernet,
                    .max_packet = socket.mtu() + std::uint32_t{RTE_ETHER_HDR_LEN},
                    .tx_offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS,
                    .max_segments = max_segments},
      numa_socket_(numa_socket_of_interface(options.interface).value_or(any_numa_socket)),
      pool_(pool),
      socket_(std::move(socket)),
      ring_(std::move(ring)) {}

Result<void> AfPacket::up() {
    const auto interface = name_.substr(name_.find(':') + 1);
    if (!socket_.is_up()) {
        return failure(ENETDOWN,
                       fmt::format("interface {} is down; bring it up with `ip link set {} up`", interface, interface));
    }
    if (auto done = socket_.bind(true); !done) return done;
    is_up_ = true;
    return {};
}

void AfPacket::down() {
    is_up_ = false;
    std::ignore = socket_.bind(false);
}

std::uint16_t AfPacket::rx_burst(std::uint16_t, Burst burst) noexcept {
    std::uint16_t n = 0;
    std::uint64_t bytes = 0;
    while (n < burst.size()) {
        const auto frame = ring_.front();
        if (!frame) break;
        if (!frame->whole || frame->bytes.size() < RTE_ETHER_HDR_LEN) {
            rx_.rx_dropped_oversize.add();
        } else if (auto* const packet = receive(*frame)) {
            bytes += packet->pkt_len;
            burst[n++] = packet;
        } else {
            rx_.rx_mbuf_allocation_errors.add();
            break;
        }
        ring_.release();
    }
    if (n > 0) {
        rx_.rx_good_packets.add(n);
        rx_.rx_good_bytes.add(bytes);
    }
    return n;
}

rte_mbuf* AfPacket::receive(const packet::ReceiveRing::Frame& frame) noexcept {
    auto* const packet = rte_pktmbuf_alloc(pool_);
    if (packet == nullptr) return nullptr;
    auto* tail = packet;
    auto bytes = frame.bytes;
    bool done = true;
    if (frame.tag) {
        std::array<std::byte, addresses_size + RTE_VLAN_HLEN> head;
        std::ranges::copy(bytes.first(addresses_size), head.begin());
        wire::store32(head, addresses_size, *frame.tag);
        done = append(*packet, tail, head, pool_);
        bytes = bytes.subspan(addresses_size);
    }
    if (done && append(*packet, tail, bytes, pool_)) return packet;
    rte_pktmbuf_free(packet);
    return nullptr;
}

std::uint16_t AfPacket::tx_burst(std::uint16_t, Burst burst) noexcept {
    std::size_t taken = 0;
    while (taken < burst.size()) {
        const auto n = transmit(burst.subspan(taken, std::min(burst.size() - taken, max_burst)));
        if (n == 0) break;
        rte_pktmbuf_free_bulk(burst.data() + taken, static_cast<unsigned>(n));
        taken += n;
    }
    return static_cast<std::uint16_t>(taken);
}

/// One system call. Returns how many frames from the front are done with: sent, or refused and counted.
std::size_t AfPacket::transmit(Burst burst) noexcept {
    std::size_t count = 0;
    for (; count < burst.size() && burst[count]->nb_segs <= max_segments; ++count) {
        std::size_t segments = 0;
        for (auto* segment = burst[count]; segment != nullptr; segment = segment->next) {
            batch_.vectors[count][segments++] = {rte_pktmbuf_mtod(segment, void*), segment->data_len};
        }
        batch_.messages[count].msg_hdr = {.msg_iov = batch_.vectors[count].data(), .msg_iovlen = segments};
    }
    if (count == 0) {
        tx_.tx_dropped_segments.add();
        return 1;
    }
    const int sent = sendmmsg(socket_.fd(), batch_.messages.data(), static_cast<unsigned>(count), MSG_DONTWAIT);
    if (sent > 0) {
        std::uint64_t bytes = 0;
        for (const auto* packet : burst.first(static_cast<std::size_t>(sent))) bytes += packet->pkt_len;
        tx_.tx_good_packets.add(static_cast<std::uint64_t>(sent));
        tx_.tx_good_bytes.add(bytes);
        return static_cast<std::size_t>(sent);
    }
    // The socket's send buffer is full: backpressure. Other errors concern the first frame.
    if (errno == EAGAIN || errno == EINTR) return 0;
    const bool down = errno == ENETDOWN || errno == ENXIO || errno == ENODEV;
    (down ? tx_.tx_dropped_link_down : tx_.tx_dropped_refused).add();
    return 1;
}

std::error_code AfPacket::set_identity(const Identity& identity) {
    if (identity_) std::ignore = socket_.set_membership(false, PACKET_MR_UNICAST, *identity_);
    identity_.reset();
    if (identity.mac == socket_.mac()) return {};
    const auto error = socket_.set_membership(true, PACKET_MR_UNICAST, identity.mac);
    if (!error) identity_ = identity.mac;
    return error;
}

std::error_code AfPacket::attach_multicast(const MulticastAddress& group) {
    return socket_.set_membership(true, PACKET_MR_MULTICAST, group.mac);
}
std::error_code AfPacket::detach_multicast(const MulticastAddress& group) {
    return socket_.set_membership(false, PACKET_MR_MULTICAST, group.mac);
}
/// The kernel counts memberships: one is enough.
std::error_code AfPacket::receive_all_multicast(bool all) {
    if (all == all_multicast_) return {};
    const auto error = socket_.set_membership(all, PACKET_MR_ALLMULTI, {});
    if (!error) all_multicast_ = all;
    return error;
}

void AfPacket::counters(const CounterVisitor& visit) const {
    visit_sums(std::array{&rx_, &tx_}, visit,
               [](const PacketCounters* counters) -> const PacketCounters& { return *counters; });
    kernel_drops_.add(socket_.take_drops());
    visit("rx_missed", kernel_drops_.value(), "frames for which the ring had no free slot");
}

}  // namespace verbline::pmd
