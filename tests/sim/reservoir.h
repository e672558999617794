// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Receive requests of one queue, a queue pair's own or a shared one.

#include <deque>
#include <functional>

#include "tests/sim/scene.h"

namespace verbline::sim {

class Reservoir {
public:
    using Post = std::function<bool(const transport::ReceiveRequest&)>;

    /// `ordered`: requests complete in the order of posting. `keep`: how many are posted at most.
    Reservoir(Scene& scene, Arena& arena, std::uint32_t size, std::uint32_t keep, bool ordered, Post post)
        : scene_(scene), arena_(arena), size_(size), keep_(keep), ordered_(ordered), post_(std::move(post)) {}

    /// Posts up to `count`.
    void post(std::uint32_t count);
    /// The request has completed, and is no more; its memory is the caller's to look at and give back.
    Pieces take(std::uint64_t id);
    /// They will never complete.
    void forget();

    Arena& arena() { return arena_; }
    std::size_t outstanding() const { return order_.size(); }
    const std::deque<std::uint64_t>& order() const { return order_; }

private:
    Scene& scene_;
    Arena& arena_;
    std::uint32_t size_, keep_;
    bool ordered_;
    Post post_;
    std::deque<std::uint64_t> order_;
};

}  // namespace verbline::sim
