// SPDX-License-Identifier: BSD-3-Clause
#include "control/gateway/shards.h"

#include <atomic>

#include <rte_lcore.h>

#include <fmt/format.h>

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
    const auto seconds = [](Time time) { return static_cast<double>(time) / second; };
    for (std::size_t i = 0; i < shards_.size(); ++i) {
        auto& watch = watches_[i];
        switch (watch.look(shards_[i]->polls(), now)) {
            case StallWatch::Change::none: break;
            case StallWatch::Change::stands_still:
                report(fmt::format("shard {} (lcore {}) has not polled for {:.1f} s: its packets wait, or are lost", i,
                                   lcore(i), seconds(*watch.standing())));
                break;
            case StallWatch::Change::goes_on:
                report(fmt::format("shard {} (lcore {}) polls again, after {:.1f} s", i, lcore(i),
                                   seconds(watch.stood())));
                break;
        }
    }
}

void Shards::stop() {
    started_ = false;
    for (std::size_t i = 0; i < shards_.size(); ++i) {
        workers_[i].request_stop();
        links_[i].shard_signal().interrupt();
    }
    for (std::size_t i = 0; i < shards_.size(); ++i) workers_[i].join();
}

int Shards::socket(std::size_t shard) const {
    return static_cast<int>(rte_lcore_to_socket_id(lcore(shard)));
}

}  // namespace verbline::gateway
