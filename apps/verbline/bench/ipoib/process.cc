// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/ipoib/process.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <tuple>
#include <utility>

#include <rte_cycles.h>

#include <fmt/format.h>

#include "apps/verbline/bench/environment.h"
#include "apps/verbline/bench/ipoib/report.h"
#include "apps/verbline/bench/ipoib/rounds.h"
#include "apps/verbline/bench/machine.h"
#include "apps/verbline/bench/progress_line.h"
#include "apps/verbline/bench/signal_wait.h"
#include "pmd/base/clock.h"
#include "pmd/worker_lcore.h"

namespace verbline::ipoib_bench {
namespace {

using cli::Outcome;

constexpr Time look_interval = 20 * millisecond;
constexpr Time link_patience = 10 * second;

std::unexpected<cli::Failure> failed(const Error& error) {
    const auto line = "bench ipoib: " + error.what;
    return error.code == EINVAL ? cli::usage_failure(line) : cli::run_failure(line);
}

class IpoibProcess {
public:
    explicit IpoibProcess(const IpoibRun& run) : run_(run), plan_(run.plan) {}

    Outcome run() {
        checkup_ = bench::Checkup::of_this_machine();
        for (const auto& step : {&IpoibProcess::start_dpdk, &IpoibProcess::open_ports, &IpoibProcess::await_links,
                                 &IpoibProcess::measure}) {
            if (auto good = (this->*step)(); !good) return good;
        }
        print();
        return verdict();
    }

private:
    Outcome start_dpdk() {
        auto environment = bench::Environment::start({.command = "bench ipoib",
                                                      .workers = 1,
                                                      .buffer_memory_mb = Ports::buffer_memory_mb(plan_),
                                                      .arguments = run_.eal_arguments,
                                                      .lcores = plan_.lcores});
        if (!environment) return std::unexpected(environment.error());
        environment_ = std::move(*environment);
        return {};
    }

    Outcome open_ports() {
        auto ports = Ports::open(plan_);
        if (!ports) return failed(ports.error());
        ports_ = std::move(*ports);
        if (const auto words = checkup_.summary(); !words.empty()) fmt::print(stderr, "verbline: {}\n", words);
        return {};
    }

    Outcome await_links() {
        const auto until = monotonic_now() + link_patience;
        while (const auto* const without = ports_->without_link()) {
            if (monotonic_now() > until || signals_.wait(look_interval))
                return cli::run_failure(fmt::format("bench ipoib: {} has no link; connect it", *without));
        }
        return {};
    }

    Outcome measure() {
        rounds_ = std::make_unique<Rounds>(plan_, *ports_);
        Result<void> result;
        std::atomic<bool> finished{false};
        pmd::WorkerLcore worker(environment_->lcores().front());
        auto started = worker.start([&](const std::atomic<bool>& stop) {
            result = rounds_->run(stop);
            finished = true;
        });
        if (!started) return failed(started.error());
        bench::ProgressLine progress(run_.interval);
        const auto begin = monotonic_now();
        while (!finished) {
            if (signals_.wait(look_interval)) break;
            std::ignore = ports_->without_link();  // devices that reconnect do so in this call
            progress.show(monotonic_now() - begin, [this](Time) { return progress_text(); });
        }
        worker.request_stop();
        worker.join();
        return result ? Outcome() : Outcome(failed(result.error()));
    }

    std::string progress_text() const { return fmt::format("{} of {} measurements", rounds_->done(), rounds_->all()); }

    void print() const {
        const auto& results = rounds_->results();
        const Report report{.ports = ports_->facts(),
                            .machine = bench::machine_facts(checkup_, run_.eal_arguments, environment_->lcores()),
                            .cycles_per_second = static_cast<double>(rte_get_tsc_hz())};
        switch (run_.format) {
            case Format::text: fmt::print("{}", to_text(plan_, results, report)); break;
            case Format::json: fmt::print("{}", cli::render_json(to_json(plan_, results, report))); break;
            case Format::csv: fmt::print("{}", to_csv(plan_, results, report)); break;
        }
        std::fflush(stdout);
    }

    Outcome verdict() const {
        const auto counts = rounds_->results().counts();
        if (counts.received == counts.sent && counts.damaged == 0) return {};
        return cli::run_failure(
            fmt::format("bench ipoib: of {} packets {} arrived, {} of them damaged; do not trust "
                        "the figures",
                        counts.sent, counts.received, counts.damaged));
    }

    const IpoibRun& run_;
    const IpoibPlan& plan_;
    bench::SignalWait signals_;
    bench::Checkup checkup_;
    std::unique_ptr<bench::Environment> environment_;
    std::unique_ptr<Ports> ports_;    // before DPDK ends
    std::unique_ptr<Rounds> rounds_;  // before its ports
};

}  // namespace

Outcome run_ipoib(const IpoibRun& run) {
    return IpoibProcess(run).run();
}

}  // namespace verbline::ipoib_bench
