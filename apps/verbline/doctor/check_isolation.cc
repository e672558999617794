// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <fmt/format.h>

#include "apps/verbline/doctor/checks.h"
#include "apps/verbline/doctor/cpu_list.h"

namespace verbline::doctor {
namespace {

constexpr std::size_t few_cpus = 4;  ///< of fewer, none can be spared

Findings check_none_isolated(const Facts& facts) {
    const auto node = facts.ports.empty() ? -1 : facts.ports.front().node.value_or(-1);
    const auto cpus = cpus_to_isolate(facts.processor, node);
    if (cpus.empty()) return {};
    return {
        {.severity = facts.ports.empty() || facts.processor.cpus.size() < few_cpus ? Severity::note : Severity::warning,
         .subject = "kernel",
         .found = "no CPU is isolated: the kernel runs other work on those that poll",
         .command = boot_with(facts, isolating(cpus))}};
}

/// The later thread of each core that is isolated with both.
CpuSet second_threads(const Processor& processor) {
    CpuSet seconds;
    for (const auto& cpu : processor.cpus) {
        const auto first =
            std::ranges::find_if(cpu.siblings, [&](unsigned n) { return processor.isolated.contains(n); });
        if (processor.isolated.contains(cpu.number) && first != cpu.siblings.end() && *first != cpu.number)
            seconds.insert(cpu.number);
    }
    return seconds;
}

Findings check_option(const Facts& facts, const CpuSet& covered, std::string_view option, std::string_view effect) {
    const auto missing = without(facts.processor.isolated, covered);
    if (missing.empty()) return {};
    return {{.severity = Severity::warning,
             .subject = "cpu" + to_string(missing),
             .found = fmt::format("isolated, but not in {}: {}", option, effect),
             .command = boot_with(facts, {{option, to_string(facts.processor.isolated)}})}};
}

}  // namespace

CpuSet cpus_to_isolate(const Processor& processor, std::int64_t node) {
    CpuSet cpus;
    for (const auto& cpu : processor.cpus)
        if ((node < 0 || !cpu.node || *cpu.node == node) && cpu.number == *cpu.siblings.begin())
            cpus.insert(cpu.number);
    if (!cpus.empty()) cpus.erase(cpus.begin());
    return cpus;
}

std::vector<BootOption> isolating(const CpuSet& cpus) {
    const auto list = to_string(cpus);
    return {{"isolcpus", list}, {"nohz_full", list}, {"rcu_nocbs", list}};
}

Findings check_isolation(const Facts& facts) {
    const auto& processor = facts.processor;
    if (processor.isolated.empty()) return check_none_isolated(facts);
    Findings findings{{.severity = Severity::ok,
                       .subject = "kernel",
                       .found = fmt::format("isolated CPUs: {}", to_string(processor.isolated))}};
    std::ranges::move(check_option(facts, processor.nohz_full, "nohz_full", "the timer tick interrupts them"),
                      std::back_inserter(findings));
    std::ranges::move(check_option(facts, processor.rcu_offloaded, "rcu_nocbs", "they run the kernel's RCU callbacks"),
                      std::back_inserter(findings));
    if (const auto seconds = second_threads(processor); !seconds.empty())
        findings.push_back({.severity = Severity::warning,
                            .subject = "cpu" + to_string(seconds),
                            .found = "isolated along with the other thread of the core: both share its units",
                            .command = fmt::format("chcpu --disable {}", to_string(seconds))});
    return findings;
}

}  // namespace verbline::doctor
