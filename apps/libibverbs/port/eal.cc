// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/port/eal.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>
#include <sched.h>

#include <fmt/format.h>

#include "apps/libibverbs/port/own_descriptors.h"
#include "pmd/base/free_descriptors.h"
#include "pmd/base/quiet_thread.h"
#include "pmd/base/tunables.h"

namespace verbline::verbs {
namespace {

std::string this_cpus() {
    cpu_set_t set;
    std::string text;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return "0";
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET(cpu, &set)) continue;
        if (!text.empty()) text += ',';
        text += std::to_string(cpu);
    }
    return text;
}

std::vector<std::string> eal_arguments(const EalNeeds& needs) {
    std::vector<std::string> arguments{
        "verbline",    "--no-huge",      "-m",       std::to_string(tunables::program_memory_mb),
        "--no-shconf", "--no-telemetry", "--lcores", fmt::format("0@({})", this_cpus()),
        "--log-level", "error"};
    for (const auto& device : needs.pci_devices) arguments.insert(arguments.end(), {"-a", device});
    if (needs.pci_devices.empty()) arguments.emplace_back("--no-pci");
    return arguments;
}

struct Started {
    int code = 0;  ///< an errno value; 0: it runs
    std::string_view log;
};

Started initialise(std::vector<char*>& argv) noexcept {
    char* text = nullptr;
    std::size_t size = 0;
    // DPDK's log must not appear on the program's standard error. The stream stays open, as DPDK may write to it at any
    // time. It is small.
    auto* const stream = open_memstream(&text, &size);
    if (stream != nullptr) rte_openlog_stream(stream);
    const int code = rte_eal_init(static_cast<int>(argv.size()), argv.data()) < 0 ? rte_errno : 0;
    if (stream == nullptr || std::fflush(stream) != 0) return {.code = code, .log = {}};
    return {.code = code, .log = {text, size}};
}

Result<void> outcome_of(Started started) {
    if (started.code == 0) return {};
    auto& log = started.log;
    while (log.ends_with('\n')) log.remove_suffix(1);
    const auto last = log.substr(log.rfind('\n') + 1);
    return failure(started.code,
                   fmt::format("DPDK does not start: {}", last.empty() ? rte_strerror(started.code) : last));
}

}  // namespace

EalNeeds eal_needs(std::span<const Link> links) {
    EalNeeds needs;
    for (const auto& link : links) {
        const auto* const port = std::get_if<pmd::DpdkSpec>(&link);
        if (port == nullptr) continue;
        if (pmd::pci_address(*port)) needs.pci_devices.push_back(port->devargs);
        needs.shares_memory |= is_vhost_port(*port);
    }
    return needs;
}

Result<void> Eal::need(const EalNeeds& needs) {
    if (outcome_) return *outcome_;
    if (auto enough = check_free_descriptors(descriptors_to_start_dpdk(0)); !enough) return enough;
    auto arguments = eal_arguments(needs);
    std::vector<char*> argv;
    argv.reserve(arguments.size());
    for (auto& argument : arguments) argv.push_back(argument.data());
    Started started;
    auto thread = QuietThread::start([&] {
        const OwnDescriptors::SharedHeap shared(needs.shares_memory);
        started = initialise(argv);
    });
    if (!thread) return std::unexpected(thread.error());
    thread->join();
    outcome_ = outcome_of(started);
    return *outcome_;
}

}  // namespace verbline::verbs
