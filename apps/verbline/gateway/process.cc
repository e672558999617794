// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/gateway/process.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "apps/verbline/instance/instance_process.h"
#include "apps/verbline/instance/pci_device.h"
#include "control/gateway/gateway.h"
#include "control/gateway/table_limits.h"
#include "pmd/factory/device_spec.h"

namespace verbline::cli {
namespace {

/// The ports' PCI devices, which EAL has to probe.
std::vector<std::string> pci_devices(const GatewayConfig& config) {
    std::vector<std::string> found;
    for (const auto& port : config.ports) {
        for (const auto& text : port.devices) {
            const auto spec = pmd::parse_device_spec(text);
            auto device = spec ? pci_device(*spec) : std::nullopt;
            if (device && std::ranges::find(found, *device) == found.end()) found.push_back(std::move(*device));
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
    const auto created = InstanceProcess::create();
    if (!created) return std::unexpected(created.error());
    auto& process = **created;
    const auto setup = gateway_setup(options);
    gateway::Gateway gateway(process.loop(), setup);
    if (auto opened = outcome(gateway.open_subnets()); !opened) return opened;
    auto started = process.start_dpdk({.name = options.config.name,
                                       .memory_mb = gateway::memory_mb(options.config.limits),
                                       .pci_devices = pci_devices(options.config),
                                       .arguments = options.eal_arguments});
    if (!started) return started;
    if (auto running = outcome(gateway.start(process.workers())); !running) return running;
    process.run();
    return {};
}

}  // namespace verbline::cli
