// SPDX-License-Identifier: BSD-3-Clause
#include "apps/environment/environment.h"

#include <algorithm>

#include <rte_eal.h>
#include <rte_errno.h>
#include <sched.h>

#include <fmt/format.h>

#include "pmd/base/free_descriptors.h"

namespace verbline {

Result<Environment> Environment::start(const std::string& program, std::vector<std::string> arguments) {
    if (arguments.empty()) {
        arguments = {"--no-huge",     "--no-shconf", "--no-telemetry", "-m",
                     "256",           "--no-pci",    "--lcores",       fmt::format("0@{}", std::max(0, sched_getcpu())),
                     "--file-prefix", program,       "--log-level",    "warning"};
    }
    arguments.insert(arguments.begin(), program);
    std::vector<char*> argv;
    argv.reserve(arguments.size());
    for (auto& argument : arguments) argv.push_back(argument.data());
    if (auto enough = check_free_descriptors(descriptors_to_start_dpdk(0)); !enough)
        return std::unexpected(enough.error());
    // The EAL pins this thread to one CPU, which on a small machine is the peer's as well.
    cpu_set_t before;
    const bool known = sched_getaffinity(0, sizeof before, &before) == 0;
    if (rte_eal_init(static_cast<int>(argv.size()), argv.data()) < 0) {
        return failure(rte_errno, fmt::format("DPDK does not start: {}", rte_strerror(rte_errno)));
    }
    if (known) sched_setaffinity(0, sizeof before, &before);
    return Environment();
}

Environment::~Environment() {
    if (running_) rte_eal_cleanup();
}

}  // namespace verbline
