// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What the processes of `gateway`, `host` and `hub` have in common.
///
///     create ──> start_dpdk ──> run: the control loop, until SIGINT or SIGTERM
///                     └──> workers: the lcores that poll
///
/// A service manager that started the process (systemd) is told of all this, and watches it once it is ready.

#include <deque>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/verbline/command_line/command.h"
#include "apps/verbline/instance/eal.h"
#include "apps/verbline/instance/shard_traces.h"
#include "apps/verbline/instance/stop_signals.h"
#include "control/loop/loop.h"
#include "control/service/service_manager.h"
#include "pmd/worker_lcore.h"

namespace verbline::cli {

/// Outlives everything that uses DPDK or the loop.
class InstanceProcess {
public:
    /// Makes the loop, which SIGINT and SIGTERM stop from now on. Call before any other thread exists.
    static std::expected<std::unique_ptr<InstanceProcess>, Failure> create();
    InstanceProcess(const InstanceProcess&) = delete;
    InstanceProcess& operator=(const InstanceProcess&) = delete;

    control::Loop& loop() { return *loop_; }
    /// Takes the instance's name and starts DPDK, once.
    Outcome start_dpdk(const EalOptions& options);
    /// After start_dpdk: one at least.
    std::deque<pmd::WorkerLcore>& workers() { return workers_; }
    /// After start_dpdk: where the shards of the workers record what they do, by shard; null for one that cannot. The
    /// rings lie until the process ends. `ports`: their names, by the numbers that shards know them by.
    std::vector<pmd::TraceRing*> trace_shards(const std::vector<std::string>& ports);
    /// Runs the loop until SIGINT or SIGTERM.
    void run();

    service::ServiceManager& manager() { return manager_; }
    /// The process does what it is for. From now on the manager hears that it is alive as long as `healthy` says so.
    void ready(std::string_view status, std::function<bool()> healthy);
    /// `reload` is called when a process sends SIGHUP.
    void on_reload(std::function<void()> reload);
    /// Then: `change` reads `file` again and uses it, and returns what has changed, in words, or why nothing has. That
    /// is said on standard error and to the manager, for whom the process is ready again, with `status`.
    void reload(const std::string& file, const std::function<std::expected<std::string, Failure>()>& change,
                const std::function<std::string()>& status);

private:
    InstanceProcess(std::unique_ptr<control::Loop> loop, StopSignals signals)
        : loop_(std::move(loop)), signals_(std::move(signals)) {}

    std::unique_ptr<control::Loop> loop_;
    StopSignals signals_;
    service::ServiceManager manager_ = service::ServiceManager::from_environment();
    control::Timer alive_timer_;
    std::optional<Eal> eal_;
    std::optional<ShardTraces> traces_;
    control::Timer trace_timer_;
    std::deque<pmd::WorkerLcore> workers_;
};

}  // namespace verbline::cli
