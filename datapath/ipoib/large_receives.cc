// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/ipoib/large_receives.h"

#include <algorithm>

#include <rte_errno.h>
#include <rte_mbuf.h>

#include "pmd/packet_pool.h"

namespace verbline::ipoib {
namespace {

constexpr unsigned pool_cache = 64;

/// How many buffers a message fills; one, if it is empty.
std::size_t filled(std::uint32_t length) {
    return std::max<std::size_t>(1, (length + LargeReceives::buffer - 1) / LargeReceives::buffer);
}

}  // namespace

void LargeReceives::FreePool::operator()(rte_mempool* pool) const {
    rte_mempool_free(pool);
}

Result<LargeReceives::Pool> LargeReceives::make_pool(const char* name, int socket) {
    Pool pool(pmd::make_packet_pool(name, buffers, pool_cache, RTE_PKTMBUF_HEADROOM + buffer, socket,
                                    pmd::BufferLayout::packed));
    if (pool == nullptr)
        return failure(rte_errno, "no memory for the large packets of connected mode: give more with -m");
    return pool;
}

Result<std::unique_ptr<LargeReceives>> LargeReceives::create(rdma::Device& device, memory::PdId pd, rte_mempool& pool,
                                                             wire::RKey key) {
    std::unique_ptr<LargeReceives> made(new LargeReceives(pool, key));
    auto queue = device.create_shared_receive_queue(pd, {.requests = requests, .segments = buffers_of_message});
    if (!queue) return std::unexpected(queue.error());
    made->queue_ = std::move(*queue);
    made->completions_ = device.create_cq(requests);
    for (std::size_t i = 0; i < requests; ++i) {
        if (rte_pktmbuf_alloc_bulk(&pool, made->chains_[i].data(), buffers_of_message) != 0 || !made->post(i)) {
            return failure(ENOMEM, "no buffers for the large packets of connected mode");
        }
    }
    return made;
}

LargeReceives::~LargeReceives() {
    for (auto& chain : chains_) {
        for (auto* buffer : chain) rte_pktmbuf_free(buffer);
    }
}

bool LargeReceives::post(std::size_t at) noexcept {
    std::array<transport::Segment, buffers_of_message> segments;
    std::ranges::transform(chains_[at], segments.begin(), [this](const rte_mbuf* one) {
        return transport::Segment{rte_pktmbuf_mtod(one, std::uint64_t), buffer, key_};
    });
    return queue_->post({.id = at, .segments = segments}).has_value();
}

std::size_t LargeReceives::take(pmd::Burst out, bool& any) noexcept {
    std::array<transport::Completion, pmd::max_burst> done;
    const auto n = completions_->poll(std::span(done).first(std::min(out.size(), done.size())));
    std::size_t taken = 0;
    for (const auto& completion : std::span(done).first(n)) {
        auto& chain = chains_[completion.id];
        // Else its queue pair ended: the buffers are posted again as they are.
        if (completion.status == transport::Status::success) {
            if (auto* const packet = detach(chain, completion.length)) out[taken++] = packet;
        }
        post(completion.id);
    }
    any |= n > 0;
    return taken;
}

/// Makes a packet of the buffers in front, and puts new ones in their place; null, and nothing changed, without those.
rte_mbuf* LargeReceives::detach(Chain& chain, std::uint32_t length) noexcept {
    const auto n = filled(length);
    Chain fresh;
    if (rte_pktmbuf_alloc_bulk(&pool_, fresh.data(), static_cast<unsigned>(n)) != 0) {
        counters_.rx_dropped_connected_no_mbuf.add();
        return nullptr;
    }
    auto* const packet = chain[0];
    auto rest = length;
    for (std::size_t i = 0; i < n; ++i) {
        chain[i]->data_len = static_cast<std::uint16_t>(std::min<std::uint32_t>(rest, buffer));
        chain[i]->next = i + 1 < n ? chain[i + 1] : nullptr;
        rest -= chain[i]->data_len;
    }
    packet->nb_segs = static_cast<std::uint16_t>(n);
    packet->pkt_len = length;
    std::ranges::copy_n(fresh.begin(), static_cast<std::ptrdiff_t>(n), chain.begin());
    counters_.rx_connected_packets.add();
    counters_.rx_connected_bytes.add(length);
    return packet;
}

}  // namespace verbline::ipoib
