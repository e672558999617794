// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A mempool for frames of path MTU 4096, made when first asked for and freed with the environment.

#include "tests/support/eal.h"

namespace verbline::test {

class LargePool : public ::testing::Environment {
public:
    void SetUp() override {
        pool = rte_pktmbuf_pool_create("large", 24'575, 256, 0, RTE_PKTMBUF_HEADROOM + 4096 + 128, SOCKET_ID_ANY);
        ASSERT_NE(pool, nullptr) << rte_strerror(rte_errno);
    }
    void TearDown() override {
        if (pool == nullptr) return;
        EXPECT_EQ(rte_mempool_in_use_count(pool), 0u) << "packets were not freed";
        rte_mempool_free(pool);
        pool = nullptr;
    }

    rte_mempool* pool = nullptr;
};

/// Environments start in the order they are added, and end in the reverse: inside of the EAL's.
inline LargePool& large =
    (static_cast<void>(Eal::instance()), *static_cast<LargePool*>(::testing::AddGlobalTestEnvironment(new LargePool)));

inline rte_mempool* large_pool() {
    return large.pool;
}

}  // namespace verbline::test
