// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <fmt/format.h>

#include "apps/verbline/doctor/checks.h"

namespace verbline::doctor {
namespace {

/// Whether the IOMMU translates for a port that the kernel drives, as all mlx5 ports are.
bool translates(const Port& port, const Iommu& iommu) {
    if (port.driver.empty() || in_user_space(port)) return false;
    return port.iommu_domain ? port.iommu_domain->starts_with("DMA") : !iommu.passthrough;
}

/// The first command in backticks, as preflight writes them.
std::string command_in(std::string_view text) {
    const auto begin = text.find('`');
    const auto end = begin == text.npos ? begin : text.find('`', begin + 1);
    return end == text.npos ? "" : std::string(text.substr(begin + 1, end - begin - 1));
}

}  // namespace

std::string boot_with(const Facts& facts, const std::vector<BootOption>& options) {
    std::string changes, additions;
    for (const auto& [name, value] : options) {
        if (facts.boot_options.contains(std::string(name)))
            changes += fmt::format(R"( -e 's/\b{0}=[^ "]*/{0}={1}/')", name, value);
        else
            additions += fmt::format(" {}={}", name, value);
    }
    std::string command;
    if (!changes.empty()) command = fmt::format("find /etc/default/grub* -type f -exec sed -i{} {{}} + && ", changes);
    if (!additions.empty())
        command += fmt::format(
            R"(mkdir -p /etc/default/grub.d && echo 'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX{}"' >>/etc/default/grub.d/verbline.cfg && )",
            additions);
    return command + "update-grub";
}

Findings check_iommu(const Facts& facts) {
    const auto vfio = std::ranges::find(facts.ports, "vfio-pci", &Port::driver);
    if (!facts.iommu.on && vfio != facts.ports.end()) {
        if (facts.iommu.vfio_without)
            return {{.severity = Severity::note,
                     .subject = "kernel",
                     .found = "the IOMMU is off and vfio works without: a port may write anywhere in memory",
                     .command = boot_with(facts, {{"intel_iommu", "on"}, {"iommu", "pt"}})}};
        return {{.severity = Severity::error,
                 .subject = "kernel",
                 .found = fmt::format("the IOMMU is off, so DPDK cannot open {} by vfio-pci", vfio->address),
                 .command = boot_with(facts, {{"intel_iommu", "on"}, {"iommu", "pt"}})}};
    }
    if (facts.iommu.on &&
        std::ranges::any_of(facts.ports, [&](const Port& port) { return translates(port, facts.iommu); }))
        return {{.severity = Severity::note,
                 .subject = "kernel",
                 .found = "the IOMMU translates every access of the kernel's ports; iommu=pt spares it",
                 .command = boot_with(facts, {{"iommu", "pt"}})}};
    return {};
}

Findings check_vfio(const Facts& facts) {
    const auto needed = [](const Port& port) {
        return !port.is_mlx5() && !in_user_space(port) &&
               std::ranges::none_of(port.interfaces, &Interface::default_route);
    };
    if (facts.vfio_pci || std::ranges::none_of(facts.ports, needed)) return {};
    return {{.severity = Severity::note,
             .subject = "kernel",
             .found = "driver vfio-pci is not loaded, by which DPDK takes ports",
             .command = "modprobe vfio-pci"}};
}

Findings check_programs(const Facts& facts) {
    Findings findings;
    for (const auto& tool : facts.missing_tools)
        findings.push_back(
            {.severity = Severity::note,
             .subject = tool.program,
             .found = fmt::format("{}; not checked: {}", tool.installed ? "does not end in time" : "is not installed",
                                  tool.unknown),
             .command = tool.installed ? "" : "apt-get install " + tool.package});
    for (const auto& error : facts.preflight)
        findings.push_back({.severity = error.permission ? Severity::note : Severity::warning,
                            .subject = error.subject,
                            .found = error.what,
                            .command = command_in(error.what)});
    return findings;
}

}  // namespace verbline::doctor
