// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "apps/verbline/doctor/checks.h"
#include "apps/verbline/doctor/cpu_list.h"

namespace verbline::doctor {
namespace {

constexpr std::string_view all_cpus = "/sys/devices/system/cpu/cpu*";
/// Longer than C1 and C1E take on x86, and shorter than any state that turns caches off.
constexpr std::int64_t deep_latency_us = 20;

/// The CPUs of each value of one of their files; those without the file are left out.
std::map<std::string, CpuSet> by_value(const Processor& processor, std::optional<std::string> Cpu::* file) {
    std::map<std::string, CpuSet> cpus;
    for (const auto& cpu : processor.cpus)
        if (cpu.*file) cpus[*(cpu.*file)].insert(cpu.number);
    return cpus;
}

Findings check_governor(const Processor& processor) {
    Findings findings;
    for (const auto& [governor, cpus] : by_value(processor, &Cpu::governor)) {
        const bool good = governor == "performance";
        findings.push_back(
            {.severity = good ? Severity::ok : Severity::warning,
             .subject = "cpu" + to_string(cpus),
             .found = good ? "frequency governor is performance"
                           : fmt::format("frequency governor is {}, so the clock rate follows the load", governor),
             .command = good ? "" : fmt::format("echo performance | tee {}/cpufreq/scaling_governor", all_cpus)});
    }
    return findings;
}

/// Under another governor, no more than a note: performance takes its own preference along on most drivers.
Findings check_energy_preference(const Processor& processor) {
    Findings findings;
    std::map<std::pair<Severity, std::string>, CpuSet> wrong;
    for (const auto& cpu : processor.cpus)
        if (cpu.energy_preference && cpu.energy_preference != "performance")
            wrong[{cpu.governor == "performance" ? Severity::warning : Severity::note, *cpu.energy_preference}].insert(
                cpu.number);
    for (const auto& [of, cpus] : wrong)
        findings.push_back(
            {.severity = of.first,
             .subject = "cpu" + to_string(cpus),
             .found = fmt::format("energy preference is {}, not performance", of.second),
             .command = fmt::format("echo performance | tee {}/cpufreq/energy_performance_preference", all_cpus)});
    return findings;
}

Findings check_turbo(const Processor& processor) {
    const bool intel = processor.intel_no_turbo.has_value();
    if (!(intel ? !*processor.intel_no_turbo : processor.boost.value_or(false))) return {};
    return {{.severity = Severity::note,
             .subject = "cpu",
             .found = "turbo is on: clock rates depend on temperature and on other cores",
             .command = intel ? "echo 1 >/sys/devices/system/cpu/intel_pstate/no_turbo"
                              : "echo 0 >/sys/devices/system/cpu/cpufreq/boost"}};
}

/// A shell pattern: state2, state[23].
std::string state_pattern(const std::set<unsigned>& indices) {
    std::string digits;
    for (const auto index : indices) digits += fmt::format("{}", index);
    return digits.size() == 1 ? "state" + digits : "state[" + digits + "]";
}

}  // namespace

Findings check_frequency(const Facts& facts) {
    auto findings = check_governor(facts.processor);
    std::ranges::move(check_energy_preference(facts.processor), std::back_inserter(findings));
    std::ranges::move(check_turbo(facts.processor), std::back_inserter(findings));
    return findings;
}

Findings check_idle_states(const Facts& facts) {
    CpuSet cpus, known;
    std::set<unsigned> indices;
    IdleState deepest;
    for (const auto& cpu : facts.processor.cpus) {
        if (!cpu.idle_states.empty()) known.insert(cpu.number);
        for (const auto& state : cpu.idle_states) {
            if (!state.enabled || state.latency_us < deep_latency_us) continue;
            cpus.insert(cpu.number);
            indices.insert(state.index);
            if (state.latency_us > deepest.latency_us) deepest = state;
        }
    }
    if (known.empty()) return {};
    if (cpus.empty())
        return {{.severity = Severity::ok,
                 .subject = "cpu" + to_string(known),
                 .found = fmt::format("no idle state takes {} us or more to leave", deep_latency_us)}};
    return {{.severity = Severity::warning,
             .subject = "cpu" + to_string(cpus),
             .found =
                 fmt::format("deep idle states are enabled: {} takes {} us to leave", deepest.name, deepest.latency_us),
             .command = fmt::format("echo 1 | tee {}/cpuidle/{}/disable", all_cpus, state_pattern(indices))}};
}

Findings check_clock(const Facts& facts) {
    const auto& source = facts.processor.clock_source;
    const auto& offered = facts.processor.clock_sources;
    if (source == "tsc") return {{.severity = Severity::ok, .subject = "kernel", .found = "clock source is tsc"}};
    if (source && std::ranges::find(offered, "tsc") != offered.end())
        return {{.severity = Severity::warning,
                 .subject = "kernel",
                 .found = fmt::format("clock source is {} though there is tsc, which takes less to read", *source),
                 .command = "echo tsc >/sys/devices/system/clocksource/clocksource0/current_clocksource"}};
    if (source == "hpet" || source == "acpi_pm")  // of x86 alone, and slower than any other
        return {{.severity = Severity::warning,
                 .subject = "kernel",
                 .found = fmt::format("clock source is {}: the kernel has given tsc up", *source),
                 .command = "dmesg | grep -i -e tsc -e clocksource"}};
    return {};
}

}  // namespace verbline::doctor
