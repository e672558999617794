// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/transport/completion_queue.h"

#include <utility>

namespace verbline::transport {
namespace {

constexpr wire::Qpn purged{0};  ///< marks a discarded completion: QP0 belongs to subnet management

}  // namespace

CompletionQueue::CompletionQueue(std::uint32_t entries, unsigned shards, std::function<void()> on_event)
    : on_event_(std::move(on_event)) {
    for (unsigned i = 0; i < shards; ++i) lanes_.push_back(std::make_unique<Lane>(entries));
}

std::size_t CompletionQueue::poll(std::span<Completion> out) noexcept {
    std::size_t n = 0;
    for (std::size_t tried = 0; tried < lanes_.size() && n < out.size(); ++tried) {
        auto& ring = lanes_[next_lane_]->ring;
        while (n < out.size()) {
            const auto* const completion = ring.front();
            if (completion == nullptr) break;
            if (completion->qpn != purged) out[n++] = *completion;
            ring.pop();
        }
        if (++next_lane_ == lanes_.size()) next_lane_ = 0;
    }
    return n;
}

bool CompletionQueue::lose(Lane& lane) noexcept {
    lane.solicited = true;
    overrun_.store(true, std::memory_order_relaxed);
    return false;
}

bool CompletionQueue::touch(unsigned shard) noexcept {
    return !std::exchange(lanes_[shard]->touched, true);
}

void CompletionQueue::notify(unsigned shard) noexcept {
    auto& lane = *lanes_[shard];
    const bool solicited = std::exchange(lane.solicited, false);
    lane.touched = false;
    // The caller has issued a full fence between its pushes and this load: if a user armed and then polled nothing, its
    // arming is seen here.
    const auto armed = armed_.load(std::memory_order_seq_cst);
    if (armed == Armed::no || (armed == Armed::solicited && !solicited)) return;
    if (armed_.exchange(Armed::no) != Armed::no && on_event_) on_event_();
}

bool CompletionQueue::resize(std::uint32_t entries) {
    for (const auto& lane : lanes_) {
        if (lane->ring.size() > entries) return false;
    }
    std::vector<std::unique_ptr<Lane>> lanes;
    for (const auto& lane : lanes_) {
        auto& larger = *lanes.emplace_back(std::make_unique<Lane>(entries));
        lane->ring.each([&](const Completion& completion) { larger.ring.push(completion); });
        larger.touched = lane->touched;
        larger.solicited = lane->solicited;
    }
    lanes_ = std::move(lanes);
    return true;
}

void CompletionQueue::purge(wire::Qpn qpn) noexcept {
    for (auto& lane : lanes_) {
        lane->ring.each([qpn](Completion& completion) {
            if (completion.qpn == qpn) completion.qpn = purged;
        });
    }
}

}  // namespace verbline::transport
