// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/trial_tasks.h"

#include <algorithm>

namespace verbline::bench {
namespace {

traffic::GeneratorSettings generator_settings(const PacketPlan& plan, const TrialSettings& settings, std::size_t port,
                                              std::uint16_t queue) {
    // Numbered through both directions, as streams are.
    const auto number = port * plan.queues + queue, generators = std::size_t{plan.directions()} * plan.queues;
    traffic::GeneratorSettings made{.flows = traffic::FlowSlice::of(plan.flows, queue, plan.queues),
                                    .run = settings.run,
                                    .stream = static_cast<std::uint8_t>(number),
                                    .burst = plan.burst,
                                    .catch_up = plan.catch_up};
    if (settings.rate) made.rate = *settings.rate * (1. / static_cast<double>(generators));
    constexpr auto unlimited = std::numeric_limits<std::uint64_t>::max();
    // Parts of all frames, of which the first queues have one more if they are not even.
    if (settings.frames != unlimited)
        made.frames = settings.frames / generators + (number < settings.frames % generators ? 1 : 0);
    return made;
}

}  // namespace

Volume QueueTasks::sent() const {
    if (generator) return {generator->counters().tx_packets.value(), generator->counters().tx_bytes.value()};
    return {};
}

Volume QueueTasks::received() const {
    if (sink) return {sink->counters().rx_packets.value(), sink->counters().rx_bytes.value()};
    if (forwarder) return {forwarder->counters().rx_packets.value(), forwarder->counters().rx_bytes.value()};
    return {};
}

std::vector<traffic::Task*> QueueTasks::tasks() const {
    std::vector<traffic::Task*> all;
    for (traffic::Task* task : {static_cast<traffic::Task*>(generator.get()), static_cast<traffic::Task*>(sink.get()),
                                static_cast<traffic::Task*>(forwarder.get())}) {
        if (task != nullptr) all.push_back(task);
    }
    return all;
}

std::vector<QueueTasks> make_tasks(const PacketPlan& plan, std::vector<std::unique_ptr<BenchPort>>& ports,
                                   const TrialSettings& settings) {
    std::vector<QueueTasks> all;
    for (std::size_t port = 0; port < ports.size(); ++port) {
        auto& device = ports[port]->device();
        for (std::uint16_t queue = 0; queue < plan.queues; ++queue) {
            QueueTasks made{.port = port, .queue = queue};
            if (plan.role == Role::forwarder)
                made.forwarder = std::make_unique<traffic::Forwarder>(
                    device, ports[(port + 1) % ports.size()]->device(), queue, plan.rewrite, plan.burst);
            if (plan.sends() && (port == 0 || plan.bidirectional))
                made.generator = std::make_unique<traffic::Generator>(device, queue, ports[port]->frames(), plan.frames,
                                                                      generator_settings(plan, settings, port, queue));
            if (plan.receives_by(port)) {
                const bool loop = plan.role == Role::loopback;
                traffic::SinkSettings sink{.latency = loop};
                if (loop) sink.run = settings.run;
                if (const auto* clock = ports[port]->clock()) sink.arrivals = clock->arrivals();
                made.sink = std::make_unique<traffic::Sink>(device, queue, sink);
            }
            all.push_back(std::move(made));
        }
    }
    return all;
}

std::deque<traffic::Poller> make_pollers(const std::vector<unsigned>& lcores, const std::vector<QueueTasks>& queues) {
    std::deque<traffic::Poller> pollers;
    for (std::size_t i = 0; i < std::min(lcores.size(), queues.size()); ++i) pollers.emplace_back(lcores[i]);
    for (std::size_t i = 0; i < queues.size(); ++i) {
        for (auto* task : queues[i].tasks()) pollers[i % pollers.size()].add(*task);
    }
    return pollers;
}

}  // namespace verbline::bench
