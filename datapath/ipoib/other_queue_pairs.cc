// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/ipoib/other_queue_pairs.h"

#include <rte_mbuf.h>

namespace verbline::ipoib {

OtherQueuePairs::OtherQueuePairs(pmd::NetDevice& device, std::uint16_t queue)
    : device_(&device), name_(device.name()), queue_(queue), capabilities_(device.capabilities()) {
    capabilities_.rx_queues = capabilities_.tx_queues = 1;
}

OtherQueuePairs::~OtherQueuePairs() {
    while (first_ != end_) rte_pktmbuf_free(waiting_[first_++ % most_waiting]);
}

bool OtherQueuePairs::put(rte_mbuf* frame) noexcept {
    if (end_ - first_ == most_waiting) return false;
    waiting_[end_++ % most_waiting] = frame;
    return true;
}

std::uint16_t OtherQueuePairs::rx_burst(std::uint16_t, pmd::Burst burst) noexcept {
    std::uint16_t taken = 0;
    while (taken < burst.size() && first_ != end_) burst[taken++] = waiting_[first_++ % most_waiting];
    return taken;
}

std::uint16_t OtherQueuePairs::tx_burst(std::uint16_t, pmd::Burst burst) noexcept {
    return device_->tx_burst(queue_, burst);
}

}  // namespace verbline::ipoib
