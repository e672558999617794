// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/gateway/process.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "apps/verbline/instance/instance_process.h"
#include "apps/verbline/instance/pci_device.h"
#include "control/gateway/gateway.h"
#include "control/gateway/table_limits.h"
#include "control/service/journal.h"
#include "pmd/factory/device_spec.h"

namespace verbline::cli {
namespace {

/// The ports' PCI devices, which EAL has to probe.
std::vector<std::string> pci_devices(const GatewayConfig& config) {
    std::vector<std::string> found;
    for (const auto& port : config.ports) {
        auto devices = port.devices;
        devices.insert(devices.end(), port.backup_devices.begin(), port.backup_devices.end());
        for (const auto& text : devices) {
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

gateway::Setup gateway_setup(const GatewayOptions& options, InstanceProcess& process,
                             const std::function<bool()>& healthy) {
    return {.config = options.config,
            .capture = options.capture,
            .deliver_all_to_kernel = options.deliver_all_to_kernel,
            .on_ready =
                [&process, healthy, name = options.config.name](const std::string& ports) {
                    fmt::print("verbline: {} ({}) ready\n", name, ports);
                    std::fflush(stdout);
                    process.ready(ports, healthy);
                },
            .on_trouble =
                [&process](const std::string& line) {
                    service::say(service::Priority::warning, "verbline: " + line);
                    process.manager().status(line);
                }};
}

/// Reads the file again, and uses it as a whole or not at all.
std::expected<std::string, Failure> read_again(const GatewayOptions& options, gateway::Gateway& gateway) {
    const auto wanted = options.read_again();
    if (!wanted) return std::unexpected(wanted.error());
    auto changed = gateway.reload(*wanted);
    if (changed) return std::move(*changed);
    // A file of options has no lines to name.
    return run_failure((wanted->file.empty() ? options.file + ": " : "") + changed.error().what);
}

}  // namespace

Outcome run_gateway(const GatewayOptions& options) {
    const auto created = InstanceProcess::create();
    if (!created) return std::unexpected(created.error());
    auto& process = **created;
    const gateway::Gateway* running_gateway = nullptr;
    const auto setup = gateway_setup(options, process, [&] { return running_gateway->shards_poll(); });
    gateway::Gateway gateway(process.loop(), setup);
    running_gateway = &gateway;
    process.manager().status("reaching the subnet managers");
    if (auto opened = outcome(gateway.open_subnets()); !opened) return opened;
    auto started = process.start_dpdk({.name = options.config.name,
                                       .memory_mb = gateway::memory_mb(options.config.limits),
                                       .pci_devices = pci_devices(options.config),
                                       .arguments = options.eal_arguments});
    if (!started) return started;
    process.manager().status("waiting for the ports");
    std::vector<std::string> names;
    for (const auto& port : options.config.ports) names.push_back(port.name);
    if (auto running = outcome(gateway.start(process.workers(), process.trace_shards(names))); !running) return running;
    if (!options.file.empty()) {
        process.on_reload([&] {
            if (!gateway.ready())
                return service::say(service::Priority::warning, "verbline: not ready yet: SIGHUP is ignored");
            process.reload(
                options.file, [&] { return read_again(options, gateway); }, [&] { return gateway.ports_text(); });
        });
    }
    process.run();
    return {};
}

}  // namespace verbline::cli
