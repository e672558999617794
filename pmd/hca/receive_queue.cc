// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/hca/receive_queue.h"

#include <algorithm>
#include <cstring>

#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include "pmd/allocate.h"
#include "pmd/datagram_source.h"
#include "pmd/hca/extended_verbs.h"

namespace verbline::pmd::hca {
namespace {

constexpr std::uint32_t grh_size = datagram_header_size;
constexpr std::size_t source_gid_at = 8;  ///< in a GRH, and in an IPv6 header
constexpr std::size_t post_at_once = 32;  ///< receives that are worth a doorbell

}  // namespace

ReceiveQueue::ReceiveQueue(const Setup& setup)
    : setup_(setup),
      room_(rte_pktmbuf_data_room_size(&setup.pool) - std::uint32_t{RTE_PKTMBUF_HEADROOM}),
      posted_(setup.depth) {
    free_.reserve(setup.depth);
    for (auto number = setup.depth; number > 0; --number) free_.push_back(number - 1);
    pieces_.resize(max_burst * setup.segments);
    buffers_.resize(max_burst * setup.segments);
}

void ReceiveQueue::set_port(const PortFacts& facts, const std::vector<std::uint32_t>& own) {
    const auto needed = (std::max(facts.mtu, 1u) + room_ - 1) / room_;
    segments_ = static_cast<std::uint16_t>(std::min<std::uint32_t>(needed, setup_.segments));
    gid_ = facts.gid;
    own_ = own;
    failed_.store(false, std::memory_order_relaxed);
}

void ReceiveQueue::clear() {
    free_.clear();
    for (auto number = posted_.size(); number > 0; --number) {
        rte_pktmbuf_free(posted_[number - 1]);
        posted_[number - 1] = nullptr;
        free_.push_back(static_cast<std::uint32_t>(number - 1));
    }
}

void ReceiveQueue::fill() {
    while (!failed() && !free_.empty()) {
        const auto before = free_.size();
        post(std::min(free_.size(), max_burst));
        if (free_.size() == before) return;
    }
}

void ReceiveQueue::post(std::size_t count) {
    const auto wanted = Burst(buffers_).first(count * segments_);
    const auto got = allocate(setup_.pool, wanted);
    if (got < wanted.size()) setup_.counters.rx_mbuf_allocation_errors.add();
    count = got / segments_;
    for (auto i = count * segments_; i < got; ++i) rte_pktmbuf_free(buffers_[i]);
    if (count == 0) return;

    const auto first_free = free_.size() - count;
    for (std::size_t i = 0; i < count; ++i) {
        const auto number = free_[first_free + i];
        const auto pieces = std::span(pieces_).subspan(i * segments_, segments_);
        const auto chain = std::span(buffers_).subspan(i * segments_, segments_);
        for (std::size_t j = 0; j < chain.size(); ++j) {
            auto& buffer = *chain[j];
            const auto before = j == 0 ? grh_size : 0;
            auto* const at = rte_pktmbuf_mtod(&buffer, std::byte*) - before;
            pieces[j] = {.addr = reinterpret_cast<std::uintptr_t>(at),
                         .length = room_ + before,
                         .lkey = setup_.regions.key(at).value_or(0)};
            buffer.next = j + 1 < chain.size() ? chain[j + 1] : nullptr;
        }
        chain[0]->nb_segs = segments_;
        posted_[number] = chain[0];
        requests_[i] = {.wr_id = number,
                        .next = i + 1 < count ? &requests_[i + 1] : nullptr,
                        .sg_list = pieces.data(),
                        .num_sge = segments_};
    }
    free_.resize(first_free);
    ibv_recv_wr* refused = nullptr;
    if (give(requests_[0], refused) == 0) return;
    setup_.counters.rx_post_errors.add();
    fail();
    for (; refused != nullptr; refused = refused->next) {
        rte_pktmbuf_free(std::exchange(posted_[refused->wr_id], nullptr));
        free_.push_back(static_cast<std::uint32_t>(refused->wr_id));
    }
}

int ReceiveQueue::give(ibv_recv_wr& first, ibv_recv_wr*& refused) noexcept {
    if (setup_.work_queue != nullptr) return post_receive(*setup_.work_queue, first, refused);
    return post_receive(*setup_.queue_pair, first, refused);
}

std::uint16_t ReceiveQueue::receive(Burst burst) noexcept {
    const auto room = static_cast<int>(std::min(burst.size(), completions_.size()));
    const int count = poll(setup_.completions.handle(), room, completions_.data());
    if (count < 0) fail();
    std::uint16_t n = 0;
    for (int i = 0; i < count; ++i) rte_prefetch0(posted_[completions_[static_cast<std::size_t>(i)].wr_id]);
    for (const auto& completion : std::span(completions_).first(static_cast<std::size_t>(std::max(count, 0)))) {
        auto* const packet = std::exchange(posted_[completion.wr_id], nullptr);
        free_.push_back(static_cast<std::uint32_t>(completion.wr_id));
        if (accept(completion, *packet)) {
            burst[n++] = packet;
        } else {
            rte_pktmbuf_free(packet);
        }
    }
    if (free_.size() >= post_at_once && !failed()) post(std::min(free_.size(), max_burst));
    return n;
}

/// Makes the buffers a packet; false, and counted, if they are none for us.
bool ReceiveQueue::accept(const ibv_wc& completion, rte_mbuf& packet) noexcept {
    auto& counters = setup_.counters;
    if (completion.status != IBV_WC_SUCCESS) {
        (completion.status == IBV_WC_WR_FLUSH_ERR ? counters.rx_flushed : counters.rx_errors).add();
        fail();
        return false;
    }
    if (completion.byte_len < grh_size) return counters.rx_dropped_short.add(), false;
    if (is_own(completion, packet)) return counters.rx_dropped_own_multicast.add(), false;
    const auto size = completion.byte_len - grh_size;
    packet.pkt_len = size;
    packet.data_len = static_cast<std::uint16_t>(std::min(size, room_));
    if (packet.nb_segs > 1) {
        auto left = size - packet.data_len;
        auto* last = &packet;
        std::uint16_t used = 1;
        for (; left > 0 && last->next != nullptr; ++used) {
            last = last->next;
            last->data_len = static_cast<std::uint16_t>(std::min(left, room_));
            left -= last->data_len;
        }
        packet.nb_segs = used;
        rte_pktmbuf_free(std::exchange(last->next, nullptr));
    }
    if (setup_.verifies && (completion.wc_flags & IBV_WC_IP_CSUM_OK) != 0) {
        packet.ol_flags |= RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
    }
    set_datagram_source(packet, {.lid = wire::Lid{completion.slid},
                                 .qpn = wire::Qpn{completion.src_qp},
                                 .global = (completion.wc_flags & IBV_WC_GRH) != 0});
    counters.rx_good_packets.add();
    counters.rx_good_bytes.add(size);
    return true;
}

/// An InfiniBand port gets its own multicast back, which IP takes for another host's. Few devices can suppress that
/// (IBV_QP_CREATE_BLOCK_SELF_MCAST_LB). Other users of the port have its GID, but queue pairs of their own.
bool ReceiveQueue::is_own(const ibv_wc& completion, const rte_mbuf& packet) const noexcept {
    if (std::ranges::find(own_, completion.src_qp) == own_.end() || (completion.wc_flags & IBV_WC_GRH) == 0)
        return false;
    const auto* const source = datagram_header(packet).data() + source_gid_at;
    const auto* const destination = source + gid_.bytes.size();
    return *destination == std::byte{0xff} && std::memcmp(source, gid_.bytes.data(), gid_.bytes.size()) == 0;
}

}  // namespace verbline::pmd::hca
