// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/rdma/contents.h"

#include <vector>

#include <gtest/gtest.h>

namespace verbline::rdma_bench {
namespace {

TEST(RdmaContents, AreOfOneEndAndOneRound) {
    for (const std::size_t size : {1, 2, 100}) {
        std::vector<std::byte> bytes(size);
        EXPECT_FALSE(is_filled(bytes, End::client, 0));  // nothing has come
        fill(bytes, End::client, 3);
        EXPECT_TRUE(is_filled(bytes, End::client, 3));
        EXPECT_FALSE(is_filled(bytes, End::server, 3));
        EXPECT_FALSE(is_filled(bytes, End::client, 2));
        EXPECT_FALSE(is_filled(bytes, End::client, 4));
        bytes.back() ^= std::byte{1};
        EXPECT_FALSE(is_filled(bytes, End::client, 3));
    }
}

}  // namespace
}  // namespace verbline::rdma_bench
