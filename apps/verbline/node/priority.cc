// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/node/priority.h"

#include <fstream>

#include <sys/resource.h>
#include <unistd.h>

namespace verbline::cli {
namespace {

constexpr int priority = -10;  ///< nice(2)

}  // namespace

void raise_priority() {
    (void)setpriority(PRIO_PROCESS, 0, priority);
    if (getsid(0) == getpid()) std::ofstream("/proc/self/autogroup") << priority;
}

}  // namespace verbline::cli
