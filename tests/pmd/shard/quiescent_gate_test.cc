// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/shard/quiescent_gate.h"

#include <atomic>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

namespace verbline::pmd {
namespace {

TEST(QuiescentGate, LetsTheShardInUnlessItIsHeld) {
    QuiescentGate gate;
    EXPECT_TRUE(gate.enter());
    gate.leave();
    {
        const QuiescentGate::Hold hold(gate);
        EXPECT_FALSE(gate.enter());
        const QuiescentGate::Hold another(gate);
        EXPECT_FALSE(gate.enter());
    }
    EXPECT_TRUE(gate.enter());
    gate.leave();
}

TEST(QuiescentGate, WaitsForTheShardToLeave) {
    QuiescentGate gate;
    ASSERT_TRUE(gate.enter());
    std::atomic<bool> left{false};
    bool was_left = false;
    std::jthread other([&] {
        gate.pass();
        was_left = left.load();
    });
    for (int i = 0; i < 100; ++i) std::this_thread::yield();  // time to go wrong
    left.store(true);
    gate.leave();
    other.join();
    EXPECT_TRUE(was_left);
}

TEST(QuiescentGate, KeepsShardAndChangesApart) {
    // Neither side's counter is atomic: under ThreadSanitizer any overlap is a race, without it a lost update.
    constexpr int changes = 2'000;
    QuiescentGate gate;
    long counter = 0, polls = 0;
    std::atomic<bool> done{false};
    std::jthread shard([&] {
        while (!done.load(std::memory_order_relaxed)) {
            if (!gate.enter()) {
                std::this_thread::yield();
                continue;
            }
            ++counter, ++polls;
            gate.leave();
        }
    });
    for (int i = 0; i < changes; ++i) {
        const QuiescentGate::Hold hold(gate);
        ++counter;
    }
    done.store(true);
    shard.join();
    EXPECT_EQ(counter, polls + changes);
}

}  // namespace
}  // namespace verbline::pmd
