// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/transport/spsc_ring.h"

#include <thread>

#include <gtest/gtest.h>

namespace verbline::transport {
namespace {

TEST(SpscRing, HoldsAtLeastWhatWasAskedFor) {
    for (const std::uint32_t asked : {0u, 1u, 2u, 3u, 64u, 65u}) {
        SpscRing<int> ring(asked);
        EXPECT_GE(ring.capacity(), std::max(asked, 1u));
        for (std::uint32_t i = 0; i < ring.capacity(); ++i) EXPECT_TRUE(ring.push(static_cast<int>(i)));
        EXPECT_FALSE(ring.push(0));
        EXPECT_EQ(ring.size(), ring.capacity());
    }
}

TEST(SpscRing, KeepsOrderThroughManyRounds) {
    SpscRing<int> ring(4);
    int out = 0;
    for (int in = 0; in < 1000;) {
        for (int n = in % 4; n >= 0 && ring.push(in); --n) ++in;
        for (int n = in % 3; n >= 0; --n) {
            const auto* const front = ring.front();
            if (front == nullptr) break;
            EXPECT_EQ(*front, out++);
            ring.pop();
        }
    }
}

TEST(SpscRing, IsEmptyAtFirstAndAtLast) {
    SpscRing<int> ring(2);
    EXPECT_EQ(ring.front(), nullptr);
    EXPECT_TRUE(ring.push(5));
    ASSERT_NE(ring.front(), nullptr);
    EXPECT_EQ(ring.front(), ring.front());
    ring.pop();
    EXPECT_EQ(ring.front(), nullptr);
    EXPECT_EQ(ring.size(), 0u);
}

TEST(SpscRing, IsFilledInPlace) {
    SpscRing<int> ring(2);
    for (int i = 0; i < 2; ++i) {
        ASSERT_NE(ring.back(), nullptr);
        *ring.back() = i;
        EXPECT_EQ(ring.size(), static_cast<std::uint32_t>(i)) << "not there before it is pushed";
        ring.push();
    }
    EXPECT_EQ(ring.back(), nullptr);
    ring.front(), ring.pop();
    EXPECT_NE(ring.back(), nullptr);
}

TEST(SpscRing, ShowsTheConsumerAllThatIsThere) {
    SpscRing<int> ring(4);
    for (int i = 0; i < 3; ++i) ring.push(i), ring.front(), ring.pop();  // so that it wraps
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(ring.push(i));
    ring.each([](int& value) { value *= 10; });
    for (const int expected : {0, 10, 20, 30}) {
        ASSERT_NE(ring.front(), nullptr);
        EXPECT_EQ(*ring.front(), expected);
        ring.pop();
    }
    ring.each([](int&) { FAIL() << "nothing is there"; });
}

TEST(SpscRing, PassesWholeValuesBetweenThreads) {
    struct Value {
        std::uint64_t a = 0, b = 0, c = 0;
    };
    constexpr std::uint64_t count = 200'000;
    SpscRing<Value> ring(16);
    std::jthread producer([&] {
        for (std::uint64_t i = 0; i < count;) {
            if (ring.push({i, ~i, i * 3})) {
                ++i;
            } else {
                std::this_thread::yield();
            }
        }
    });
    bool whole = true;
    for (std::uint64_t i = 0; i < count;) {
        const auto* const value = ring.front();
        if (value == nullptr) {
            std::this_thread::yield();
            continue;
        }
        whole &= value->a == i && value->b == ~i && value->c == i * 3;
        ring.pop();
        ++i;
    }
    EXPECT_TRUE(whole);
}

}  // namespace
}  // namespace verbline::transport
