// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Whether the process may open more files: what to tell whoever may not, and a look before calling what ends the
/// process when there are none, as DPDK does when it starts (rte_panic).

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>

#include "pmd/base/error.h"
#include "pmd/base/file_descriptor.h"

namespace verbline {

/// A descriptor was refused, with errno `code`, to `who`: a name, or empty.
inline std::unexpected<Error> no_descriptors(int code, std::string_view who = {}) {
    std::string what(who);
    what.append(who.empty() ? "" : ": ").append("no descriptors left: ").append(std::strerror(code));
    return failure(code, what.append("; raise the limit on open files (ulimit -n)"));
}

/// More than rte_eal_init of DPDK 22.11 has open at a time, its telemetry included. `workers`: lcores beside the main
/// one, to each of which two pipes lead.
constexpr std::size_t descriptors_to_start_dpdk(unsigned workers) {
    return 16 + std::size_t{4} * workers;
}

/// Looks whether `count` descriptors are free, by taking them for a moment. An error tells why not, and what to do.
/// Other threads may be refused a descriptor meanwhile, or take those that were free. Any thread.
inline Result<void> check_free_descriptors(std::size_t count) {
    std::vector<FileDescriptor> taken;
    taken.reserve(count);
    while (taken.size() < count) {
        taken.emplace_back(taken.empty() ? open("/", O_PATH | O_CLOEXEC)
                                         : fcntl(taken.front().get(), F_DUPFD_CLOEXEC, 0));
        if (!taken.back()) return no_descriptors(errno, "DPDK");
    }
    return {};
}

}  // namespace verbline
