// SPDX-License-Identifier: BSD-3-Clause
#include "apps/environment/environment.h"

#include <cerrno>

#include <gtest/gtest.h>

#include "tests/support/descriptor_limit.h"

namespace verbline {
namespace {

TEST(Environment, TooFewDescriptorsAreAnError) {
    const test::DescriptorLimit few(2);
    const auto started = Environment::start("example", {});
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().code, EMFILE);
}

}  // namespace
}  // namespace verbline
