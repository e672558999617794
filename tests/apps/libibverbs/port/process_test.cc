// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/port/process.h"

#include <cerrno>

#include <gtest/gtest.h>

#include "tests/support/descriptor_limit.h"
#include "tests/support/verbs_device.h"

namespace verbline::verbs {
namespace {

TEST(Process, OpensADeviceOnceThereAreDescriptorsForIt) {
    auto* const device = test::the_device();
    {
        const test::DescriptorLimit few(8);
        EXPECT_REFUSED(EMFILE, ibv_open_device(device));
        EXPECT_REFUSED(EMFILE, ibv_open_device(device));
    }
    auto* const context = ibv_open_device(device);
    ASSERT_NE(context, nullptr) << std::strerror(errno);
    EXPECT_EQ(ibv_close_device(context), 0);
}

}  // namespace
}  // namespace verbline::verbs
