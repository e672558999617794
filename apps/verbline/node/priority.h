// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace verbline::cli {

/// Lets this process and threads that it makes later run before programs that spin, as far as it is permitted: all of
/// them wait for the node, which sleeps when it has nothing to do. Where the kernel groups processes by session
/// (sched(7), autogroup), the priority of the group counts, which is raised if the session is this process's own.
void raise_priority();

}  // namespace verbline::cli
