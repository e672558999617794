// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/impair/impair.h"

#include <algorithm>
#include <string>
#include <utility>

#include <rte_mbuf.h>

namespace verbline::pmd {
namespace {

bool holds(const Impairments& impairments) {
    return impairments.reorder > 0 || impairments.delay > 0 || impairments.jitter > 0;
}

}  // namespace

/// Of one queue and direction. `number` is among those of all lanes, so that no two lose the same packets.
struct ImpairedDevice::Way {
    explicit Way(std::uint64_t number) : number(number) {}

    ImpairLane lane{{}, 0};
    std::uint64_t number;
    // Also read by the control thread.
    std::atomic<const Current*> followed = nullptr;
    std::atomic<std::size_t> held = 0;  ///< as of the last burst
};

struct ImpairedDevice::Receiver : Way {
    using Way::Way;

    bool consumed = false;  ///< whether the last burst took packets
};

/// With the packets that have left the lane but not yet found room in the device.
struct ImpairedDevice::Transmitter : Way {
    using Way::Way;
    ~Transmitter() { drop(); }
    void drop() { lane.drop(std::span(ready).first(std::exchange(count, 0))); }

    std::array<rte_mbuf*, max_burst> ready{};
    std::size_t count = 0;
};

ImpairedDevice::ImpairedDevice(std::shared_ptr<NetDevice> device, const ImpairSpec& spec, Clock clock)
    : Decorator(std::move(device)), clock_(std::move(clock)) {
    std::uint64_t number = 0;
    for (unsigned i = 0; i < inner().capabilities().rx_queues; ++i)
        receivers_.push_back(std::make_unique<Receiver>(number++));
    for (unsigned i = 0; i < inner().capabilities().tx_queues; ++i)
        transmitters_.push_back(std::make_unique<Transmitter>(number++));
    set(spec);
}

ImpairedDevice::~ImpairedDevice() = default;

void ImpairedDevice::set(const ImpairSpec& spec) {
    const auto follows = [this](const auto& way) {
        return way->followed.load(std::memory_order_acquire) == current_.load(std::memory_order_relaxed);
    };
    if (std::ranges::all_of(receivers_, follows) && std::ranges::all_of(transmitters_, follows)) {
        while (specs_.size() > 1) specs_.pop_front();
    }
    specs_.push_back({spec, holds(spec.rx) || holds(spec.tx)});
    current_.store(&specs_.back(), std::memory_order_release);
}

bool ImpairedDevice::settled() const noexcept {
    const auto is_settled = [current = current_.load(std::memory_order_relaxed)](const auto& way) {
        return way->followed.load(std::memory_order_acquire) == current &&
               way->held.load(std::memory_order_relaxed) == 0;
    };
    return std::ranges::all_of(receivers_, is_settled) && std::ranges::all_of(transmitters_, is_settled);
}

void ImpairedDevice::follow(Way& way, Impairments ImpairSpec::* direction) noexcept {
    const auto* const current = current_.load(std::memory_order_acquire);
    if (way.followed.load(std::memory_order_relaxed) == current) return;
    const auto lanes = receivers_.size() + transmitters_.size();
    way.lane.set(current->spec.*direction, current->spec.seed * 2 * lanes + way.number);
    way.followed.store(current, std::memory_order_release);
}

int ImpairedDevice::rx_event(std::uint16_t queue) const noexcept {
    const auto holds = [queue](const auto& ways) {
        return queue < ways.size() && ways[queue]->held.load(std::memory_order_relaxed) > 0;
    };
    const bool waits = current_.load(std::memory_order_acquire)->holds || holds(receivers_) || holds(transmitters_);
    return waits ? -1 : inner().rx_event(queue);
}

void ImpairedDevice::down() {
    Decorator::down();
    for (const auto& receiver : receivers_) receiver->lane.drop(), receiver->held.store(0, std::memory_order_relaxed);
    for (const auto& transmitter : transmitters_)
        transmitter->drop(), transmitter->held.store(0, std::memory_order_relaxed);
}

std::uint16_t ImpairedDevice::rx_burst(std::uint16_t queue, Burst burst) noexcept {
    auto& receiver = *receivers_[queue];
    auto& lane = receiver.lane;
    follow(receiver, &ImpairSpec::rx);
    const auto now = clock_();
    receiver.consumed = false;
    if (lane.has_room()) {
        std::array<rte_mbuf*, max_burst> fresh;
        const auto n = inner().rx_burst(queue, std::span(fresh).first(std::min(burst.size(), fresh.size())));
        for (auto* packet : std::span(fresh).first(n)) lane.admit(packet, now);
        receiver.consumed = n > 0;
    }
    const auto released = lane.release(now, burst);
    receiver.held.store(lane.held(), std::memory_order_relaxed);
    return released;
}

bool ImpairedDevice::rx_consumed(std::uint16_t queue) const noexcept {
    return receivers_[queue]->consumed || inner().rx_consumed(queue);
}

std::uint16_t ImpairedDevice::tx_burst(std::uint16_t queue, Burst burst) noexcept {
    auto& transmitter = *transmitters_[queue];
    auto& lane = transmitter.lane;
    auto& ready = transmitter.ready;
    auto& count = transmitter.count;
    follow(transmitter, &ImpairSpec::tx);
    const auto now = clock_();
    std::uint16_t taken = 0;
    while (taken < burst.size() && lane.has_room()) lane.admit(burst[taken++], now);
    for (;;) {
        count += lane.release(now, std::span(ready).subspan(count));
        const auto sent = inner().tx_burst(queue, std::span(ready).first(count));
        std::copy(ready.begin() + sent, ready.begin() + static_cast<std::ptrdiff_t>(count), ready.begin());
        count -= sent;
        if (sent != 0) continue;
        transmitter.held.store(lane.held() + count, std::memory_order_relaxed);
        return taken;
    }
}

void ImpairedDevice::counters(const CounterVisitor& visit) const {
    inner().counters(visit);
    const auto prefixed = [&](const char* prefix) {
        return [&visit, prefix](std::string_view name, std::uint64_t value, std::string_view help) {
            visit(prefix + std::string(name), value, help);
        };
    };
    visit_sums(receivers_, prefixed("rx_impair_"),
               [](const auto& receiver) -> const ImpairCounters& { return receiver->lane.counters(); });
    visit_sums(transmitters_, prefixed("tx_impair_"),
               [](const auto& transmitter) -> const ImpairCounters& { return transmitter->lane.counters(); });
}

}  // namespace verbline::pmd
