// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/trial.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "apps/verbline/bench/trial_tasks.h"
#include "datapath/traffic/stamp.h"
#include "pmd/base/clock.h"

namespace verbline::bench {
namespace {

constexpr Time look = 50 * millisecond;   ///< between two looks at a running trial
constexpr Time stragglers = 2 * second;   ///< to wait for after a trial (RFC 2544 23)
constexpr Time quick_look = millisecond;  ///< for the end of a trial of few frames, and for stragglers

using Counts = std::map<std::pair<std::string, std::string>, std::uint64_t>;

/// Whether a counter tells of frames that went nowhere. Names are those of many drivers.
bool tells_of_drops(std::string_view name) {
    constexpr std::array words{"drop",      "lost",          "error",         "err_",       "missed",
                               "nombuf",    "discard",       "out_of_buffer", "_full",      "refused",
                               "other_run", "without_stamp", "no_buffers",    "duplicated", "corrupted"};
    return std::ranges::any_of(words, [=](std::string_view word) { return name.find(word) != name.npos; });
}

Counts drop_counts(const std::vector<std::unique_ptr<BenchPort>>& ports) {
    Counts counts;
    for (const auto& port : ports) {
        port->device().counters([&](std::string_view name, std::uint64_t value, std::string_view) {
            if (tells_of_drops(name)) counts[{port->facts().device, std::string(name)}] += value;
        });
    }
    return counts;
}

class Running {
public:
    Running(const PacketPlan& plan, std::vector<std::unique_ptr<BenchPort>>& ports, const std::vector<unsigned>& lcores,
            const TrialSettings& settings, const TrialEvents& events)
        : plan_(plan),
          ports_(ports),
          settings_(settings),
          events_(events),
          before_(drop_counts(ports)),
          queues_(make_tasks(plan, ports, settings)),
          pollers_(make_pollers(lcores, queues_)) {}

    Result<std::unique_ptr<TrialResult>> run() {
        keep_ports();
        begin_ = monotonic_now();
        for (auto& poller : pollers_) {
            if (auto started = poller.start(); !started) return std::unexpected(started.error());
        }
        auto result = std::make_unique<TrialResult>();
        result->interrupted = send();
        result->elapsed = monotonic_now() - begin_;
        for (auto& queue : queues_) {
            if (queue.generator) queue.generator->stop();
        }
        await_stragglers();
        for (auto& poller : pollers_) poller.request_stop();
        for (auto& poller : pollers_) poller.join();
        collect(*result);
        return result;
    }

private:
    Volume sent() const {
        Volume sum;
        for (const auto& queue : queues_) sum += queue.sent();
        return sum;
    }
    Volume received() const {
        Volume sum;
        for (const auto& queue : queues_) sum += queue.received();
        return sum;
    }
    bool all_sent() const {
        return plan_.sends() && std::ranges::all_of(queues_, [](const auto& queue) {
                   return !queue.generator || queue.generator->done();
               });
    }

    /// Until the time is over or all frames are sent. True: a signal came.
    bool send() {
        const bool few = settings_.frames != std::numeric_limits<std::uint64_t>::max();
        while (!all_sent()) {
            const auto elapsed = monotonic_now() - begin_;
            if (settings_.duration && elapsed >= *settings_.duration) return false;
            auto wait = few ? quick_look : look;
            if (settings_.duration) wait = std::min(wait, *settings_.duration - elapsed);
            if (events_.stop(wait)) return true;
            keep_ports();
            if (events_.progress) events_.progress(sent(), received(), elapsed);
        }
        return false;
    }

    /// Devices that reconnect do so in this call. Clocks of devices drift.
    void keep_ports() {
        for (auto& port : ports_) {
            std::ignore = port->device().link_up();
            if (auto* clock = port->clock()) clock->follow(monotonic_now());
        }
    }

    /// Nothing more comes once all has come.
    void await_stragglers() {
        if (plan_.role != Role::loopback) return;
        const auto until = monotonic_now() + stragglers;
        while (received().packets < sent().packets && monotonic_now() < until) {
            if (events_.stop(quick_look)) return;
            keep_ports();
        }
    }

    void collect(TrialResult& result) const {
        result.asked = settings_.rate;
        result.tx = sent();
        result.rx = received();
        for (std::size_t i = 0; i < queues_.size(); ++i) collect_queue(i, result);
        for (const auto& poller : pollers_) {
            LcoreResult lcore{.lcore = poller.lcore(),
                              .busy_cycles = poller.counters().busy_cycles.value(),
                              .idle_cycles = poller.counters().idle_cycles.value()};
            for (const auto& queue : result.queues) {
                if (queue.lcore == lcore.lcore) lcore.packets += queue.rx.packets + (forwards() ? 0 : queue.tx.packets);
            }
            result.lcores.push_back(lcore);
        }
        for (const auto& port : ports_)
            if (const auto* clock = port->clock()) result.clocks.push_back(clock->facts());
        collect_order(result);
        collect_drops(result);
    }
    bool forwards() const { return plan_.role == Role::forwarder; }

    void collect_queue(std::size_t index, TrialResult& result) const {
        const auto& queue = queues_[index];
        result.queues.push_back({.port = queue.port,
                                 .queue = queue.queue,
                                 .lcore = pollers_[index % pollers_.size()].lcore(),
                                 .tx = queue.sent(),
                                 .rx = queue.received()});
        if (queue.sink) {
            result.latency += queue.sink->latency();
            result.undated += queue.sink->counters().rx_undated.value();
            result.misdated += queue.sink->counters().rx_misdated.value();
        }
        if (queue.forwarder) result.tx.packets += queue.forwarder->counters().tx_packets.value();
        if (queue.forwarder) result.queues.back().tx.packets = queue.forwarder->counters().tx_packets.value();
    }

    void collect_order(TrialResult& result) const {
        if (!plan_.receives()) return;
        std::uint64_t missing = 0;
        for (std::size_t stream = 0; stream < traffic::Stamp::max_streams; ++stream) {
            traffic::StreamTotals totals;
            for (const auto& queue : queues_) {
                if (queue.sink) totals += queue.sink->stream(static_cast<std::uint8_t>(stream));
            }
            missing += totals.missing();
            result.order.received += totals.received;
            result.order.duplicates += totals.duplicates;
            result.order.reordered += totals.reordered;
        }
        result.lost = plan_.role == Role::loopback
                          ? result.tx.packets - std::min(result.order.received, result.tx.packets)
                          : missing;
    }

    void collect_drops(TrialResult& result) const {
        for (const auto& [key, count] : drop_counts(ports_)) {
            const auto before = before_.find(key);
            const auto rise = count - (before == before_.end() ? 0 : before->second);
            if (rise > 0) result.drops.push_back({key.first, key.second, rise});
        }
        for (const auto& queue : queues_) {
            const auto visit = [&](std::string_view name, std::uint64_t value, std::string_view) {
                if (value == 0 || !tells_of_drops(name)) return;
                result.drops.push_back({ports_[queue.port]->facts().device + " queue " + std::to_string(queue.queue),
                                        std::string(name), value});
            };
            if (queue.generator) queue.generator->counters().each(visit);
            if (queue.sink) queue.sink->counters().each(visit);
            if (queue.forwarder) queue.forwarder->counters().each(visit);
        }
    }

    const PacketPlan& plan_;
    std::vector<std::unique_ptr<BenchPort>>& ports_;
    const TrialSettings& settings_;
    const TrialEvents& events_;
    Counts before_;
    std::vector<QueueTasks> queues_;
    std::deque<traffic::Poller> pollers_;  // last: they end before what they poll
    Time begin_ = 0;
};

}  // namespace

Result<std::unique_ptr<TrialResult>> run_trial(const PacketPlan& plan, std::vector<std::unique_ptr<BenchPort>>& ports,
                                               const std::vector<unsigned>& lcores, const TrialSettings& settings,
                                               const TrialEvents& events) {
    return Running(plan, ports, lcores, settings, events).run();
}

}  // namespace verbline::bench
