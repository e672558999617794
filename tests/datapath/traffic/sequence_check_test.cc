// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/traffic/sequence_check.h"

#include <initializer_list>

#include <gtest/gtest.h>

namespace verbline::traffic {
namespace {

StreamTotals after(std::initializer_list<std::uint64_t> numbers) {
    SequenceCheck check;
    for (const auto number : numbers) check.receive(number);
    return check.totals();
}

TEST(SequenceCheck, InOrderNothingIsWrong) {
    SequenceCheck check;
    for (std::uint64_t number = 0; number < 3 * SequenceCheck::window; ++number) check.receive(number);
    EXPECT_EQ(check.totals().received, 3 * SequenceCheck::window);
    EXPECT_EQ(check.totals().missing(), 0u);
    EXPECT_EQ(check.totals().duplicates, 0u);
    EXPECT_EQ(check.totals().reordered, 0u);
}

TEST(SequenceCheck, GapIsMissing) {
    EXPECT_EQ(after({5, 6, 9, 10}).missing(), 2u);
    EXPECT_EQ(after({5, 6, 9, 10}).reordered, 0u);
}

TEST(SequenceCheck, LateFrameIsReorderedAndNotMissing) {
    const auto totals = after({0, 2, 3, 1, 4});
    EXPECT_EQ(totals.received, 5u);
    EXPECT_EQ(totals.missing(), 0u);
    EXPECT_EQ(totals.reordered, 1u);
}

TEST(SequenceCheck, DuplicateIsNeitherReceivedNorReordered) {
    const auto totals = after({0, 1, 1, 2, 0, 3});
    EXPECT_EQ(totals.received, 4u);
    EXPECT_EQ(totals.duplicates, 2u);
    EXPECT_EQ(totals.reordered, 0u);
    EXPECT_EQ(totals.missing(), 0u);
}

TEST(SequenceCheck, WindowForgetsWhatItHasPassed) {
    // Each number has the bit of one a window before: neither that one nor a gap may look like a duplicate.
    SequenceCheck check;
    for (std::uint64_t number = 0; number < SequenceCheck::window; ++number) check.receive(number);
    check.receive(2 * SequenceCheck::window + 10);
    check.receive(2 * SequenceCheck::window + 5);
    check.receive(SequenceCheck::window + 11);
    EXPECT_EQ(check.totals().duplicates, 0u);
    EXPECT_EQ(check.totals().reordered, 2u);
    EXPECT_EQ(check.totals().missing(), SequenceCheck::window + 11 - 3);
}

TEST(SequenceCheck, FrameBeforeTheFirstIsCounted) {
    const auto totals = after({100, 99, 99, 101});
    EXPECT_EQ(totals.lowest, 99u);
    EXPECT_EQ(totals.reordered, 1u);
    EXPECT_EQ(totals.duplicates, 1u);
    EXPECT_EQ(totals.missing(), 0u);
}

TEST(StreamTotals, QueuesTogetherKnowWhatIsMissing) {
    auto both = after({0, 2, 4, 8});
    both += after({});
    both += after({1, 3, 5, 9});
    EXPECT_EQ(both.received, 8u);
    EXPECT_EQ(both.lowest, 0u);
    EXPECT_EQ(both.highest, 9u);
    EXPECT_EQ(both.missing(), 2u);
}

}  // namespace
}  // namespace verbline::traffic
