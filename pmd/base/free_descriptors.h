// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Checks that the process can open enough files before calling code that terminates it when it cannot, as DPDK's start
/// does (rte_panic), and words the error message.

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

/// The error for a descriptor that the kernel refused with errno `code`. `who` names the requester; may be empty.
inline std::unexpected<Error> no_descriptors(int code, std::string_view who = {}) {
    std::string what(who);
    what.append(who.empty() ? "" : ": ").append("no descriptors left: ").append(std::strerror(code));
    return failure(code, what.append("; raise the limit on open files (ulimit -n)"));
}

/// Upper bound of the descriptors that rte_eal_init of DPDK 22.11 has open at a time, including telemetry. `workers`:
/// lcores besides the main one, each of which takes two pipes.
constexpr std::size_t descriptors_to_start_dpdk(unsigned workers) {
    return 16 + std::size_t{4} * workers;
}

/// Checks that `count` descriptors are free by briefly opening that many. The error states the reason and what to do.
/// Only a snapshot: other threads may be refused a descriptor meanwhile, or take the free ones afterwards. Any thread.
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
