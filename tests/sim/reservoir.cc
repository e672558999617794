// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/reservoir.h"

#include <algorithm>
#include <utility>

namespace verbline::sim {

// Here, because only here it is known what a reservoir is.
Node::Node() = default;
Node::~Node() = default;

void Reservoir::post(std::uint32_t count) {
    for (; count > 0 && order_.size() < keep_; --count) {
        const auto id = scene_.next_receive++;
        Pieces pieces(arena_, Use::sink, size_, static_cast<unsigned>(1 + scene_.random.below(3)));
        if (!post_({.id = id, .segments = pieces.segments()})) return pieces.give_back(arena_);
        order_.push_back(id);
        scene_.receives[id] = {this, pieces};
    }
}

Pieces Reservoir::take(std::uint64_t id) {
    const auto at = std::ranges::find(order_, id);
    if (ordered_ && at != order_.begin()) scene_.fail("receive {:x} completes before an earlier one", id);
    if (at != order_.end()) order_.erase(at);
    auto node = scene_.receives.extract(id);
    return node ? node.mapped().pieces : Pieces();
}

void Reservoir::forget() {
    for (const auto id : order_) {
        auto node = scene_.receives.extract(id);
        node.mapped().pieces.give_back(arena_);
    }
    order_.clear();
}

}  // namespace verbline::sim
