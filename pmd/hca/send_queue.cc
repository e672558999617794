// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/hca/send_queue.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <rte_mbuf.h>

#include "pmd/base/tunables.h"

namespace verbline::pmd::hca {

SendQueue::SendQueue(const Setup& setup)
    : setup_(setup),
      addresses_(setup.verbs, setup.domain, setup.port, tunables::hca_address_handles),
      posted_(std::bit_floor(setup.depth)),
      pieces_(max_burst * setup.segments) {}

void SendQueue::set_port(const PortFacts& facts) {
    addresses_.reset(facts);
    mtu_ = facts.mtu;
    failed_.store(false, std::memory_order_relaxed);
}

void SendQueue::clear() {
    for (auto& payload : posted_) rte_pktmbuf_free(std::exchange(payload, nullptr));
    complete_ = next_;
    addresses_.reset({});
}

std::uint16_t SendQueue::send(std::span<const Datagram> burst) noexcept {
    reap();
    const auto room = posted_.size() - static_cast<std::size_t>(next_ - complete_);
    burst = burst.first(std::min({burst.size(), room, max_burst}));
    Chain chain;
    for (const auto& datagram : burst) add(chain, datagram);
    post(chain);
    return static_cast<std::uint16_t>(burst.size());
}

/// Adds a datagram to the chain, or drops and counts it.
void SendQueue::add(Chain& chain, const Datagram& datagram) noexcept {
    auto* payload = datagram.payload;
    const bool large = is_large(*payload);
    if (auto* const reason = large ? prepare_large(*payload) : prepare(*payload)) return drop(payload, *reason);
    const auto pieces = std::span(pieces_).subspan(chain.pieces, setup_.segments);
    const auto header = large ? header_size(*payload) : std::uint16_t{0};  // which goes into the request itself
    auto gathered = gather(*payload, header, pieces);
    if (gathered == 0 && copy_into_regions(payload)) gathered = gather(*payload, header, pieces);
    if (gathered == 0) return drop(payload, setup_.counters.tx_dropped_no_mbuf);
    const auto number = next_ + chain.requests;
    auto* const handle = addresses_.find(*datagram.address, number, complete_);
    if (handle == nullptr) return drop(payload, setup_.counters.tx_dropped_no_address_handle);

    chain.pieces += static_cast<std::size_t>(gathered);
    auto& request = requests_[chain.requests];
    request.wr_id = number;
    request.next = chain.requests + 1 < requests_.size() ? &requests_[chain.requests + 1] : nullptr;
    request.sg_list = pieces.data();
    request.num_sge = gathered;
    request.opcode = IBV_WR_SEND;
    request.send_flags = 0;
    if (large) {
        chain.has_large = true;
        request.opcode = IBV_WR_TSO;
        request.tso.hdr = rte_pktmbuf_mtod(payload, void*);
        request.tso.hdr_sz = header;
        request.tso.mss = payload->tso_segsz;
    } else if (payload->pkt_len <= setup_.inline_size)
        request.send_flags |= IBV_SEND_INLINE;
    if ((payload->ol_flags & checksum_requests) != 0) request.send_flags |= IBV_SEND_IP_CSUM;
    request.wr.ud = {.ah = handle,
                     .remote_qpn = static_cast<std::uint32_t>(datagram.destination),
                     .remote_qkey = static_cast<std::uint32_t>(datagram.qkey)};
    payloads_[chain.requests++] = payload;
}

void SendQueue::post(Chain& chain) noexcept {
    if (chain.requests == 0) return;
    requests_[chain.requests - 1].next = nullptr;
    requests_[chain.requests - 1].send_flags |= IBV_SEND_SIGNALED;
    ibv_send_wr* refused = nullptr;
    auto posted = chain.requests;
    if (post_send(setup_.queue_pair, requests_[0], refused) != 0) {
        posted = refused != nullptr ? static_cast<std::size_t>(refused - requests_.data()) : 0;
        fail();  // of what was posted before it nothing is signalled
    }
    std::uint64_t bytes = 0;
    std::array<rte_mbuf*, max_burst> sent_inline;
    unsigned copied = 0;
    for (std::size_t i = 0; i < posted; ++i) {
        auto* const payload = payloads_[i];
        bytes += payload->pkt_len;
        const bool is_copied = (requests_[i].send_flags & IBV_SEND_INLINE) != 0;
        posted_[(next_ + i) & (posted_.size() - 1)] = is_copied ? nullptr : payload;
        if (is_copied) sent_inline[copied++] = payload;
    }
    for (auto i = posted; i < chain.requests; ++i) drop(payloads_[i], setup_.counters.tx_dropped_refused);
    if (copied > 0) rte_pktmbuf_free_bulk(sent_inline.data(), copied);
    next_ += posted;
    setup_.counters.tx_good_packets.add(posted);
    setup_.counters.tx_good_bytes.add(bytes);
    if (chain.has_large) {
        const auto done = std::span(requests_).first(posted);
        const auto large = std::ranges::count(done, IBV_WR_TSO, &ibv_send_wr::opcode);
        setup_.counters.tx_segmented_packets.add(static_cast<std::uint64_t>(large));
    }
}

void SendQueue::reap() noexcept {
    std::array<ibv_wc, 16> completions;
    int count = static_cast<int>(completions.size());
    while (complete_ < next_ && count == static_cast<int>(completions.size())) {
        count = poll(setup_.completions, count, completions.data());
        if (count < 0) return fail();
        for (const auto& completion : std::span(completions).first(static_cast<std::size_t>(count)))
            complete(completion);
    }
}

/// A completion completes all requests before it, which were not signalled. After a failure each has its own.
void SendQueue::complete(const ibv_wc& completion) noexcept {
    if (completion.status != IBV_WC_SUCCESS) {
        auto& counters = setup_.counters;
        (completion.status == IBV_WC_WR_FLUSH_ERR ? counters.tx_dropped_flushed : counters.tx_errors).add();
        const auto* const payload = posted_[completion.wr_id & (posted_.size() - 1)];
        if (completion.status != IBV_WC_WR_FLUSH_ERR && payload != nullptr && is_large(*payload))
            setup_.does_tso->store(false, std::memory_order_relaxed);
        fail();
    }
    std::array<rte_mbuf*, max_burst> done;
    unsigned count = 0;
    for (; complete_ < next_ && complete_ <= completion.wr_id; ++complete_) {
        auto* const payload = std::exchange(posted_[complete_ & (posted_.size() - 1)], nullptr);
        if (payload != nullptr) done[count++] = payload;
        if (count == done.size()) rte_pktmbuf_free_bulk(done.data(), std::exchange(count, 0));
    }
    if (count > 0) rte_pktmbuf_free_bulk(done.data(), count);
}

void SendQueue::drop(rte_mbuf* payload, Counter& reason) noexcept {
    reason.add();
    rte_pktmbuf_free(payload);
}

}  // namespace verbline::pmd::hca
