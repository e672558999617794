// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Reasons why a memory access is denied. A peer sees the same NAK for all of them, remote access error; a local work
/// request completes with IBV_WC_LOC_PROT_ERR or, for a bind, IBV_WC_MW_BIND_ERR. The reason is only counted.

#include "pmd/base/counter.h"

namespace verbline::memory {

#define VERBLINE_MEMORY_FAULTS(X)                                                                                  \
    X(unknown_key, "accesses, binds or invalidates by a key that is not in the table, or whose low byte is stale") \
    X(wrong_pd, "accesses, binds or invalidates by a queue pair of another protection domain")                     \
    X(out_of_range, "accesses beyond the region or window, binds beyond the region")                               \
    X(no_right, "accesses or binds without the right to it")                                                       \
    X(not_bound, "accesses to or invalidates of a window that is not bound")                                       \
    X(wrong_qp, "accesses to or invalidates of a type 2 window by another queue pair than the one it is bound to") \
    X(still_bound, "binds of a type 2 window that is bound, or of any window while it is being bound")             \
    X(not_a_window, "binds and invalidates of what is not a window, or not of type 2")
VERBLINE_COUNTER_ENUM(Fault, VERBLINE_MEMORY_FAULTS)

}  // namespace verbline::memory
