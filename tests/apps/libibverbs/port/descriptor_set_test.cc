// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/port/descriptor_set.h"

#include <gtest/gtest.h>

namespace verbline::verbs {
namespace {

TEST(DescriptorSets, HoldWhatWasAdded) {
    static DescriptorSet set;
    for (const int descriptor : {0, 63, 64, DescriptorSet::capacity - 1}) {
        EXPECT_FALSE(set.contains(descriptor));
        set.add(descriptor);
        EXPECT_TRUE(set.contains(descriptor));
    }
    set.remove(63);
    EXPECT_FALSE(set.contains(63));
    EXPECT_TRUE(set.contains(64));
    for (const int none : {-1, DescriptorSet::capacity}) {
        set.remove(none);
        EXPECT_FALSE(set.contains(none));
    }
}

TEST(DescriptorSets, FindTheNext) {
    static DescriptorSet set;
    EXPECT_EQ(set.next(0), DescriptorSet::capacity);
    for (const int descriptor : {5, 6, 700, DescriptorSet::capacity - 1}) set.add(descriptor);
    EXPECT_EQ(set.next(0), 5);
    EXPECT_EQ(set.next(6), 6);
    EXPECT_EQ(set.next(7), 700);
    EXPECT_EQ(set.next(701), DescriptorSet::capacity - 1);
    EXPECT_EQ(set.next(DescriptorSet::capacity), DescriptorSet::capacity);
    set.clear();
    EXPECT_EQ(set.next(0), DescriptorSet::capacity);
}

}  // namespace
}  // namespace verbline::verbs
