// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbs/port/eal.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>
#include <sched.h>
#include <sys/mman.h>

#include <fmt/format.h>

#include "apps/verbs/port/quiet_thread.h"

/// Stands in for memfd_create in all that is linked here (--wrap). Without hugepages EAL would put its heap into a
/// memfd and share it with every child of a fork; refused one, it takes private memory.
extern "C" int __real_memfd_create(const char* name, unsigned flags);
extern "C" int __wrap_memfd_create(const char* name, unsigned flags) {
    if (std::string_view(name) == "nohuge") {
        errno = ENOSYS;
        return -1;
    }
    return __real_memfd_create(name, flags);
}

namespace verbline::verbs {
namespace {

constexpr unsigned memory_mb = 256;  ///< the most; only what is used is resident

std::string this_cpus() {
    cpu_set_t set;
    std::string text;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return "0";
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &set)) text += (text.empty() ? "" : ",") + std::to_string(cpu);
    }
    return text;
}

int initialise(std::string& log) {
    std::vector<std::string> arguments{
        "verbline", "--no-huge",      "-m",       std::to_string(memory_mb),          "--no-shconf",
        "--no-pci", "--no-telemetry", "--lcores", fmt::format("0@({})", this_cpus()), "--log-level",
        "error"};
    std::vector<char*> argv;
    argv.reserve(arguments.size());
    for (auto& argument : arguments) argv.push_back(argument.data());
    char* text = nullptr;
    std::size_t size = 0;
    // What it has to say is not for the program's standard error.
    auto* const stream = open_memstream(&text, &size);
    if (stream != nullptr) rte_openlog_stream(stream);
    const int code = rte_eal_init(static_cast<int>(argv.size()), argv.data()) < 0 ? rte_errno : 0;
    if (stream != nullptr) {
        std::fflush(stream);
        log.assign(text, size);
        // The stream stays open: DPDK writes to it whenever it likes. It is small.
    }
    return code;
}

}  // namespace

Result<void> start_eal() {
    int code = 0;
    std::string log;
    QuietThread([&] { code = initialise(log); }).join();
    if (code == 0) return {};
    while (log.ends_with('\n')) log.pop_back();
    const auto last = log.substr(log.rfind('\n') + 1);
    return failure(code, fmt::format("DPDK does not start: {}", last.empty() ? rte_strerror(code) : last));
}

}  // namespace verbline::verbs
