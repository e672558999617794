// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/machine.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <string_view>
#include <utility>

#include <rte_cycles.h>
#include <rte_lcore.h>
#include <rte_version.h>
#include <sys/utsname.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/verbline/command_line/version.h"
#include "apps/verbline/doctor/checks.h"
#include "apps/verbline/doctor/fact_reader.h"
#include "apps/verbline/doctor/report.h"
#include "apps/verbline/doctor/this_process.h"

namespace verbline::bench {
namespace {

using cli::Json;

/// The first line of a file that begins with `key`, behind its colon; without a key, the first line.
std::string line_of(const char* path, std::string_view key = {}) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        if (key.empty()) return line;
        if (!line.starts_with(key)) continue;
        const auto begin = line.find_first_not_of(" \t", line.find(':') + 1);
        return begin == line.npos ? "" : line.substr(begin);
    }
    return "";
}

Json hugepages(const doctor::Memory& memory) {
    Json rows = Json::array();
    for (const auto& pool : memory.pools)
        if (pool.total > 0)
            rows.push_back(
                {{"node", pool.node}, {"page_kb", pool.page_kb}, {"total", pool.total}, {"free", pool.free}});
    return rows;
}

Json lcore_nodes(std::span<const unsigned> lcores) {
    Json rows = Json::array();
    for (const auto lcore : lcores) rows.push_back({{"lcore", lcore}, {"numa_node", rte_lcore_to_socket_id(lcore)}});
    return rows;
}

std::string governors(const doctor::Processor& processor) {
    std::set<std::string> found;
    for (const auto& cpu : processor.cpus)
        if (cpu.governor) found.insert(*cpu.governor);
    return fmt::format("{}", fmt::join(found, ","));
}

}  // namespace

Checkup Checkup::of_this_machine() {
    Checkup checkup;
    doctor::InstalledPrograms programs;
    auto facts = doctor::FactReader(doctor::RootDirectory("/"), programs).read({});
    if (!facts) return checkup;
    facts->lock_limit = doctor::lock_limit();
    checkup.findings = doctor::diagnose(*facts);
    std::erase_if(checkup.findings, [](const auto& finding) { return finding.severity < doctor::Severity::warning; });
    checkup.facts = std::move(*facts);
    return checkup;
}

std::string Checkup::summary() const {
    const auto complaint = doctor::complaint(findings);
    if (complaint.empty()) return "";
    return fmt::format("{} about this machine, which may change the figures: see verbline doctor", complaint);
}

Json machine_facts(const Checkup& checkup, const std::vector<std::string>& eal_arguments,
                   std::span<const unsigned> lcores) {
    utsname kernel{};
    uname(&kernel);
    const auto& processor = checkup.facts.processor;
    return {{"verbline", cli::version},
            {"dpdk", rte_version()},
            {"kernel", kernel.release},
            {"kernel_command_line", line_of("/proc/cmdline")},
            {"cpu", line_of("/proc/cpuinfo", "model name")},
            {"cpus", processor.cpus.size()},
            {"numa_nodes", checkup.facts.memory.nodes.size()},
            {"governor", governors(processor)},
            {"tsc_hz", rte_get_tsc_hz()},
            {"hugepages", hugepages(checkup.facts.memory)},
            {"transparent_hugepages", checkup.facts.memory.transparent.value_or("")},
            {"eal_arguments", fmt::format("{}", fmt::join(eal_arguments, " "))},
            {"lcores", lcore_nodes(lcores)},
            {"doctor", doctor::rows(checkup.findings)}};
}

}  // namespace verbline::bench
