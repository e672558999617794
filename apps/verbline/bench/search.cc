// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/search.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "datapath/traffic/throughput_search.h"

namespace verbline::bench {
namespace {

traffic::Trial trial_of(const TrialResult& result) {
    return {.offered = result.tx_rate(), .sent = result.tx.packets, .received = result.order.received};
}

traffic::Rate frames_per_second(double rate) {
    return {traffic::RateUnit::frames, rate};
}

/// One trial more, whose result is kept. False: a signal came.
Result<bool> add(SearchOutcome& outcome, const RunTrial& run, const TrialSettings& settings) {
    auto result = run(settings);
    if (!result) return std::unexpected(result.error());
    outcome.trials.push_back(std::move(*result));
    return !outcome.trials.back()->interrupted;
}

/// Drives a search whose trials differ in their rate.
Result<void> drive(SearchOutcome& outcome, const PacketPlan& plan, const RunTrial& run, auto& search) {
    while (const auto rate = search.next()) {
        const auto go_on = add(outcome, run, {.rate = frames_per_second(*rate), .duration = plan.trial});
        if (!go_on) return std::unexpected(go_on.error());
        if (!*go_on) return {};
        search.report(trial_of(*outcome.trials.back()));
    }
    return {};
}

/// 26.1, and one more trial at the rate found: its latency is that of 26.2.
Result<void> throughput(SearchOutcome& outcome, const PacketPlan& plan, double max_rate, const RunTrial& run) {
    traffic::ThroughputSearch search(
        {.max_rate = max_rate, .resolution = plan.resolution, .accepted_loss = plan.accepted_loss});
    if (auto driven = drive(outcome, plan, run, search); !driven) return driven;
    const auto found = search.throughput();
    outcome.found = {{"test", "throughput (26.1)"},
                     {"throughput_mpps", found / 1e6},
                     {"percent_of_highest", std::round(1e4 * found / max_rate) / 100},
                     {"trials", search.trials()},
                     {"limited_by_generator", search.generator_limited()}};
    if (found < 1 || outcome.trials.back()->interrupted) return {};
    const auto last = add(outcome, run, {.rate = frames_per_second(found), .duration = plan.trial});
    return last ? Result<void>() : std::unexpected(last.error());
}

Result<void> loss(SearchOutcome& outcome, const PacketPlan& plan, double max_rate, const RunTrial& run) {
    traffic::LossSeries series(max_rate);
    if (auto driven = drive(outcome, plan, run, series); !driven) return driven;
    outcome.found = {{"test", "frame loss rate (26.3)"}, {"trials", outcome.trials.size()}};
    for (const auto& trial : outcome.trials) {
        const auto asked = std::lround(100 * trial->asked->per_second / max_rate);
        outcome.found["loss_percent_at_" + std::to_string(asked)] = 100 * trial_of(*trial).loss();
    }
    return {};
}

Result<void> back_to_back(SearchOutcome& outcome, const PacketPlan& plan, double max_rate, const RunTrial& run) {
    const auto longest = std::max(1., max_rate * static_cast<double>(plan.trial) / second);
    traffic::BurstSearch search(static_cast<std::uint64_t>(longest));
    while (const auto frames = search.next()) {
        const auto go_on = add(outcome, run, {.rate = frames_per_second(max_rate), .frames = *frames});
        if (!go_on) return std::unexpected(go_on.error());
        if (!*go_on) break;
        search.report(trial_of(*outcome.trials.back()));
    }
    outcome.found = {
        {"test", "back-to-back frames (26.4)"}, {"longest_burst", search.longest()}, {"trials", outcome.trials.size()}};
    return {};
}

}  // namespace

Result<SearchOutcome> run_search(const PacketPlan& plan, double max_rate, const RunTrial& run) {
    SearchOutcome outcome;
    const auto test = plan.search == Search::throughput ? throughput
                      : plan.search == Search::loss     ? loss
                                                        : back_to_back;
    if (auto done = test(outcome, plan, max_rate, run); !done) return std::unexpected(done.error());
    return outcome;
}

}  // namespace verbline::bench
