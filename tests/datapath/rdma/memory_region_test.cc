// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/rdma/memory_region.h"

#include <gtest/gtest.h>

#include "tests/datapath/rdma/two_ends.h"

namespace verbline::rdma {
namespace {

class Region : public test::TwoEnds {
protected:
    MemoryRegion make() { return std::move(*host_b.device().register_memory(b.pd, b.data, test::every_access)); }
    Status write(wire::RKey key) {
        connect();
        auto request = to(b, 0, Operation::write);
        request.rkey = key;
        EXPECT_TRUE(post(a, request, 0, 8));
        EXPECT_TRUE(complete(at_a.size() + 1));
        return at_a.back().status;
    }
};

TEST_F(Region, IsReachedThroughTheHandleThatItWasMovedTo) {
    auto first = make();
    const auto key = first.rkey();
    const auto second = std::move(first);
    EXPECT_EQ(second.rkey(), key);
    EXPECT_EQ(write(key), Status::success);
}

TEST_F(Region, IsReleasedWhenItsHandleTakesAnother) {
    auto first = make(), second = make();
    const auto before = first.rkey(), after = second.rkey();
    first = std::move(second);
    EXPECT_EQ(first.rkey(), after);
    EXPECT_EQ(write(before), Status::remote_access_error);
    EXPECT_EQ(write(after), Status::success);
}

}  // namespace
}  // namespace verbline::rdma
