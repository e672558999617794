// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <iterator>

#include "apps/verbline/doctor/checks.h"

namespace verbline::doctor {
namespace {

constexpr std::array of_machine{check_frequency,   check_idle_states, check_isolation, check_clock,   check_hugepages,
                                check_memory_lock, check_iommu,       check_vfio,      check_programs};

Findings check_all_of(const Facts& facts, const Port& port) {
    Findings findings;
    for (auto&& part : {check_driver(port), check_pci(facts, port), check_roce(port), check_interfaces(port)})
        std::ranges::copy(part, std::back_inserter(findings));
    if (std::ranges::none_of(findings, [](const Finding& one) { return one.severity > Severity::note; }))
        findings.push_back({.severity = Severity::ok, .subject = port.address, .found = description(port)});
    return findings;
}

/// Those of one severity stay in their order.
Findings worst_first(const Findings& findings) {
    Findings sorted;
    for (const auto severity : {Severity::error, Severity::warning, Severity::note, Severity::ok})
        std::ranges::copy_if(findings, std::back_inserter(sorted),
                             [&](const Finding& one) { return one.severity == severity; });
    return sorted;
}

}  // namespace

std::string_view name(Severity severity) {
    constexpr std::array<std::string_view, 4> names{"ok", "note", "warning", "error"};
    return names[static_cast<std::size_t>(severity)];
}

Findings diagnose(const Facts& facts) {
    Findings findings;
    for (const auto& port : facts.ports) std::ranges::move(check_all_of(facts, port), std::back_inserter(findings));
    if (facts.ports.empty())
        findings.push_back({.severity = Severity::note,
                            .subject = "pci",
                            .found = "no Ethernet or InfiniBand adapter on PCI",
                            .command = "lspci | grep -i -e ethernet -e infiniband -e network"});
    for (const auto check : of_machine) std::ranges::move(check(facts), std::back_inserter(findings));
    return worst_first(findings);
}

}  // namespace verbline::doctor
