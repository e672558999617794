// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/rdma/process.h"

#include <atomic>
#include <cstdio>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "apps/verbline/bench/environment.h"
#include "apps/verbline/bench/machine.h"
#include "apps/verbline/bench/rdma/client.h"
#include "apps/verbline/bench/rdma/port.h"
#include "apps/verbline/bench/rdma/report.h"
#include "apps/verbline/bench/rdma/server.h"
#include "apps/verbline/bench/signal_wait.h"
#include "pmd/worker_lcore.h"

namespace verbline::rdma_bench {
namespace {

using cli::Failure;
using cli::Outcome;

constexpr Time look_interval = 10 * millisecond;

std::unexpected<Failure> failed(const Error& error) {
    const auto line = "bench rdma: " + error.what;
    const bool usage = error.code == EINVAL || error.code == EMSGSIZE;
    return usage ? cli::usage_failure(line) : cli::run_failure(line);
}

/// An end, its port and its thread.
struct Running {
    std::unique_ptr<Port> port;
    std::unique_ptr<pmd::WorkerLcore> lcore;
    std::atomic<bool> finished{false};
    Result<void> result;
};

class RdmaProcess {
public:
    explicit RdmaProcess(const RdmaRun& run) : run_(run), plan_(run.plan) {}

    Outcome run() {
        checkup_ = bench::Checkup::of_this_machine();
        for (const auto& step : {&RdmaProcess::start_dpdk, &RdmaProcess::open_ports, &RdmaProcess::start_ends}) {
            if (auto good = (this->*step)(); !good) return good;
        }
        await_ends();
        return verdict();
    }

private:
    bool serves() const { return plan_.role != Role::client; }
    bool measures() const { return plan_.role != Role::server; }

    Outcome start_dpdk() {
        const auto ends = plan_.links.size();
        auto environment = bench::Environment::start({.command = "bench rdma",
                                                      .workers = static_cast<unsigned>(ends),
                                                      .buffer_memory_mb = ends * Port::buffer_memory_mb(),
                                                      .arguments = run_.eal_arguments,
                                                      .lcores = plan_.lcores});
        if (!environment) return std::unexpected(environment.error());
        environment_ = std::move(*environment);
        if (environment_->lcores().size() < ends)
            return cli::usage_failure("bench rdma: --both: two ends need two lcores beside the main one");
        return {};
    }

    Outcome open_ports() {
        if (const auto words = checkup_.summary(); !words.empty()) fmt::print(stderr, "verbline: {}\n", words);
        for (auto* const end : {&client_, &server_}) {
            if (end == &client_ ? !measures() : !serves()) continue;
            const bool second = end == &server_ && plan_.role == Role::both;
            const auto& link = plan_.links[second ? 1 : 0];
            auto port = Port::open({.name = end == &client_ ? "client" : "server",
                                    .link = link,
                                    .addresses = second ? std::vector<link::InterfaceAddress>() : plan_.addresses,
                                    .mtu = plan_.spec.mtu,
                                    .queue_pairs = 2 * most_pairs,
                                    .roce = plan_.roce,
                                    .impair = plan_.impair});
            if (!port) return failed(port.error());
            end->port = std::move(*port);
        }
        return {};
    }

    Outcome start_ends() {
        std::size_t next = 0;
        const auto start = [&](Running& end, auto work) -> Outcome {
            end.lcore = std::make_unique<pmd::WorkerLcore>(environment_->lcores()[next++]);
            auto started = end.lcore->start([&end, work](const std::atomic<bool>& stop) {
                end.result = work(stop);
                end.finished = true;
            });
            return started ? Outcome() : Outcome(failed(started.error()));
        };
        if (measures())
            if (auto good = start(client_, [this](const auto& stop) { return measure(stop); }); !good) return good;
        if (serves()) return start(server_, [this](const auto& stop) { return serve(stop); });
        return {};
    }

    /// Until each end has come to its own; a failure of one, or a signal, stops the other.
    void await_ends() {
        const auto ended = [](const Running& end) { return !end.lcore || end.finished; };
        while (!ended(client_) || !ended(server_)) {
            const bool wrong = (client_.finished && !client_.result) || (server_.finished && !server_.result);
            if (!signals_.wait(look_interval) && !wrong) continue;
            for (auto* const end : {&client_, &server_})
                if (end->lcore) end->lcore->request_stop(), end->lcore->join();
        }
    }

    // On the client's thread.

    Result<void> measure(const std::atomic<bool>& stop) {
        auto plan = plan_;
        if (auto good = fit(plan, client_.port->max_mtu()); !good) return good;
        Client client(*client_.port, plan_.port_number, stop);
        const auto server = plan.server ? *plan.server : server_.port->own_gid();
        if (auto good = client.connect(server, plan.spec); !good) return good;
        print_header();
        for (const auto& round : plan.rounds) {
            auto result = client.run(round);
            if (!result) return std::unexpected(result.error());
            print_row(*result);
            results_.push_back(*result);
        }
        client.bye();
        print_end({.mtu = client.mtu(), .gid_index = client.gid_index(), .infiniband = client_.port->infiniband()});
        return {};
    }

    void print_header() const {
        if (run_.format == Format::text) fmt::print("{}{}", rule(), header_line(plan_));
        if (run_.format == Format::csv) fmt::print("{}", csv_header(plan_));
        std::fflush(stdout);
    }
    void print_row(const RoundResult& result) const {
        if (run_.format == Format::text) fmt::print("{}", row_line(plan_, result));
        if (run_.format == Format::csv) fmt::print("{}", csv_row(plan_, result));
        std::fflush(stdout);
        if (!plan_.spec.one_sided() && result.delivered < result.sent)
            fmt::print(stderr, "verbline: bench rdma: {} of {} messages were lost\n", result.sent - result.delivered,
                       result.sent);
    }
    void print_end(const PathFacts& path) const {
        if (run_.format == Format::text) fmt::print("{}", rule());
        if (run_.format == Format::json)
            fmt::print("{}", cli::render_json(client_json(plan_, path, results_, machine())));
        std::fflush(stdout);
    }

    // On the server's thread.

    Result<void> serve(const std::atomic<bool>& stop) {
        Server server(*server_.port, plan_.port_number, stop);
        if (auto good = server.open(); !good) return good;
        if (plan_.role == Role::server)
            fmt::print(stderr, "verbline: {}: ready for verbline bench rdma LINK {}\n", server_.port->text(),
                       link::address_text(server_.port->address()));
        auto served = server.run();
        if (plan_.role == Role::server && served && server.client()) print_served(server);
        return served;
    }

    void print_served(const Server& server) const {
        const auto rows = served_rows(server.rounds());
        if (run_.format == Format::json) {
            fmt::print("{}", cli::render_json(
                                 {{"client", text(server.client()->path)}, {"served", rows}, {"machine", machine()}}));
        } else {
            fmt::print("{}", cli::render_table(rows));
        }
        std::fflush(stdout);
    }

    cli::Json machine() const { return bench::machine_facts(checkup_, run_.eal_arguments, environment_->lcores()); }

    /// The first cause: an end that was stopped was so for the other's sake.
    Outcome verdict() const {
        for (const auto* const end : {&client_, &server_})
            if (!end->result && end->result.error().code != ECANCELED) return failed(end->result.error());
        for (const auto* const end : {&client_, &server_})
            if (!end->result) return failed(end->result.error());
        return {};
    }

    const RdmaRun& run_;
    const RdmaPlan& plan_;
    bench::SignalWait signals_;
    bench::Checkup checkup_;
    std::unique_ptr<bench::Environment> environment_;
    Running client_, server_;  // before DPDK ends
    std::vector<RoundResult> results_;
};

}  // namespace

Outcome run_rdma(const RdmaRun& run) {
    return RdmaProcess(run).run();
}

}  // namespace verbline::rdma_bench
