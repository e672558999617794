// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Waiting in a single-threaded program: polls the shard, so that packets move, and the completion queue.

#include <optional>
#include <thread>

#include <fmt/format.h>

#include "apps/rdma_ping/exchange.h"
#include "apps/rdma_ping/must.h"
#include "apps/rdma_ping/port.h"
#include "datapath/rdma/device.h"
#include "pmd/base/clock.h"

namespace verbline::rdma_ping {

class Loop {
public:
    Loop(PingPort& port, rdma::Device& device, Exchange& exchange)
        : port_(port), device_(device), exchange_(exchange) {}

    void poll() {
        const auto now = monotonic_now();
        port_.upkeep(now);
        port_.send_due();
        if (!device_.poll(0, now)) std::this_thread::yield();
    }

    /// The next completion; nullopt if the peer is done before one arrives.
    std::optional<transport::Completion> next(transport::CompletionQueue& queue) {
        return wait(queue, [this] { return exchange_.peer_is_done(); });
    }
    void await(transport::CompletionQueue& queue) {
        wait(queue, [] { return false; });
    }

private:
    template <class Done>
    std::optional<transport::Completion> wait(transport::CompletionQueue& queue, Done done) {
        transport::Completion completion;
        for (const auto limit = monotonic_now() + 20 * second; queue.poll({&completion, 1}) == 0; poll()) {
            if (done()) return std::nullopt;
            if (monotonic_now() > limit) throw std::runtime_error("the peer is silent; see what it printed");
        }
        if (completion.status == transport::Status::success) return completion;
        throw std::runtime_error(fmt::format("a request failed: {}", text(completion.status)));
    }

    PingPort& port_;
    rdma::Device& device_;
    Exchange& exchange_;
};

}  // namespace verbline::rdma_ping
