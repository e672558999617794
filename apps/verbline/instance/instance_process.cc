// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/instance/instance_process.h"

#include <string_view>
#include <utility>

#include <rte_eal.h>

#include <fmt/format.h>

#include "control/service/journal.h"

namespace verbline::cli {

std::expected<std::unique_ptr<InstanceProcess>, Failure> InstanceProcess::create() {
    auto loop = control::Loop::create();
    if (!loop) return run_failure(loop.error().what);
    auto signals = StopSignals::watch(**loop);
    if (!signals) return run_failure(signals.error().what);
    return std::unique_ptr<InstanceProcess>(new InstanceProcess(std::move(*loop), std::move(*signals)));
}

Outcome InstanceProcess::start_dpdk(const EalOptions& options) {
    manager_.status("starting DPDK");
    auto eal = Eal::start(options);
    if (!eal) return run_failure(eal.error().what);
    eal_.emplace(std::move(*eal));
    const auto lcores = eal_->packet_lcores();
    if (!lcores) return run_failure(lcores.error().what);
    for (const auto lcore : *lcores) workers_.emplace_back(lcore);
    return {};
}

std::vector<pmd::TraceRing*> InstanceProcess::trace_shards(const std::vector<std::string>& ports) {
    std::vector<unsigned> lcores;
    for (const auto& worker : workers_) lcores.push_back(worker.lcore());
    traces_.emplace(rte_eal_get_runtime_dir(), lcores, ports,
                    [](const auto& line) { service::say(service::Priority::warning, "verbline: " + line); });
    trace_timer_ = loop_->every(second, [this] { traces_->note_time(); });
    return traces_->rings();
}

void InstanceProcess::run() {
    loop_->run();
    manager_.stopping("leaving the network");
}

void InstanceProcess::ready(std::string_view status, std::function<bool()> healthy) {
    manager_.ready(status);
    const auto period = manager_.alive_period();
    if (!period) return;
    alive_timer_ = loop_->every(*period, [this, healthy = std::move(healthy)] {
        if (healthy()) manager_.alive();
    });
}

void InstanceProcess::on_reload(std::function<void()> reload) {
    signals_.on_reload(std::move(reload));
}

void InstanceProcess::reload(const std::string& file,
                             const std::function<std::expected<std::string, Failure>()>& change,
                             const std::function<std::string()>& status) {
    manager_.reloading(loop_->now());
    if (const auto changed = change()) {
        service::say(service::Priority::notice, fmt::format("verbline: {} was read again: {}", file, *changed));
        manager_.ready(status());
    } else {
        std::string_view why = changed.error().line;
        service::say(service::Priority::error, why);
        if (constexpr std::string_view program = "verbline: "; why.starts_with(program))
            why.remove_prefix(program.size());
        manager_.ready(fmt::format("as before, as the new configuration is refused: {}", why));
    }
}

}  // namespace verbline::cli
