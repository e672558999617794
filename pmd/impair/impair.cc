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

/// A lane, and whether its last burst took packets.
struct ImpairedDevice::Receiver {
    Receiver(const Impairments& impairments, std::uint64_t seed) : lane(impairments, seed) {}

    ImpairLane lane;
    bool consumed = false;
};

/// A lane, and the packets that have left it but not yet found room in the device.
struct ImpairedDevice::Transmitter {
    Transmitter(const Impairments& impairments, std::uint64_t seed) : lane(impairments, seed) {}
    ~Transmitter() { drop(); }
    void drop() { lane.drop(std::span(ready).first(std::exchange(count, 0))); }

    ImpairLane lane;
    std::array<rte_mbuf*, max_burst> ready{};
    std::size_t count = 0;
};

ImpairedDevice::ImpairedDevice(std::unique_ptr<NetDevice> device, const ImpairSpec& spec, Clock clock)
    : Decorator(std::move(device)), clock_(std::move(clock)), holds_(holds(spec.rx) || holds(spec.tx)) {
    // Seeds apart from each other, so that no two lanes lose the same packets.
    auto seed = spec.seed * 2 * (std::size_t{inner().capabilities().rx_queues} + inner().capabilities().tx_queues);
    for (unsigned i = 0; i < inner().capabilities().rx_queues; ++i) {
        receivers_.push_back(std::make_unique<Receiver>(spec.rx, seed++));
    }
    for (unsigned i = 0; i < inner().capabilities().tx_queues; ++i) {
        transmitters_.push_back(std::make_unique<Transmitter>(spec.tx, seed++));
    }
}

ImpairedDevice::~ImpairedDevice() = default;

void ImpairedDevice::down() {
    Decorator::down();
    for (const auto& receiver : receivers_) receiver->lane.drop();
    for (const auto& transmitter : transmitters_) transmitter->drop();
}

std::uint16_t ImpairedDevice::rx_burst(std::uint16_t queue, Burst burst) noexcept {
    auto& [lane, consumed] = *receivers_[queue];
    const auto now = clock_();
    consumed = false;
    if (lane.has_room()) {
        std::array<rte_mbuf*, max_burst> fresh;
        const auto n = inner().rx_burst(queue, std::span(fresh).first(std::min(burst.size(), fresh.size())));
        for (auto* packet : std::span(fresh).first(n)) lane.admit(packet, now);
        consumed = n > 0;
    }
    return lane.release(now, burst);
}

bool ImpairedDevice::rx_consumed(std::uint16_t queue) const noexcept {
    return receivers_[queue]->consumed || inner().rx_consumed(queue);
}

std::uint16_t ImpairedDevice::tx_burst(std::uint16_t queue, Burst burst) noexcept {
    auto& [lane, ready, count] = *transmitters_[queue];
    const auto now = clock_();
    std::uint16_t taken = 0;
    while (taken < burst.size() && lane.has_room()) lane.admit(burst[taken++], now);
    for (;;) {
        count += lane.release(now, std::span(ready).subspan(count));
        const auto sent = inner().tx_burst(queue, std::span(ready).first(count));
        std::copy(ready.begin() + sent, ready.begin() + static_cast<std::ptrdiff_t>(count), ready.begin());
        count -= sent;
        if (sent == 0) return taken;
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
