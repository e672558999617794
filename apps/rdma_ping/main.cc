// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <exception>
#include <string_view>

#include <fmt/format.h>

#include "apps/environment/environment.h"
#include "apps/rdma_ping/ping.h"

namespace verbline::rdma_ping {
namespace {

void run(const Options& options) {
    const auto environment = must(Environment::start("rdma_ping", options.eal));
    auto port = must(PingPort::open(options));
    const bool server = options.server.empty();
    auto exchange =
        must(server ? Exchange::accept(options.tcp_port) : Exchange::connect(options.server, options.tcp_port));
    must(port.await_link());
    Ping ping(options, port, exchange);
    ping.connect();
    server ? ping.server() : ping.client();
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
