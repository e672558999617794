// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/base/free_descriptors.h"

#include <gtest/gtest.h>

#include "tests/support/descriptor_limit.h"

namespace verbline {
namespace {

using test::DescriptorLimit;

TEST(FreeDescriptors, AreEnough) {
    EXPECT_TRUE(check_free_descriptors(16));
    EXPECT_TRUE(check_free_descriptors(0));
}

TEST(FreeDescriptors, AreTooFew) {
    const DescriptorLimit eight(8);
    EXPECT_TRUE(check_free_descriptors(8));
    const auto checked = check_free_descriptors(9);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, EMFILE);
    EXPECT_NE(checked.error().what.find("ulimit -n"), std::string::npos) << checked.error().what;
}

TEST(FreeDescriptors, ErrorNamesOwnerAndRemedy) {
    EXPECT_EQ(no_descriptors(EMFILE).error().what,
              "no descriptors left: Too many open files; raise the limit on open files (ulimit -n)");
    const auto of_somebody = no_descriptors(ENFILE, "x").error();
    EXPECT_EQ(of_somebody.code, ENFILE);
    EXPECT_EQ(of_somebody.what,
              "x: no descriptors left: Too many open files in system; raise the limit on open files (ulimit -n)");
}

TEST(FreeDescriptors, CheckFailsAtLimitZero) {
    const DescriptorLimit none(0);
    EXPECT_FALSE(check_free_descriptors(1));
}

}  // namespace
}  // namespace verbline
