// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string_view>

#include <fmt/format.h>

#include "apps/environment/environment.h"
#include "apps/rdma_ping/ping.h"
#include "apps/rdma_ping/spread.h"

namespace verbline::rdma_ping {
namespace {

void run(const Options& options) {
    const auto environment = must(Environment::start("rdma_ping", options.eal));
    const auto lcores = worker_lcores();
    auto port = must(PingPort::open(options, static_cast<std::uint16_t>(std::max<std::size_t>(1, lcores.size()))));
    const bool server = options.server.empty();
    auto exchange =
        must(server ? Exchange::accept(options.tcp_port) : Exchange::connect(options.server, options.tcp_port));
    must(port.await_link());
    const auto run_both = [server](auto&& ping) {
        ping.connect();
        server ? ping.server() : ping.client();
    };
    if (lcores.empty() && options.qps == 1) {
        run_both(Ping(options, port, exchange));
    } else {
        run_both(Spread(options, port, exchange, lcores));
    }
}

int fail(std::string_view why, int status) {
    fmt::print(stderr, "rdma_ping: {}\n", why);
    return status;
}

}  // namespace
}  // namespace verbline::rdma_ping

int main(int argc, char** argv) try {
    const auto options = verbline::rdma_ping::parse_options(argc, argv);
    if (!options) return verbline::rdma_ping::fail(options.error().what, 2);
    if (const auto& given = *options) verbline::rdma_ping::run(*given);
} catch (const std::exception& error) {
    return verbline::rdma_ping::fail(error.what(), 1);
}
