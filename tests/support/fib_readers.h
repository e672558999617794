// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The RCU state that the readers of a FIB share, as long as its owner.

#include <cstdlib>
#include <memory>

#include <rte_common.h>
#include <rte_rcu_qsbr.h>

namespace verbline::test {

struct FreeFibReaders {
    void operator()(rte_rcu_qsbr* readers) const { std::free(readers); }
};
using FibReaders = std::unique_ptr<rte_rcu_qsbr, FreeFibReaders>;

inline FibReaders fib_readers(unsigned count = 1) {
    const auto size = RTE_ALIGN_CEIL(rte_rcu_qsbr_get_memsize(count), std::size_t{RTE_CACHE_LINE_SIZE});
    FibReaders readers(static_cast<rte_rcu_qsbr*>(std::aligned_alloc(RTE_CACHE_LINE_SIZE, size)));
    rte_rcu_qsbr_init(readers.get(), count);
    return readers;
}

}  // namespace verbline::test
