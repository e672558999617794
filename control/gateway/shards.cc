// SPDX-License-Identifier: BSD-3-Clause
#include "control/gateway/shards.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include <rte_lcore.h>

#include <fmt/format.h>

#include "control/gateway/memory_policy.h"
#include "datapath/router/runner.h"
#include "pmd/base/clock.h"

namespace verbline::gateway {
namespace {

int socket_of(const pmd::WorkerLcore& worker) {
    return static_cast<int>(rte_lcore_to_socket_id(worker.lcore()));
}

}  // namespace

Shards::Shards(const router::ShardSetup& common, const router::ShardLinks& links, const pmd::PacketPools& pools,
               Workers& workers, std::span<pmd::TraceRing* const> traces)
    : links_(links), workers_(workers) {
    for (std::size_t i = 0; i < links.size(); ++i) {
        const MemoryOnSocket near(socket(i));
        auto setup = common;
        setup.pool = pools[i];
        setup.queue = static_cast<std::uint16_t>(i);
        setup.shards = static_cast<std::uint16_t>(links.size());
        setup.commands = &links[i].commands();
        setup.events = &links[i].events();
        setup.wake_control = &links[i].wake();
        setup.wake = &links[i].shard_signal();
        setup.trace = i < traces.size() ? traces[i] : nullptr;
        shards_.push_back(std::make_unique<router::Shard>(setup));
        watches_.emplace_back();
    }
}

Shards::~Shards() {
    stop();
}

Result<void> Shards::start() {
    for (std::size_t i = 0; i < shards_.size(); ++i) {
        auto started = workers_[i].start([&shard = *shards_[i]](const std::atomic<bool>& stop) {
            router::run(shard, stop, {.always_spin = router::on_isolated_cpu()});
        });
        if (!started) return started;
    }
    started_ = true;
    return {};
}

void Shards::look_after(Time now, const std::function<void(const std::string&)>& report) {
    if (!started_) return;
    for (std::size_t i = 0; i < shards_.size(); ++i) {
        const auto line = watches_[i].report(fmt::format("shard {} (lcore {})", i, lcore(i)), shards_[i]->polls(), now);
        if (line) report(*line);
    }
}

bool Shards::all_poll() const {
    return std::ranges::none_of(watches_, [](const auto& watch) { return watch.standing().has_value(); });
}

std::uint64_t Shards::neighbours_refused() const {
    std::uint64_t sum = 0;
    for (const auto& shard : shards_) sum += shard->neighbours_refused();
    return sum;
}

void Shards::stop() {
    for (std::size_t i = 0; i < shards_.size(); ++i) {
        workers_[i].request_stop();
        links_[i].shard_signal().interrupt();
    }
    for (std::size_t i = 0; i < shards_.size(); ++i) workers_[i].join();
    if (std::exchange(started_, false)) finish();
}

/// The last commands: what the ports have said to their links when they left. The shards are this thread's now.
void Shards::finish() {
    for (std::size_t i = 0; i < shards_.size(); ++i) {
        for (unsigned poll = 0; poll < last_polls; ++poll) shards_[i]->poll(monotonic_now());
        shards_[i]->stop_reading();
    }
}

std::vector<int> Shards::sockets(const Workers& workers) {
    std::vector<int> sockets;
    for (const auto& worker : workers) sockets.push_back(socket_of(worker));
    return sockets;
}

int Shards::socket(std::size_t shard) const {
    return socket_of(workers_[shard]);
}

}  // namespace verbline::gateway
