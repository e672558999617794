// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/bridge/output_queue.h"

#include <algorithm>
#include <array>
#include <span>

#include <rte_mbuf.h>

namespace verbline::pmd {

OutputQueue::~OutputQueue() {
    rte_pktmbuf_free_bulk(waiting_.data(), static_cast<unsigned>(waiting_.size()));
}

std::size_t OutputQueue::send(NetDevice& device, std::uint16_t queue, Burst frames) noexcept {
    if (flush(device, queue)) frames = frames.subspan(transmit(device, queue, frames));
    const auto room = limit_ - std::min(limit_, waiting_.size());
    const auto kept = frames.first(std::min(frames.size(), room));
    const auto rest = frames.subspan(kept.size());
    waiting_.insert(waiting_.end(), kept.begin(), kept.end());
    rte_pktmbuf_free_bulk(rest.data(), static_cast<unsigned>(rest.size()));
    return rest.size();
}

bool OutputQueue::flush(NetDevice& device, std::uint16_t queue) noexcept {
    while (!waiting_.empty()) {
        const auto sent = transmit(device, queue, Burst(waiting_).first(std::min(waiting_.size(), max_burst)));
        if (sent == 0) return false;
        waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(sent));
    }
    return true;
}

std::size_t OutputQueue::transmit(NetDevice& device, std::uint16_t queue, Burst frames) noexcept {
    if (sent_.packets == nullptr) return device.tx_burst(queue, frames);
    std::array<std::uint32_t, max_burst> sizes;  // taken before sending, which frees the frames
    std::ranges::transform(frames, sizes.begin(), &rte_mbuf::pkt_len);
    const std::size_t sent = device.tx_burst(queue, frames);
    sent_.packets->add(sent);
    for (const auto size : std::span(sizes).first(sent)) sent_.bytes->add(size);
    return sent;
}

}  // namespace verbline::pmd
