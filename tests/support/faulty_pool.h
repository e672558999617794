// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A mempool whose every allocation is one of the calls that fault injection makes fail: an empty pool. One thread
/// only.

#include <algorithm>
#include <cerrno>
#include <span>
#include <vector>

#include "tests/support/eal.h"
#include "tests/support/faults_state.h"

namespace verbline::test {

class FaultyPool : public ::testing::Environment {
public:
    void SetUp() override {
        rte_mempool_ops ops{.name = "faulty",
                            .alloc = [](rte_mempool* to) { return to->pool_data = new Stack, 0; },
                            .free = [](rte_mempool* of) { delete static_cast<Stack*>(of->pool_data); },
                            .enqueue = give_back,
                            .dequeue = take,
                            .get_count =
                                [](const rte_mempool* of) {
                                    return static_cast<unsigned>(static_cast<const Stack*>(of->pool_data)->size());
                                }};
        ASSERT_GE(rte_mempool_register_ops(&ops), 0);
        pool = rte_pktmbuf_pool_create_by_ops("faulty", 1023, 0, 0, Eal::data_room, SOCKET_ID_ANY, "faulty");
        ASSERT_NE(pool, nullptr) << rte_strerror(rte_errno);
    }
    void TearDown() override {
        rte_mempool_free(pool);
        pool = nullptr;
    }

    rte_mempool* pool = nullptr;

private:
    using Stack = std::vector<void*>;

    static int give_back(rte_mempool* to, void* const* objects, unsigned count) {
        auto& stack = *static_cast<Stack*>(to->pool_data);
        stack.insert(stack.end(), objects, objects + count);
        return 0;
    }
    static int take(rte_mempool* from, void** objects, unsigned count) {
        auto& stack = *static_cast<Stack*>(from->pool_data);
        if (stack.size() < count || faults::injected("mempool", {ENOBUFS}) != 0) return -ENOBUFS;
        std::ranges::copy(std::span(stack).last(count), objects);
        stack.resize(stack.size() - count);
        return 0;
    }
};

/// Environments start in the order they are added, and end in the reverse: inside of the EAL's.
inline FaultyPool& faulty = (static_cast<void>(Eal::instance()),
                             *static_cast<FaultyPool*>(::testing::AddGlobalTestEnvironment(new FaultyPool)));

inline rte_mempool* faulty_pool() {
    return faulty.pool;
}

}  // namespace verbline::test
