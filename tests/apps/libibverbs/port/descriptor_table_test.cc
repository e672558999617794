// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/port/descriptor_table.h"

#include <gtest/gtest.h>

namespace verbline::verbs {
namespace {

using IntegerTable = DescriptorTable<int>;

TEST(DescriptorTables, FindInsertedFiles) {
    static IntegerTable table;
    int file = 0;
    for (const int descriptor : {0, 63, IntegerTable::capacity - 1}) {
        EXPECT_FALSE(table.contains(descriptor));
        table.put(descriptor, file);
        EXPECT_EQ(table.find(descriptor), &file);
    }
    EXPECT_EQ(table.next(-5), 0);
    EXPECT_EQ(table.next(1), 63);
    EXPECT_EQ(table.next(64), IntegerTable::capacity - 1);
    EXPECT_EQ(table.begin_closing(63), &file);
    EXPECT_EQ(table.begin_closing(63), nullptr) << "one only closes it";
    EXPECT_TRUE(table.contains(63) && table.is_closing(63));
    EXPECT_EQ(table.find(63), nullptr);
    table.end_closing(63);
    EXPECT_FALSE(table.contains(63) || table.is_closing(63));
    table.put(63, file);
    EXPECT_EQ(table.begin_closing(63), &file);
    EXPECT_EQ(table.take(63), nullptr) << "another file has its number";
    table.put(63, file);
    table.end_closing(63);
    EXPECT_EQ(table.find(63), &file) << "another file has";
    EXPECT_EQ(table.take(63), &file);
    EXPECT_EQ(table.take(63), nullptr) << "one only gets it";
    EXPECT_EQ(table.next(1), IntegerTable::capacity - 1);
    for (const int none : {-1, IntegerTable::capacity}) {
        EXPECT_FALSE(table.contains(none));
        EXPECT_EQ(table.take(none), nullptr);
    }
    EXPECT_EQ(table.next(IntegerTable::capacity), IntegerTable::capacity);
}

}  // namespace
}  // namespace verbline::verbs
