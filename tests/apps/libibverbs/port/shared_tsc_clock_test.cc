// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/port/shared_tsc_clock.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/eal.h"

namespace verbline::verbs {
namespace {

TEST(SharedTscClock, NeverGoesBackInAnyThread) {
    const auto clock = make_shared_clock();
    std::atomic<bool> went_back{false};
    const auto read = [&, copy = clock] {
        Time last = 0;
        for (int i = 0; i < 100'000; ++i) {
            const auto now = copy();
            if (now < last) went_back = true;
            last = now;
        }
    };
    std::vector<std::jthread> readers;
    for (int i = 0; i < 2; ++i) readers.emplace_back(read);
    readers.clear();
    EXPECT_FALSE(went_back);
}

TEST(SharedTscClock, KeepsTheMonotonicClocksTime) {
    const auto clock = make_shared_clock();
    const auto before = monotonic_now();
    const auto now = clock();
    EXPECT_NEAR(static_cast<double>(now - before), 0, 50.0 * millisecond);
}

}  // namespace
}  // namespace verbline::verbs
