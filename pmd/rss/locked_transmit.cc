// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/rss/locked_transmit.h"

#include <cerrno>
#include <utility>

#include <rte_pause.h>
#include <rte_spinlock.h>
#include <sched.h>

#include <fmt/format.h>

namespace verbline::pmd {
namespace {

/// About as long as a burst takes to be copied into a ring; a holder that needs longer may have lost its CPU.
constexpr unsigned pauses_before_yield = 200;

}  // namespace

struct alignas(64) LockedTransmit::Lane {
    rte_spinlock_t lock = RTE_SPINLOCK_INITIALIZER;
    LockedTransmitCounters counters;  ///< written by the holder alone

    bool try_take() noexcept { return rte_spinlock_trylock(&lock) != 0; }
    void take() noexcept {
        if (try_take()) [[likely]]
            return;
        for (unsigned pauses = 0; !try_take(); ++pauses) {
            if (pauses < pauses_before_yield) {
                rte_pause();
            } else {
                sched_yield();
            }
        }
        counters.tx_lock_waits.add();
    }
    void release() noexcept { rte_spinlock_unlock(&lock); }
};

Result<std::unique_ptr<LockedTransmit>> LockedTransmit::create(std::unique_ptr<NetDevice> device,
                                                               std::uint16_t queues) {
    if (device->capabilities().tx_queues == 0 || queues == 0)
        return failure(EINVAL, fmt::format("device {}: no transmit queue to share", device->name()));
    return std::unique_ptr<LockedTransmit>(new LockedTransmit(std::move(device), queues));
}

LockedTransmit::LockedTransmit(std::unique_ptr<NetDevice> device, std::uint16_t queues)
    : Decorator(std::move(device)), capabilities_(inner().capabilities()) {
    for (std::uint16_t i = 0; i < capabilities_.tx_queues; ++i) lanes_.push_back(std::make_unique<Lane>());
    capabilities_.tx_queues = queues;
}

LockedTransmit::~LockedTransmit() = default;

template <class Packets, class Send>
std::uint16_t LockedTransmit::locked(std::uint16_t queue, Packets packets, Send send) noexcept {
    const auto number = static_cast<std::uint16_t>(queue % lanes_.size());
    auto& lane = *lanes_[number];
    if (!packets.empty()) {
        lane.take();
    } else if (!lane.try_take()) {
        return 0;
    }
    const auto sent = send(number);
    lane.release();
    return sent;
}

std::uint16_t LockedTransmit::tx_burst(std::uint16_t queue, Burst burst) noexcept {
    return locked(queue, burst, [&](std::uint16_t number) { return inner().tx_burst(number, burst); });
}

std::uint16_t LockedTransmit::send(std::uint16_t queue, std::span<const Datagram> burst) noexcept {
    return locked(queue, burst, [&](std::uint16_t number) { return inner().send(number, burst); });
}

void LockedTransmit::counters(const CounterVisitor& visit) const {
    visit_sums(lanes_, visit, [](const auto& lane) -> const LockedTransmitCounters& { return lane->counters; });
    inner().counters(visit);
}

}  // namespace verbline::pmd
