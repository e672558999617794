// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/memory/key_source.h"

#include <array>
#include <bit>
#include <set>

#include <gtest/gtest.h>

namespace verbline::memory {
namespace {

TEST(SystemRandom, WordsDoNotRepeat) {
    SystemRandom random;
    std::set<std::uint32_t> seen;
    for (unsigned i = 0; i < 1000; ++i) seen.insert(*random());
    EXPECT_GE(seen.size(), 998u);  // 1000 of 2^32: one pair alike in ten thousand runs, two never
}

TEST(SystemRandom, EveryBitIsSetHalfOfTheTime) {
    constexpr int words = 20'000, six_sigma = 425;
    SystemRandom random;
    std::array<int, 32> set{};
    for (int i = 0; i < words; ++i) {
        const auto word = *random();
        for (unsigned bit = 0; bit < 32; ++bit) set[bit] += static_cast<int>(word >> bit & 1);
    }
    for (const auto count : set) EXPECT_NEAR(count, words / 2, six_sigma);
}

TEST(SystemRandom, TheNextWordDoesNotFollowFromTheLast) {
    // Neighbours, and neighbours' differences, differ in half of their bits on the average.
    constexpr int words = 20'000;
    SystemRandom random;
    std::int64_t changed = 0, changed_steps = 0;
    for (std::uint32_t i = 0, before = *random(), step = 0; i < words; ++i) {
        const auto word = *random();
        changed += std::popcount(word ^ before);
        changed_steps += std::popcount((word - before) ^ step);
        step = word - before, before = word;
    }
    EXPECT_NEAR(static_cast<double>(changed) / words, 16, 0.15);
    EXPECT_NEAR(static_cast<double>(changed_steps) / words, 16, 0.15);
}

}  // namespace
}  // namespace verbline::memory
