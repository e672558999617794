// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/rdma/door.h"

#include <atomic>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

namespace verbline::rdma {
namespace {

TEST(Door, LetsTheShardInUnlessItIsHeld) {
    Door door;
    EXPECT_TRUE(door.enter());
    door.leave();
    {
        const Door::Hold hold(door);
        EXPECT_FALSE(door.enter());
        const Door::Hold another(door);
        EXPECT_FALSE(door.enter());
    }
    EXPECT_TRUE(door.enter());
    door.leave();
}

TEST(Door, WaitsForTheShardToLeave) {
    Door door;
    ASSERT_TRUE(door.enter());
    std::atomic<bool> left{false};
    bool was_left = false;
    std::jthread other([&] {
        door.pass();
        was_left = left.load();
    });
    for (int i = 0; i < 100; ++i) std::this_thread::yield();  // time to go wrong
    left.store(true);
    door.leave();
    other.join();
    EXPECT_TRUE(was_left);
}

TEST(Door, KeepsShardAndChangesApart) {
    // Neither side's counter is atomic: under ThreadSanitizer any overlap is a race, without it a lost update.
    constexpr int changes = 2'000;
    Door door;
    long counter = 0, polls = 0;
    std::atomic<bool> done{false};
    std::jthread shard([&] {
        while (!done.load(std::memory_order_relaxed)) {
            if (!door.enter()) {
                std::this_thread::yield();
                continue;
            }
            ++counter, ++polls;
            door.leave();
        }
    });
    for (int i = 0; i < changes; ++i) {
        const Door::Hold hold(door);
        ++counter;
    }
    done.store(true);
    shard.join();
    EXPECT_EQ(counter, polls + changes);
}

}  // namespace
}  // namespace verbline::rdma
