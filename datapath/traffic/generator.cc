// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/traffic/generator.h"

#include <algorithm>
#include <cstring>

#include <rte_cycles.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include "pmd/allocate.h"
#include "pmd/packet_pool.h"

namespace verbline::traffic {
namespace {

constexpr unsigned pool_cache = 256;

/// Credit of the pacer: what a poll that comes late makes up for.
std::uint32_t credit(const GeneratorSettings& settings) {
    if (!settings.rate) return 0;
    const double burst = static_cast<double>(settings.burst) * settings.rate->cost(min_frame);
    const double late =
        static_cast<double>(settings.rate->pacer_rate()) / 8 * static_cast<double>(settings.catch_up) / second;
    return static_cast<std::uint32_t>(std::min(std::max(burst, late), 4e9));
}

}  // namespace

rte_mempool* make_frame_pool(const char* name, unsigned frames, std::uint32_t largest_frame, int socket) {
    const auto room = std::max<std::size_t>(RTE_MBUF_DEFAULT_BUF_SIZE, RTE_PKTMBUF_HEADROOM + largest_frame);
    auto* const pool = pmd::make_packet_pool(name, frames, pool_cache, static_cast<std::uint16_t>(room), socket,
                                             pmd::BufferLayout::packed);
    if (pool != nullptr) clear_frames(*pool);
    return pool;
}

void clear_frames(rte_mempool& pool) {
    const auto clear = [](rte_mempool*, void*, void* object, unsigned) {
        const auto& packet = *static_cast<rte_mbuf*>(object);
        std::memset(packet.buf_addr, 0, packet.buf_len);
    };
    rte_mempool_obj_iter(&pool, clear, nullptr);
}

Generator::Generator(pmd::NetDevice& device, std::uint16_t queue, rte_mempool& pool, const FrameTemplate& frames,
                     const GeneratorSettings& settings)
    : device_(device),
      pool_(pool),
      settings_(settings),
      writer_(frames, settings.flows, settings.run, settings.stream),
      pacer_(credit(settings)),
      left_(settings.frames),
      queue_(queue) {
    settings_.burst = std::min<std::uint16_t>(settings.burst, pmd::max_burst);
    if (settings.rate) pacer_rate_ = std::max<std::uint64_t>(1, settings.rate->pacer_rate());
}

Generator::~Generator() {
    rte_pktmbuf_free_bulk(staged_.data() + next_, static_cast<unsigned>(end_ - next_));
}

bool Generator::poll() noexcept {
    const bool ready = next_ != end_ || (may_send() && fill());
    return send() && ready;
}

bool Generator::may_send() noexcept {
    if (left_ == 0 || stopped_.load(std::memory_order_relaxed)) return false;
    return pacer_rate_ == 0 || clock_.now() >= pacer_.ready_at();
}

bool Generator::fill() noexcept {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(settings_.burst, left_));
    const auto count = pmd::allocate(pool_, pmd::Burst(staged_).first(wanted));
    if (count < wanted) counters_.tx_no_buffers.add();
    for (std::size_t i = 0; i < count; ++i) rte_prefetch0(rte_pktmbuf_mtod(staged_[i], void*));
    std::uint32_t cost = 0;
    const auto time = rte_rdtsc();
    for (std::size_t i = 0; i < count; ++i) {
        auto& packet = *staged_[i];
        auto* const head = rte_pktmbuf_mtod(&packet, std::byte*);
        const auto length = writer_.write({head, rte_pktmbuf_tailroom(&packet)}, time);
        packet.data_len = length;
        packet.pkt_len = length;
        if (pacer_rate_ != 0) cost += settings_.rate->cost(length + fcs);
    }
    next_ = 0;
    end_ = static_cast<std::uint16_t>(count);
    left_ -= count;
    if (pacer_rate_ != 0) pacer_.sent(cost, pacer_rate_, clock_.now());
    return count > 0;
}

bool Generator::send() noexcept {
    const auto rest = pmd::Burst(staged_).subspan(next_, static_cast<std::size_t>(end_ - next_));
    std::uint64_t bytes = 0;
    // Once the device has a frame, it may be gone.
    std::array<std::uint16_t, pmd::max_burst> lengths;
    for (std::size_t i = 0; i < rest.size(); ++i) lengths[i] = rest[i]->data_len;
    const auto sent = device_.tx_burst(queue_, rest);  // of none, too: a device may hold some back that are due
    for (std::size_t i = 0; i < sent; ++i) bytes += lengths[i] + fcs;
    if (sent < rest.size()) counters_.tx_device_full.add();
    counters_.tx_packets.add(sent);
    counters_.tx_bytes.add(bytes);
    next_ = static_cast<std::uint16_t>(next_ + sent);
    return sent > 0;
}

}  // namespace verbline::traffic
