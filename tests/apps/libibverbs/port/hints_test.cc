// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/port/hints.h"

#include <algorithm>
#include <cerrno>

#include <gtest/gtest.h>

namespace verbline::verbs {
namespace {

std::string printed(Hints& hints, const Error& error) {
    testing::internal::CaptureStderr();
    hints.give(error);
    return testing::internal::GetCapturedStderr();
}

TEST(HintsTest, AReasonIsPrintedOnce) {
    Hints hints(true);
    errno = EINVAL;
    EXPECT_EQ(printed(hints, {EINVAL, "give the peer's GID"}), "verbline: hint: give the peer's GID\n");
    EXPECT_EQ(printed(hints, {EINVAL, "give the peer's GID"}), "");
    EXPECT_EQ(printed(hints, {EINVAL, "the device has one port"}), "verbline: hint: the device has one port\n");
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(printed(hints, {EINVAL, ""}), "");
    EXPECT_EQ(printed(hints, {EAGAIN, "there is no event"}), "");
}

TEST(HintsTest, NothingIsPrintedUnasked) {
    Hints hints(false);
    EXPECT_EQ(printed(hints, {EINVAL, "give the peer's GID"}), "");
}

TEST(HintsTest, ThereIsAnEndToThem) {
    Hints hints(true);
    std::string all;
    for (std::size_t i = 0; i < Hints::most + 10; ++i) all += printed(hints, {EINVAL, std::to_string(i)});
    EXPECT_EQ(std::ranges::count(all, '\n'), Hints::most);
}

}  // namespace
}  // namespace verbline::verbs
