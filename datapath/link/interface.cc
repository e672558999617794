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

/// A new offload begins here, with its software in datapath/offload; apps/EXTENDING.md has all places in order.
///
/// The device offloads that satisfy the packet's requests; 0 if it has none. Segmentation recomputes every checksum,
/// requested or not.
std::uint64_t offloads_asked(const rte_mbuf& packet) {
    const bool segmentation = (packet.ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0;
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

}  // namespace

Interface::Interface(pmd::NetDevice& device, std::uint16_t queue, rte_mempool& pool, bool offloads_reach_ip)
    : device_(device),
      capabilities_(device.capabilities()),
      offloads_reach_ip_(offloads_reach_ip),
      queue_(queue),
      pool_(pool) {
    staged_.reserve(stage_capacity);
}

Interface::~Interface() {
    for (auto i = head_; i < staged_.size(); ++i) rte_pktmbuf_free(staged_[i]);
}

pmd::Burst Interface::poll_device(std::array<rte_mbuf*, pmd::max_burst>& frames, Reception& out) noexcept {
    const auto limit = capabilities_.lossless_rx ? waiting_burst : frames.size();
    const auto received = device_.rx_burst(queue_, pmd::Burst(frames).first(limit));
    out.frames = received;
    out.idle = received == 0 && !device_.rx_consumed(queue_);
    return pmd::Burst(frames).first(received);
}

bool Interface::device_satisfies(const rte_mbuf& packet) const noexcept {
    const auto asked = offloads_asked(packet);
    if (asked == 0) return true;
    if (!offloads_reach_ip_ || (asked & ~capabilities_.tx_offloads) != 0) return false;
    return (asked & RTE_ETH_TX_OFFLOAD_TCP_TSO) == 0 || packet.pkt_len <= capabilities_.max_tso;
}

bool Interface::must_segment(const rte_mbuf& packet) const noexcept {
    return (packet.ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0 && !device_satisfies(packet);
}

/// Does in software what the device cannot, segmentation excepted. False: the packet has been dropped and counted.
bool Interface::prepare(rte_mbuf* packet) noexcept {
    if (!device_satisfies(*packet) && !offload::finish_checksums(*packet)) {
        counters_.tx_dropped_bad_request.add();
        rte_pktmbuf_free(packet);
        return false;
    }
    const bool chains = (capabilities_.tx_offloads & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) != 0;
    if (packet->nb_segs > 1 && !chains && rte_pktmbuf_linearize(packet) != 0) {
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
    if (staged() == 0) device_.tx_burst(queue_, {});
    while (head_ < staged_.size()) {
        const auto burst = pmd::Burst(staged_).subspan(head_, std::min(staged(), pmd::max_burst));
        const auto sent = device_.tx_burst(queue_, burst);
        counters_.tx_packets.add(sent);
        head_ += sent;
        congested_ = sent < burst.size();
        if (congested_) return;
    }
    staged_.clear();
    head_ = 0;
}

}  // namespace verbline::link
