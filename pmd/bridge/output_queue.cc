// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/bridge/output_queue.h"

#include <algorithm>

#include <rte_mbuf.h>

namespace verbline::pmd {

OutputQueue::~OutputQueue() {
    rte_pktmbuf_free_bulk(waiting_.data(), static_cast<unsigned>(waiting_.size()));
}

std::size_t OutputQueue::send(NetDevice& device, std::uint16_t queue, Burst frames) noexcept {
    if (flush(device, queue)) frames = frames.subspan(device.tx_burst(queue, frames));
    const auto room = limit_ - std::min(limit_, waiting_.size());
    const auto kept = frames.first(std::min(frames.size(), room));
    const auto rest = frames.subspan(kept.size());
    waiting_.insert(waiting_.end(), kept.begin(), kept.end());
    rte_pktmbuf_free_bulk(rest.data(), static_cast<unsigned>(rest.size()));
    return rest.size();
}

bool OutputQueue::flush(NetDevice& device, std::uint16_t queue) noexcept {
    while (!waiting_.empty()) {
        const auto sent = device.tx_burst(queue, Burst(waiting_).first(std::min(waiting_.size(), max_burst)));
        if (sent == 0) return false;
        waiting_.erase(waiting_.begin(), waiting_.begin() + sent);
    }
    return true;
}

}  // namespace verbline::pmd
