// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/link/interface.h"

#include <algorithm>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "datapath/offload/checksum.h"
#include "pmd/base/tunables.h"

namespace verbline::link {
namespace {

constexpr std::size_t stage_capacity = tunables::link_stage;

/// The device offload that cuts packets of this kind of tunnel; 0 for a kind that is not known here.
std::uint64_t tunnel_offload(const rte_mbuf& packet) {
    switch (packet.ol_flags & RTE_MBUF_F_TX_TUNNEL_MASK) {
        case RTE_MBUF_F_TX_TUNNEL_VXLAN: return RTE_ETH_TX_OFFLOAD_VXLAN_TNL_TSO;
        case RTE_MBUF_F_TX_TUNNEL_GENEVE: return RTE_ETH_TX_OFFLOAD_GENEVE_TNL_TSO;
        case RTE_MBUF_F_TX_TUNNEL_GRE: return RTE_ETH_TX_OFFLOAD_GRE_TNL_TSO;
        case RTE_MBUF_F_TX_TUNNEL_IPIP: return RTE_ETH_TX_OFFLOAD_IPIP_TNL_TSO;
        default: return 0;
    }
}

/// Likewise of a tunnel's packet, whose segmentation is an offload of its own. No device does more than all, and
/// nothing here asks for less.
std::uint64_t asked_in_tunnel(const rte_mbuf& packet) {
    std::uint64_t asked = RTE_ETH_TX_OFFLOAD_TCP_CKSUM | tunnel_offload(packet);
    if (packet.nb_segs > 1) asked |= RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
    if ((packet.ol_flags & RTE_MBUF_F_TX_IPV6) == 0) asked |= RTE_ETH_TX_OFFLOAD_IPV4_CKSUM;
    if ((packet.ol_flags & RTE_MBUF_F_TX_OUTER_IPV6) == 0) asked |= RTE_ETH_TX_OFFLOAD_OUTER_IPV4_CKSUM;
    if ((packet.ol_flags & RTE_MBUF_F_TX_OUTER_UDP_CKSUM) != 0) asked |= RTE_ETH_TX_OFFLOAD_OUTER_UDP_CKSUM;
    return asked;
}

/// A new offload begins here, with its software in datapath/offload; apps/EXTENDING.md has all places in order.
///
/// The device offloads that satisfy the packet's requests; 0 if it has none. Segmentation recomputes every checksum,
/// requested or not.
std::uint64_t offloads_asked(const rte_mbuf& packet) {
    const bool segmentation = (packet.ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0;
    if ((packet.ol_flags & RTE_MBUF_F_TX_TUNNEL_MASK) != 0) return asked_in_tunnel(packet);
    const auto l4 = packet.ol_flags & RTE_MBUF_F_TX_L4_MASK;
    std::uint64_t asked = 0;
    if (segmentation) asked |= RTE_ETH_TX_OFFLOAD_TCP_TSO;
    if (segmentation && packet.nb_segs > 1) asked |= RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
    if (segmentation || l4 == RTE_MBUF_F_TX_TCP_CKSUM) asked |= RTE_ETH_TX_OFFLOAD_TCP_CKSUM;
    if (!segmentation && l4 == RTE_MBUF_F_TX_UDP_CKSUM) asked |= RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
    if (!segmentation && l4 == RTE_MBUF_F_TX_SCTP_CKSUM) asked |= RTE_ETH_TX_OFFLOAD_SCTP_CKSUM;
    const bool ipv6 = (packet.ol_flags & RTE_MBUF_F_TX_IPV6) != 0;
    if (!ipv6 && (segmentation || (packet.ol_flags & RTE_MBUF_F_TX_IP_CKSUM) != 0)) {
        asked |= RTE_ETH_TX_OFFLOAD_IPV4_CKSUM;
    }
    return asked;
}

/// Whether software can do all that the packet asks for: of a tunnel's packets it cuts large ones, and no more.
bool understood(const rte_mbuf& packet) {
    constexpr std::uint64_t plain = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_IP_CKSUM |
                                    RTE_MBUF_F_TX_L4_MASK | RTE_MBUF_F_TX_TCP_SEG;
    constexpr std::uint64_t outer = RTE_MBUF_F_TX_TUNNEL_MASK | RTE_MBUF_F_TX_OUTER_IPV4 | RTE_MBUF_F_TX_OUTER_IPV6 |
                                    RTE_MBUF_F_TX_OUTER_IP_CKSUM | RTE_MBUF_F_TX_OUTER_UDP_CKSUM;
    const auto more = packet.ol_flags & RTE_MBUF_F_TX_OFFLOAD_MASK & ~plain;
    if (more == 0) return true;
    return (more & ~outer) == 0 && tunnel_offload(packet) != 0 && (packet.ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0;
}

/// Drivers want to be told what segmentation implies: without it some compute no checksum of the IP header
/// (rte_mbuf_core.h, RTE_MBUF_F_TX_TCP_SEG).
std::uint64_t checksums_of_segments(const rte_mbuf& packet) {
    const bool ipv6 = (packet.ol_flags & RTE_MBUF_F_TX_IPV6) != 0;
    return RTE_MBUF_F_TX_TCP_CKSUM | (ipv6 ? 0 : RTE_MBUF_F_TX_IP_CKSUM);
}

}  // namespace

Interface::Interface(pmd::NetDevice& device, std::uint16_t queue, rte_mempool& pool, bool offloads_reach_ip)
    : device_(&device),
      capabilities_(device.capabilities()),
      offloads_reach_ip_(offloads_reach_ip),
      queue_(queue),
      pool_(pool) {
    staged_.reserve(stage_capacity);
}

Interface::~Interface() {
    for (auto i = head_; i < staged_.size(); ++i) rte_pktmbuf_free(staged_[i]);
}

void Interface::set_device(pmd::NetDevice& device) noexcept {
    device_->tx_burst(queue_, {});  // what it has held back and could send
    device_ = &device;
}

std::uint64_t Interface::tunnel_offloads() const {
    constexpr auto all = RTE_ETH_TX_OFFLOAD_VXLAN_TNL_TSO | RTE_ETH_TX_OFFLOAD_GENEVE_TNL_TSO |
                         RTE_ETH_TX_OFFLOAD_GRE_TNL_TSO | RTE_ETH_TX_OFFLOAD_IPIP_TNL_TSO;
    return offloads_reach_ip_ ? capabilities_.tx_offloads & all : 0;
}

pmd::Burst Interface::poll_device(std::array<rte_mbuf*, pmd::max_burst>& frames, Reception& out) noexcept {
    const auto limit = capabilities_.lossless_rx ? waiting_burst : frames.size();
    const auto received = device_->rx_burst(queue_, pmd::Burst(frames).first(limit));
    out.frames = received;
    out.idle = received == 0 && !device_->rx_consumed(queue_);
    return pmd::Burst(frames).first(received);
}

bool Interface::device_satisfies(const rte_mbuf& packet) const noexcept {
    const auto asked = offloads_asked(packet);
    if (asked == 0) return true;
    if (!offloads_reach_ip_ || (asked & ~capabilities_.tx_offloads) != 0) return false;
    if ((packet.ol_flags & RTE_MBUF_F_TX_TCP_SEG) == 0) return true;
    return packet.pkt_len <= capabilities_.max_tso && packet.tso_segsz >= capabilities_.min_tso_segment &&
           packet.nb_segs <= capabilities_.max_tso_segments && device_->segments();
}

bool Interface::must_segment(const rte_mbuf& packet) const noexcept {
    return (packet.ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0 && understood(packet) && !device_satisfies(packet);
}

/// Does in software what the device cannot, segmentation excepted. False: the packet has been dropped and counted.
bool Interface::prepare(rte_mbuf* packet, Chains chains) noexcept {
    if (!understood(*packet) || (!device_satisfies(*packet) && !offload::finish_checksums(*packet))) {
        counters_.tx_dropped_bad_request.add();
        rte_pktmbuf_free(packet);
        return false;
    }
    const bool large = (packet->ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0;  // the device has room for it
    if (large) packet->ol_flags |= checksums_of_segments(*packet);
    if (chains == Chains::any) return true;
    const bool in_pieces = (capabilities_.tx_offloads & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) != 0;
    const unsigned longest = large ? UINT16_MAX : in_pieces ? capabilities_.max_segments : 1;
    if (packet->nb_segs > longest && rte_pktmbuf_linearize(packet) != 0) {
        counters_.tx_dropped_no_room.add();
        rte_pktmbuf_free(packet);
        return false;
    }
    return true;
}

void Interface::emit(pmd::Burst frames, Destinations) noexcept {
    const auto room = std::min(frames.size(), stage_capacity - staged());
    if (head_ > 0 && staged_.size() + room > stage_capacity) {
        staged_.erase(staged_.begin(), staged_.begin() + static_cast<std::ptrdiff_t>(head_));
        head_ = 0;
    }
    staged_.insert(staged_.end(), frames.begin(), frames.begin() + static_cast<std::ptrdiff_t>(room));
    if (room < frames.size()) {
        counters_.tx_dropped_congested.add(frames.size() - room);
        rte_pktmbuf_free_bulk(frames.data() + room, static_cast<unsigned>(frames.size() - room));
    }
    if (staged() >= pmd::max_burst) flush();
}

void Interface::flush() noexcept {
    // Called even if there is nothing to send: an impaired device sends delayed packets only in this call.
    if (staged() == 0) device_->tx_burst(queue_, {});
    while (head_ < staged_.size()) {
        const auto burst = pmd::Burst(staged_).subspan(head_, std::min(staged(), pmd::max_burst));
        const auto sent = device_->tx_burst(queue_, burst);
        counters_.tx_packets.add(sent);
        head_ += sent;
        congested_ = sent < burst.size();
        if (congested_) return;
    }
    staged_.clear();
    head_ = 0;
}

}  // namespace verbline::link
