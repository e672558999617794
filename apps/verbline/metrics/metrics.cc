// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/metrics/metrics.h"

#include <cstdio>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "apps/verbline/instance/stop_signals.h"
#include "apps/verbline/metrics/http_server.h"
#include "apps/verbline/metrics/readings.h"

namespace verbline::cli {
namespace {

std::string page() {
    return metrics::exposition(metrics::read_all());
}

class Metrics final : public Command {
public:
    Manual manual() const override {
        return {
            .name = "metrics",
            .summary = "give Prometheus what running instances count",
            .synopsis = "[--listen ADDRESS:PORT]",
            .description =
                {"Prints in Prometheus' text format what every gateway, host, hub, node and program under `verbline "
                 "run` counts that this user may ask, once. With --listen it serves that over HTTP as /metrics until "
                 "it is stopped, and asks anew for each request. It is a process of its own: instances know nothing of "
                 "it, and nothing listens unless it is started.",
                 "Metrics are verbline_up; verbline_port_up; verbline_NAME for each counter of the table counters, "
                 "with the labels name and owner; and verbline_shard_..., verbline_queue_... and "
                 "verbline_path_cache_..., the numbers of these tables of verbline-show(1). They are untyped: some "
                 "counters may go back, such as those of what waits.",
                 "There is no encryption and no password: listen on the loopback address, or where Prometheus alone "
                 "can reach it."},
            .examples = {{"verbline metrics", "print the metrics once, as for a textfile collector"},
                         {"sudo verbline metrics --listen 127.0.0.1:9464", "serve http://127.0.0.1:9464/metrics"}},
            .see_also = {"verbline-show(1)", "prometheus(1)"},
        };
    }

    void declare(CLI::App& app) override {
        app.set_help_flag("-h,--help", "print this help");
        app.add_option("--listen", listen_, "serve over HTTP, such as 127.0.0.1:9464, [::1]:9464, or :9464 for all")
            ->type_name("ADDRESS:PORT");
    }

    Outcome run(const CommandContext& /*context*/) override {
        if (listen_.empty()) {
            fmt::print("{}", page());
            return {};
        }
        const auto endpoint = metrics::parse_endpoint(listen_);
        if (!endpoint) return usage_failure("metrics: --listen: " + endpoint.error().what);
        return serve(*endpoint);
    }

private:
    Outcome serve(const metrics::Endpoint& endpoint) const {
        auto loop = control::Loop::create();
        if (!loop) return run_failure("metrics: " + loop.error().what);
        const auto signals = StopSignals::watch(**loop);
        if (!signals) return run_failure("metrics: " + signals.error().what);
        const auto server = metrics::HttpServer::start(
            endpoint, listen_, {.path = "/metrics", .type = "text/plain; version=0.0.4; charset=utf-8", .body = page});
        if (!server) return run_failure("metrics: " + server.error().what);
        fmt::print(stderr, "verbline: metrics: ready on port {}\n", server->port());
        (*loop)->run();
        return {};
    }

    std::string listen_;
};

}  // namespace

std::unique_ptr<Command> make_metrics() {
    return std::make_unique<Metrics>();
}

}  // namespace verbline::cli
