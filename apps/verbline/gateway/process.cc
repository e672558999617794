// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/gateway/process.h"

#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "apps/verbline/instance/eal.h"
#include "apps/verbline/instance/pci_device.h"
#include "apps/verbline/instance/stop_signals.h"
#include "control/gateway/gateway.h"
#include "control/loop/loop.h"
#include "pmd/factory/device_spec.h"

namespace verbline::cli {
namespace {

/// Those of the ports' devices that the PCI bus must be searched for.
std::vector<std::string> pci_devices(const GatewayConfig& config) {
    std::vector<std::string> found;
    for (const auto& port : config.ports) {
        for (const auto& text : port.devices) {
            const auto spec = pmd::parse_device_spec(text);
            if (auto device = spec ? pci_device(*spec) : std::nullopt) found.push_back(std::move(*device));
        }
    }
    return found;
}

Outcome outcome(gateway::Outcome result) {
    if (result) return {};
    auto& fault = result.error();
    if (!fault.of_config) return run_failure(fault.what);
    return std::unexpected(Failure{Failure::usage, std::move(fault.what)});
}

gateway::Setup gateway_setup(const GatewayOptions& options) {
    return {.config = options.config,
            .capture = options.capture,
            .deliver_all_to_kernel = options.deliver_all_to_kernel,
            .on_ready =
                [name = options.config.name](const std::string& ports) {
                    fmt::print("verbline: {} ({}) ready\n", name, ports);
                    std::fflush(stdout);
                },
            .on_trouble = [](const std::string& line) { fmt::print(stderr, "verbline: {}\n", line); }};
}

}  // namespace

Outcome run_gateway(const GatewayOptions& options) {
    auto loop = control::Loop::create();
    if (!loop) return run_failure(loop.error().what);
    const auto signals = StopSignals::watch(**loop);
    if (!signals) return run_failure(signals.error().what);
    std::optional<Eal> eal;  // outlives the gateway
    const auto setup = gateway_setup(options);
    gateway::Gateway gateway(**loop, setup);
    if (auto opened = outcome(gateway.open_subnets()); !opened) return opened;

    auto started = Eal::start(
        {.name = options.config.name, .pci_devices = pci_devices(options.config), .arguments = options.eal_arguments});
    if (!started) return run_failure(started.error().what);
    eal.emplace(std::move(*started));
    const auto lcore = eal->packet_lcore();
    if (!lcore) return run_failure(lcore.error().what);
    if (auto running = outcome(gateway.start(*lcore)); !running) return running;
    (*loop)->run();
    return {};
}

}  // namespace verbline::cli
