// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Makes the polling thread lcore 0 for as long as it polls.
///
/// The threads of a verbs program are not EAL threads, so mempools would bypass the per-lcore cache and use atomic
/// operations on a shared ring. Only one thread at a time polls (Progress), which is all that an lcore's cache
/// requires.

#include <rte_lcore.h>

namespace verbline::verbs {

class AsLcore {
public:
    AsLcore() noexcept : before_(RTE_PER_LCORE(_lcore_id)) { RTE_PER_LCORE(_lcore_id) = 0; }
    ~AsLcore() { RTE_PER_LCORE(_lcore_id) = before_; }
    AsLcore(const AsLcore&) = delete;
    AsLcore& operator=(const AsLcore&) = delete;

private:
    unsigned before_;
};

}  // namespace verbline::verbs
