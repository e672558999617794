// SPDX-License-Identifier: BSD-3-Clause
#include <ranges>

#include <fmt/format.h>

#include "apps/verbline/doctor/cpu_list.h"
#include "apps/verbline/doctor/fact_reader.h"

namespace verbline::doctor {
namespace {

constexpr std::string_view cpu_directory = "sys/devices/system/cpu";
constexpr unsigned max_idle_states = 10;  // CPUIDLE_STATE_MAX of Linux

/// The CPUs of isolcpus=, behind its flags: "nohz,domain,managed_irq,2-5".
std::string_view without_flags(std::string_view value) {
    while (value.find_first_of("0123456789") != 0 && value.contains(',')) value.remove_prefix(value.find(',') + 1);
    return value;
}

std::vector<std::string> split_words(std::string_view text) {
    std::vector<std::string> all;
    for (const auto part : std::views::split(text, ' '))
        if (!std::string_view(part).empty()) all.emplace_back(std::string_view(part));
    return all;
}

/// The value of a line "Cpus_allowed_list:\t0-3" of /proc/self/status.
std::string_view status_value(std::string_view status, std::string_view key) {
    const auto line = status.find(key);
    if (line == status.npos) return {};
    status.remove_prefix(line + key.size());
    status = status.substr(0, status.find('\n'));
    return status.substr(std::min(status.find_first_of("0123456789"), status.size()));
}

}  // namespace

CpuSet FactReader::told(const std::string& file, std::string_view option, unsigned last) const {
    if (const auto shown = root_.text(fmt::format("{}/{}", cpu_directory, file)))
        if (const auto list = parse_cpu_list(*shown, last)) return *list;
    const auto value = kernel_option(option);
    return value ? parse_cpu_list(without_flags(*value), last).value_or(CpuSet()) : CpuSet();
}

Processor FactReader::processor() const {
    Processor processor;
    const auto online = root_.text(fmt::format("{}/online", cpu_directory));
    for (const auto number : parse_cpu_list(online.value_or("")).value_or(CpuSet()))
        processor.cpus.push_back(cpu(number));
    const unsigned last = processor.cpus.empty() ? 0 : processor.cpus.back().number;
    const auto status = root_.text("proc/self/status");
    processor.allowed = parse_cpu_list(status_value(status.value_or(""), "Cpus_allowed_list:")).value_or(CpuSet());
    processor.isolated = told("isolated", "isolcpus", last);
    processor.nohz_full = told("nohz_full", "nohz_full", last);
    processor.rcu_offloaded = processor.nohz_full;  // the kernel offloads these by itself
    processor.rcu_offloaded.merge(told("-", "rcu_nocbs", last));
    processor.intel_no_turbo = root_.flag(fmt::format("{}/intel_pstate/no_turbo", cpu_directory));
    processor.boost = root_.flag(fmt::format("{}/cpufreq/boost", cpu_directory));
    const std::string clock = "sys/devices/system/clocksource/clocksource0/";
    processor.clock_source = root_.text(clock + "current_clocksource");
    processor.clock_sources = split_words(root_.text(clock + "available_clocksource").value_or(""));
    return processor;
}

Cpu FactReader::cpu(unsigned number) const {
    const auto directory = fmt::format("{}/cpu{}", cpu_directory, number);
    Cpu cpu{.number = number};
    for (const auto& name : root_.entries(directory))
        if (name.starts_with("node"))
            if (const auto node = parse_number(std::string_view(name).substr(4))) cpu.node = static_cast<int>(*node);
    const auto siblings = root_.text(directory + "/topology/thread_siblings_list");
    cpu.siblings = parse_cpu_list(siblings.value_or("")).value_or(CpuSet{number});
    cpu.governor = root_.text(directory + "/cpufreq/scaling_governor");
    cpu.energy_preference = root_.text(directory + "/cpufreq/energy_performance_preference");
    cpu.idle_states = idle_states(directory);
    return cpu;
}

std::vector<IdleState> FactReader::idle_states(const std::string& cpu) const {
    std::vector<IdleState> states;
    for (unsigned index = 0; index < max_idle_states; ++index) {
        const auto directory = fmt::format("{}/cpuidle/state{}/", cpu, index);
        const auto latency = root_.number(directory + "latency");
        const auto disabled = root_.number(directory + "disable");
        if (!latency || !disabled) continue;
        states.push_back({.index = index,
                          .name = root_.text(directory + "name").value_or(fmt::format("state{}", index)),
                          .latency_us = *latency,
                          .enabled = *disabled == 0});
    }
    return states;
}

}  // namespace verbline::doctor
