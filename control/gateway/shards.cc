// SPDX-License-Identifier: BSD-3-Clause
#include "control/gateway/shards.h"

#include <atomic>

#include "datapath/router/runner.h"

namespace verbline::gateway {

Shards::Shards(const router::ShardSetup& common, const router::ShardLinks& links, Workers& workers)
    : links_(links), workers_(workers) {
    for (std::size_t i = 0; i < links.size(); ++i) {
        auto setup = common;
        setup.queue = static_cast<std::uint16_t>(i);
        setup.shards = static_cast<std::uint16_t>(links.size());
        setup.commands = &links[i].commands();
        setup.events = &links[i].events();
        setup.wake_control = &links[i].wake();
        setup.wake = &links[i].shard_signal();
        shards_.push_back(std::make_unique<router::Shard>(setup));
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
    return {};
}

void Shards::stop() {
    for (std::size_t i = 0; i < shards_.size(); ++i) {
        workers_[i].request_stop();
        links_[i].shard_signal().interrupt();
    }
    for (std::size_t i = 0; i < shards_.size(); ++i) workers_[i].join();
}

}  // namespace verbline::gateway
