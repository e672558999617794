// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/packet_process.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <random>
#include <span>
#include <tuple>
#include <utility>

#include <rte_cycles.h>
#include <unistd.h>

#include <fmt/format.h>

#include "apps/verbline/bench/environment.h"
#include "apps/verbline/bench/machine.h"
#include "apps/verbline/bench/ports.h"
#include "apps/verbline/bench/progress.h"
#include "apps/verbline/bench/rates.h"
#include "apps/verbline/bench/report.h"
#include "apps/verbline/bench/run_table.h"
#include "apps/verbline/bench/search.h"
#include "apps/verbline/bench/signal_wait.h"
#include "apps/verbline/bench/trial.h"
#include "apps/verbline/instance/eal.h"
#include "datapath/link/flow_hash.h"
#include "datapath/traffic/generator.h"
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
    /// Ports are opened for the run of the largest frames; in all else that ports need, runs are the same.
    explicit PacketProcess(const PacketRun& run)
        : run_(run), plan_(std::ranges::max_element(run.runs, {}, [](const PlannedRun& one) {
                               return one.plan.sizes.largest();
                           })->plan) {}

    Outcome run() {
        checkup_ = Checkup::of_this_machine();
        for (const auto& step : {&PacketProcess::start_dpdk, &PacketProcess::open_ports, &PacketProcess::await_links,
                                 &PacketProcess::resolve_rates, &PacketProcess::measure}) {
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
        for (const auto& port : ports_)
            if (const auto note = rule_note(port->facts()); !note.empty()) fmt::print(stderr, "verbline: {}\n", note);
        return {};
    }

    Outcome await_links() {
        if (!plan_.sends()) return {};
        const auto until = monotonic_now() + link_patience;
        // All are asked each time: two of them may be the ends of one link, which they set up in this call.
        for (;;) {
            const BenchPort* without = nullptr;
            for (auto& port : ports_)
                if (!port->device().link_up()) without = port.get();
            if (without == nullptr) return {};
            if (monotonic_now() > until || signals_.wait(10 * millisecond))
                return cli::run_failure(fmt::format("bench packet: {} has no link", without->facts().device));
        }
    }

    Outcome resolve_rates() {
        auto rates = bench::resolve_rates(run_.runs, *ports_.front());
        if (!rates) return std::unexpected(rates.error());
        rates_ = std::move(*rates);
        return {};
    }

    Outcome measure() {
        if (const auto words = checkup_.summary(); !words.empty()) fmt::print(stderr, "verbline: {}\n", words);
        if (!plan_.sends()) fmt::print(stderr, "verbline: {}: ready\n", ports_.front()->device().name());
        for (std::size_t i = 0; i < run_.runs.size(); ++i) {
            if (run_.runs.size() > 1)
                fmt::print(stderr, "verbline: run {} of {}: {}, size {}\n", i + 1, run_.runs.size(), run_.runs[i].name,
                           run_.runs[i].size);
            auto report = measure(run_.runs[i].plan, rates_[i]);
            if (!report) return failed(report.error());
            reports_.push_back(std::move(*report));
            if (reports_.back().trials.back()->interrupted) break;
        }
        return {};
    }

    Result<Report> measure(const PacketPlan& plan, const std::optional<traffic::Rate>& rate) {
        Report report;
        if (plan.sends() && !reports_.empty())
            for (auto& port : ports_) traffic::clear_frames(port->frames());
        if (plan.search == Search::none) {
            auto result = trial(plan, {.rate = rate, .frames = plan.frame_limit, .duration = plan.duration});
            if (!result) return std::unexpected(result.error());
            report.trials.push_back(std::move(*result));
            return report;
        }
        auto outcome = run_search(plan, rate->frames(plan.sizes.average()),
                                  [&](const TrialSettings& settings) { return trial(plan, settings); });
        if (!outcome) return std::unexpected(outcome.error());
        report.trials = std::move(outcome->trials);
        report.search = std::move(outcome->found);
        return report;
    }

    Result<std::unique_ptr<TrialResult>> trial(const PacketPlan& plan, TrialSettings settings) {
        settings.run = ++run_number_;
        Progress progress(plan, run_.interval);
        return run_trial(
            plan, ports_, environment_->lcores(), settings,
            {.stop = [this](Time wait) { return signals_.wait(wait); },
             .progress = [&](const Volume& tx, const Volume& rx, Time elapsed) { progress.show(tx, rx, elapsed); }});
    }

    void print() {
        std::vector<RunReport> done;
        for (std::size_t i = 0; i < reports_.size(); ++i) {
            auto& report = reports_[i];
            report.cycles_per_second = static_cast<double>(rte_get_tsc_hz());
            for (const auto& port : ports_) report.ports.push_back(port->facts());
            report.machine = machine_facts(checkup_, run_.eal_arguments, environment_->lcores());
            done.push_back({&run_.runs[i], &report});
        }
        fmt::print("{}", run_.profile ? text_of(*run_.profile, done) : text_of(plan_, reports_.front()));
        std::fflush(stdout);
    }

    std::string text_of(const PacketPlan& plan, const Report& report) const {
        switch (run_.format) {
            case Format::text: return to_text(plan, report);
            case Format::json: return cli::render_json(to_json(plan, report));
            case Format::csv: return to_csv(plan, report);
        }
        return "";
    }
    std::string text_of(const Profile& profile, std::span<const RunReport> done) const {
        switch (run_.format) {
            case Format::text: return runs_to_text(profile, done);
            case Format::json: return cli::render_json(runs_to_json(profile, done));
            case Format::csv: return runs_to_csv(done);
        }
        return "";
    }

    Outcome verdict() const {
        for (std::size_t i = 0; i < reports_.size(); ++i)
            if (auto good = verdict(run_.runs[i].plan, *reports_[i].trials.back()); !good) return good;
        return {};
    }
    /// A soak is to lose, repeat and reorder nothing.
    static Outcome verdict(const PacketPlan& plan, const TrialResult& last) {
        if (!plan.soak) return {};
        const auto lost = last.lost.value_or(0);
        if (lost + last.order.duplicates + last.order.reordered == 0) return {};
        return cli::run_failure(fmt::format("bench packet: soak: {} lost, {} duplicates, {} reordered", lost,
                                            last.order.duplicates, last.order.reordered));
    }

    const PacketRun& run_;
    const PacketPlan& plan_;  // of the largest frames
    SignalWait signals_;
    Checkup checkup_;
    std::unique_ptr<Environment> environment_;
    link::FrameFlowHash flows_{hash_key()};
    std::vector<std::unique_ptr<BenchPort>> ports_;    // before DPDK ends
    std::vector<std::optional<traffic::Rate>> rates_;  // of each run
    // Not a constant: frames of an earlier process may still be under way.
    std::uint8_t run_number_ = static_cast<std::uint8_t>(getpid());
    std::vector<Report> reports_;  // of the runs so far
};

}  // namespace

Outcome run_packet(const PacketRun& run) {
    return PacketProcess(run).run();
}

}  // namespace verbline::bench
