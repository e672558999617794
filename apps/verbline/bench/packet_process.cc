// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/packet_process.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <random>
#include <tuple>
#include <utility>

#include <rte_cycles.h>
#include <unistd.h>

#include <fmt/format.h>

#include "apps/verbline/bench/environment.h"
#include "apps/verbline/bench/machine.h"
#include "apps/verbline/bench/ports.h"
#include "apps/verbline/bench/progress.h"
#include "apps/verbline/bench/report.h"
#include "apps/verbline/bench/search.h"
#include "apps/verbline/bench/signal_wait.h"
#include "apps/verbline/bench/trial.h"
#include "apps/verbline/instance/eal.h"
#include "datapath/link/flow_hash.h"
#include "pmd/base/clock.h"

namespace verbline::bench {
namespace {

using cli::Failure;
using cli::Outcome;
template <class T>
using Expected = std::expected<T, Failure>;

constexpr Time link_patience = 10 * second;

std::unexpected<Failure> failed(const Error& error) {
    return cli::run_failure("bench packet: " + error.what);
}

/// Random, but the same each time, so that a measurement can be repeated.
link::FrameFlowHash::Key hash_key() {
    std::mt19937 random;  // NOLINT(bugprone-random-generator-seed)
    link::FrameFlowHash::Key key;
    std::ranges::generate(key, [&] { return static_cast<std::uint8_t>(random()); });
    return key;
}

class PacketProcess {
public:
    explicit PacketProcess(const PacketRun& run) : run_(run), plan_(run.plan) {}

    Outcome run() {
        checkup_ = Checkup::of_this_machine();
        for (const auto& step : {&PacketProcess::start_dpdk, &PacketProcess::open_ports, &PacketProcess::await_links,
                                 &PacketProcess::resolve_rate, &PacketProcess::measure}) {
            if (auto good = (this->*step)(); !good) return good;
        }
        print();
        return verdict();
    }

private:
    Outcome start_dpdk() {
        const auto queues = static_cast<unsigned>(plan_.queues * plan_.devices.size());
        auto environment = Environment::start({.command = "bench packet",
                                               .workers = std::min(queues, std::max(1u, cpus())),
                                               .buffer_memory_mb = buffer_memory_mb(plan_),
                                               .arguments = run_.eal_arguments,
                                               .lcores = plan_.lcores});
        if (!environment) return std::unexpected(environment.error());
        environment_ = std::move(*environment);
        return {};
    }
    static unsigned cpus() { return static_cast<unsigned>(cli::this_machine().cpus.size()); }

    Outcome open_ports() {
        for (std::size_t i = 0; i < plan_.devices.size(); ++i) {
            auto port = BenchPort::open(plan_, i, flows_);
            if (!port) return std::unexpected(port.error());
            ports_.push_back(std::move(*port));
        }
        return {};
    }

    Outcome await_links() {
        if (!plan_.sends()) return {};
        const auto until = monotonic_now() + link_patience;
        for (auto& port : ports_) {
            while (!port->device().link_up()) {
                if (monotonic_now() > until || signals_.wait(10 * millisecond))
                    return cli::run_failure(fmt::format("bench packet: {} has no link", port->device().name()));
            }
        }
        return {};
    }

    Outcome resolve_rate() {
        const auto speed = ports_.front()->facts().bits_per_second;
        auto asked = plan_.rate;
        if (!asked && plan_.search != Search::none) asked = LineShare{1};
        if (!asked) return {};
        if (const auto* rate = std::get_if<traffic::Rate>(&*asked)) {
            rate_ = *rate;
        } else if (speed) {
            rate_ = traffic::Rate{traffic::RateUnit::line_bits,
                                  static_cast<double>(*speed) * std::get<LineShare>(*asked).part};
        } else {
            return cli::usage_failure(
                fmt::format("bench packet: {} does not say how fast its line is: give --rate in "
                            "pps or bps",
                            ports_.front()->device().name()));
        }
        return {};
    }

    Outcome measure() {
        if (const auto words = checkup_.summary(); !words.empty()) fmt::print(stderr, "verbline: {}\n", words);
        if (!plan_.sends()) fmt::print(stderr, "verbline: {}: ready\n", ports_.front()->device().name());
        if (plan_.search == Search::none) {
            auto result = trial({.rate = rate_, .frames = plan_.frame_limit, .duration = plan_.duration});
            if (!result) return failed(result.error());
            report_.trials.push_back(std::move(*result));
            return {};
        }
        auto outcome = run_search(plan_, rate_->frames(plan_.sizes.average()),
                                  [this](const TrialSettings& settings) { return trial(settings); });
        if (!outcome) return failed(outcome.error());
        report_.trials = std::move(outcome->trials);
        report_.search = std::move(outcome->found);
        return {};
    }

    Result<std::unique_ptr<TrialResult>> trial(TrialSettings settings) {
        settings.run = ++run_number_;
        Progress progress(plan_, run_.interval);
        return run_trial(
            plan_, ports_, environment_->lcores(), settings,
            {.stop = [this](Time wait) { return signals_.wait(wait); },
             .progress = [&](const Volume& tx, const Volume& rx, Time elapsed) { progress.show(tx, rx, elapsed); }});
    }

    void print() {
        report_.cycles_per_second = static_cast<double>(rte_get_tsc_hz());
        for (const auto& port : ports_) report_.ports.push_back(port->facts());
        report_.machine = machine_facts(checkup_, run_.eal_arguments, environment_->lcores());
        switch (run_.format) {
            case Format::text: fmt::print("{}", to_text(plan_, report_)); break;
            case Format::json: fmt::print("{}", cli::render_json(to_json(plan_, report_))); break;
            case Format::csv: fmt::print("{}", to_csv(plan_, report_)); break;
        }
        std::fflush(stdout);
    }

    /// A soak is to lose, repeat and reorder nothing.
    Outcome verdict() const {
        if (!plan_.soak) return {};
        const auto& last = *report_.trials.back();
        const auto lost = last.lost.value_or(0);
        if (lost + last.order.duplicates + last.order.reordered == 0) return {};
        return cli::run_failure(fmt::format("bench packet: soak: {} lost, {} duplicates, {} reordered", lost,
                                            last.order.duplicates, last.order.reordered));
    }

    const PacketRun& run_;
    const PacketPlan& plan_;
    SignalWait signals_;
    Checkup checkup_;
    std::unique_ptr<Environment> environment_;
    link::FrameFlowHash flows_{hash_key()};
    std::vector<std::unique_ptr<BenchPort>> ports_;  // before DPDK ends
    std::optional<traffic::Rate> rate_;
    // Not a constant: frames of an earlier process may still be under way.
    std::uint8_t run_number_ = static_cast<std::uint8_t>(getpid());
    Report report_;
};

}  // namespace

Outcome run_packet(const PacketRun& run) {
    return PacketProcess(run).run();
}

}  // namespace verbline::bench
