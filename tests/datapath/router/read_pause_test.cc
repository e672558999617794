// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/router/read_pause.h"

#include <gtest/gtest.h>

namespace verbline::router {
namespace {

constexpr Time now = second;

/// How long a busy shard leaves a device out whose silent read took `cost`.
Time pause_after(Time cost) {
    ReadPause pause;
    pause.note(false, now, cost);
    Time end = now;
    while (pause.skips(true, end)) end += microsecond;
    return end - now;
}

TEST(ReadPause, FollowsWhatASilentReadCosts) {
    EXPECT_EQ(pause_after(0), ReadPause::shortest);
    EXPECT_EQ(pause_after(microsecond), ReadPause::shortest);
    EXPECT_EQ(pause_after(6 * microsecond), 240 * microsecond);
    EXPECT_EQ(pause_after(millisecond), ReadPause::longest) << "whose thread lost its CPU meanwhile";
}

TEST(ReadPause, IsForBusyShardsAndSilentDevices) {
    ReadPause pause;
    EXPECT_FALSE(pause.skips(true, now)) << "not read yet";
    pause.note(false, now, microsecond);
    EXPECT_TRUE(pause.skips(true, now));
    EXPECT_FALSE(pause.skips(false, now));
    pause.note(true, now, microsecond);
    EXPECT_FALSE(pause.skips(true, now));
}

}  // namespace
}  // namespace verbline::router
