// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The tasks of a trial, made by role, and the lcores that poll them.

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "apps/verbline/bench/trial.h"
#include "datapath/traffic/forwarder.h"
#include "datapath/traffic/generator.h"
#include "datapath/traffic/poller.h"
#include "datapath/traffic/sink.h"

namespace verbline::bench {

/// What one thread does with one queue of a port. Both directions of a queue belong to one thread, as some devices
/// demand (pmd/rss/software_rss.h).
struct QueueTasks {
    std::size_t port = 0;
    std::uint16_t queue = 0;
    std::unique_ptr<traffic::Generator> generator;
    std::unique_ptr<traffic::Sink> sink;
    std::unique_ptr<traffic::Forwarder> forwarder;

    Volume sent() const;
    Volume received() const;
    std::vector<traffic::Task*> tasks() const;
};

/// In the order in which they are given to lcores: all queues of the first port, then those of the second.
std::vector<QueueTasks> make_tasks(const PacketPlan& plan, std::vector<std::unique_ptr<BenchPort>>& ports,
                                   const TrialSettings& settings);

/// One for each lcore that has something to do; queue i is polled by lcore i modulo their number.
std::deque<traffic::Poller> make_pollers(const std::vector<unsigned>& lcores, const std::vector<QueueTasks>& queues);

}  // namespace verbline::bench
