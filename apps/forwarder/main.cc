// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string_view>

#include <rte_mbuf.h>

#include <fmt/format.h>

#include "apps/environment/environment.h"
#include "apps/forwarder/forward.h"
#include "apps/forwarder/options.h"
#include "apps/forwarder/stop_signals.h"

namespace verbline::forwarder {
namespace {

constexpr unsigned packets = 8192;  // receive rings, and two stages of frames that a device has not taken yet

void print(const ForwarderPort& port) {
    const auto line = [&](std::string_view name, std::uint64_t value, std::string_view help) {
        if (value != 0) fmt::print("{:12} {:28} {:12}  {}\n", port.device->name(), name, value, help);
    };
    port.link.counters(line);
    port.device->counters(line);
}

void run(const Options& options) {
    const StopSignals signals;
    const auto environment = must(Environment::start("forwarder", options.eal));
    const std::unique_ptr<rte_mempool, decltype([](rte_mempool* pool) { rte_mempool_free(pool); })> pool(
        rte_pktmbuf_pool_create("packets", packets, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY));
    if (pool == nullptr) throw std::runtime_error("no memory for packets; give DPDK more with `-m MB --`");
    ForwarderPort left(options.left, *pool), right(options.right, *pool);
    fmt::print("{} and {}: ready\n", left.device->name(), right.device->name());
    std::fflush(stdout);
    carry(left, right, [&] { return signals.arrived(); });
    print(left), print(right);
}

int fail(std::string_view why, int status) {
    fmt::print(stderr, "forwarder: {}\n", why);
    return status;
}

}  // namespace
}  // namespace verbline::forwarder

int main(int argc, char** argv) try {
    const auto options = verbline::forwarder::parse_options(argc, argv);
    if (!options) return verbline::forwarder::fail(options.error().what, 2);
    if (const auto& given = *options) verbline::forwarder::run(*given);
} catch (const std::exception& error) {
    return verbline::forwarder::fail(error.what(), 1);
}
