// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/capture/capture.h"

#include <array>
#include <utility>

#include <rte_mbuf.h>

namespace verbline::pmd {

CapturedDevice::CapturedDevice(std::shared_ptr<NetDevice> device, std::string name, CaptureFile& file, Clock clock)
    : Decorator(std::move(device)),
      file_(file),
      source_(file.add_source(std::move(name), inner().capabilities().carries)),
      clock_(std::move(clock)),
      lanes_(
          std::make_shared<Lanes>(std::size_t{inner().capabilities().rx_queues} + inner().capabilities().tx_queues)) {}

CapturedDevice::CapturedDevice(std::shared_ptr<NetDevice> device, const CapturedDevice& before)
    : Decorator(std::move(device)),
      file_(before.file_),
      source_(before.source_),
      clock_(before.clock_),
      lanes_(before.lanes_) {}

std::uint16_t CapturedDevice::rx_burst(std::uint16_t queue, Burst burst) noexcept {
    const auto n = inner().rx_burst(queue, burst);
    if (n == 0) return 0;
    const auto now = clock_();
    for (const auto* packet : burst.first(n))
        add((*lanes_)[queue], pcapng::Direction::inbound, now, file_.copy(*packet));
    return n;
}

std::uint16_t CapturedDevice::tx_burst(std::uint16_t queue, Burst burst) noexcept {
    // Copied before: once sent they are the device's. Which will be sent shows only after.
    std::array<rte_mbuf*, max_burst> copies;
    for (std::size_t i = 0; i < burst.size(); ++i) copies[i] = file_.copy(*burst[i]);
    const auto now = clock_();
    const auto n = inner().tx_burst(queue, burst);
    auto& lane = (*lanes_)[inner().capabilities().rx_queues + std::size_t{queue}];
    for (auto* copy : std::span(copies).first(n)) add(lane, pcapng::Direction::outbound, now, copy);
    for (auto* copy : std::span(copies).first(burst.size()).subspan(n)) rte_pktmbuf_free(copy);
    return n;
}

void CapturedDevice::add(Lane& lane, pcapng::Direction direction, Time time, rte_mbuf* copy) noexcept {
    const bool added = copy != nullptr && file_.add(source_, direction, time, copy);
    (added ? lane.counters.captured : lane.counters.capture_dropped).add();
}

void CapturedDevice::counters(const CounterVisitor& visit) const {
    inner().counters(visit);
    visit_sums(*lanes_, visit, [](const Lane& lane) -> const CaptureCounters& { return lane.counters; });
}

}  // namespace verbline::pmd
