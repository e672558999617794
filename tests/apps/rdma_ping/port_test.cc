// SPDX-License-Identifier: BSD-3-Clause
#include "apps/rdma_ping/port.h"

#include <cerrno>

#include <gtest/gtest.h>

#include "tests/support/descriptor_limit.h"

namespace verbline::rdma_ping {
namespace {

TEST(RdmaPingEnvironment, TooFewDescriptorsAreAnError) {
    const test::DescriptorLimit few(2);
    const auto started = Environment::start({});
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().code, EMFILE);
}

}  // namespace
}  // namespace verbline::rdma_ping
