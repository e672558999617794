// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <fmt/format.h>

#include "apps/verbline/doctor/checks.h"
#include "apps/verbline/doctor/cpu_list.h"

namespace verbline::doctor {
namespace {

constexpr unsigned wanted_read_request = 1024;

Findings check_pci_link(const Port& port) {
    const auto& link = port.link;
    const bool slow = link.gigatransfers && link.max_gigatransfers && *link.gigatransfers < *link.max_gigatransfers;
    const bool narrow = link.width && link.max_width && *link.width < *link.max_width;
    if (!slow && !narrow) return {};
    std::string what;
    if (slow) what += fmt::format("{} of {} GT/s", *link.gigatransfers, *link.max_gigatransfers);
    if (narrow) what += fmt::format("{}{} of {} lanes", slow ? " and " : "", *link.width, *link.max_width);
    return {{.severity = Severity::warning,
             .subject = port.address,
             .found = fmt::format("PCIe runs at {}: try another slot or BIOS setting", what),
             .command = fmt::format("lspci -vv -s {} | grep -e LnkCap: -e LnkSta:", port.address)}};
}

/// setpci's word 8 of the PCI Express capability is Device Control; bits 14 to 12 are 3 for 1024 bytes.
Findings check_read_request(const Port& port) {
    if (!port.is_mlx5() || port.virtual_function) return {};  // a virtual function has that of its physical one
    if (!port.max_read_request || *port.max_read_request >= wanted_read_request) return {};
    return {{.severity = Severity::warning,
             .subject = port.address,
             .found = fmt::format("PCIe read requests (MaxReadReq) are {} bytes, not {}", *port.max_read_request,
                                  wanted_read_request),
             .command = fmt::format("setpci -s {} CAP_EXP+8.w=3000:7000", port.address)}};
}

CpuSet cpus_of_node(const Processor& processor, std::int64_t node) {
    CpuSet cpus;
    for (const auto& cpu : processor.cpus)
        if (cpu.node == node) cpus.insert(cpu.number);
    return cpus;
}

Findings check_node(const Facts& facts, const Port& port) {
    if (facts.memory.nodes.size() < 2 || !port.node) return {};
    if (*port.node < 0)
        return {{.severity = Severity::note,
                 .subject = port.address,
                 .found = "the firmware does not say on which NUMA node it is",
                 .command = fmt::format("cat /sys/bus/pci/devices/{}/local_cpulist", port.address)}};
    const bool isolated = !facts.processor.isolated.empty();
    const auto& usable = isolated ? facts.processor.isolated : facts.processor.allowed;
    const auto near = cpus_of_node(facts.processor, *port.node);
    if (near.empty() || usable.empty() || without(near, usable).size() < near.size()) return {};
    return {{.severity = Severity::warning,
             .subject = port.address,
             .found = fmt::format("is on NUMA node {}, where no CPU is {}", *port.node,
                                  isolated ? "isolated" : "allowed to this process"),
             .command = isolated ? boot_with(facts, isolating(cpus_to_isolate(facts.processor, *port.node)))
                                 : fmt::format("taskset -cp {} $$", to_string(near))}};
}

}  // namespace

Findings check_pci(const Facts& facts, const Port& port) {
    auto findings = check_pci_link(port);
    std::ranges::move(check_read_request(port), std::back_inserter(findings));
    std::ranges::move(check_node(facts, port), std::back_inserter(findings));
    return findings;
}

}  // namespace verbline::doctor
