// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Who polls is lcore 0, for as long as it polls.
///
/// The threads of a verbs program are not DPDK's, so mempools would serve them without their cache, by atomic
/// operations on a shared ring. But only one thread at a time polls (Progress), and what an lcore's cache needs is just
/// that: one user at a time.

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
