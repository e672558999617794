// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/base/token_bucket.h"

#include <gtest/gtest.h>

namespace verbline {
namespace {

TEST(TokenBucket, AllowsABurstAndThenTheRate) {
    TokenBucket bucket(10, 3);
    const Time start = 1000 * second;
    unsigned taken = 0;
    while (bucket.take(start)) ++taken;
    EXPECT_EQ(taken, 3u);
    EXPECT_FALSE(bucket.take(start + 99 * millisecond));
    EXPECT_TRUE(bucket.take(start + 100 * millisecond));
    EXPECT_FALSE(bucket.take(start + 100 * millisecond));
    for (taken = 0; bucket.take(start + 60 * second);) ++taken;
    EXPECT_EQ(taken, 3u) << "it holds no more after a long rest";
}

TEST(TokenBucket, SharesAreTogetherTheWhole) {
    const auto taken = [](unsigned shares) {
        unsigned n = 0;
        for (unsigned i = 0; i < shares; ++i) {
            auto bucket = TokenBucket::share(shares);
            for (Time now = 0; now < second; now += 100 * microsecond) n += bucket.take(now) ? 1 : 0;
        }
        return n;
    };
    const auto whole = taken(1);
    EXPECT_NEAR(whole, TokenBucket::default_rate + TokenBucket::default_burst, 2);
    EXPECT_NEAR(taken(2), whole, 4);
    EXPECT_NEAR(taken(5), whole, 10);
    EXPECT_GT(taken(100), 0u) << "each has one token at least";
}

TEST(TokenBucket, IsFullAtTimeZero) {
    EXPECT_TRUE(TokenBucket(10, 1).take(0));
}

}  // namespace
}  // namespace verbline
