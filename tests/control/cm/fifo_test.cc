// SPDX-License-Identifier: BSD-3-Clause
#include "control/cm/fifo.h"

#include <cstddef>

#include <gtest/gtest.h>

namespace verbline::cm {
namespace {

/// Counts how often any of them is moved.
struct Moved {
    int value = 0;
    std::size_t* moves = nullptr;

    Moved(int given, std::size_t& counted) : value(given), moves(&counted) {}
    Moved(Moved&& other) noexcept : value(other.value), moves(other.moves) { ++*moves; }
    Moved& operator=(Moved&& other) noexcept {
        value = other.value;
        moves = other.moves;
        ++*moves;
        return *this;
    }
};

TEST(Fifo, KeepsTheOrder) {
    Fifo<int> queue;
    int next = 0, expected = 0;
    for (int round = 0; round < 100; ++round) {
        for (int i = 0; i < 7; ++i) queue.emplace_back(next++);
        for (int i = 0; i < 5; ++i) ASSERT_EQ(queue.pop_front(), expected++);
        ASSERT_EQ(queue.size(), static_cast<std::size_t>(next - expected));
    }
    while (!queue.empty()) ASSERT_EQ(queue.pop_front(), expected++);
    EXPECT_EQ(expected, next);
}

TEST(Fifo, TakingFromALongQueueMovesOnlyWhatIsTaken) {
    constexpr int count = 4096;
    std::size_t moves = 0;
    Fifo<Moved> queue;
    for (int i = 0; i < count; ++i) queue.emplace_back(i, moves);
    moves = 0;
    for (int i = 0; i < count; ++i) EXPECT_EQ(queue.pop_front().value, i);
    EXPECT_LE(moves, 2u * count);
}

TEST(Fifo, AFullQueueThatIsRefilledMovesEachElementAFewTimes) {
    constexpr int count = 4096, more = 100'000;
    std::size_t moves = 0;
    Fifo<Moved> queue;
    for (int i = 0; i < count; ++i) queue.emplace_back(i, moves);
    moves = 0;
    for (int i = 0; i < more; ++i) {
        EXPECT_EQ(queue.pop_front().value, i);
        queue.emplace_back(count + i, moves);
    }
    EXPECT_LE(moves, 5u * more);
    EXPECT_EQ(queue.size(), static_cast<std::size_t>(count));
}

}  // namespace
}  // namespace verbline::cm
