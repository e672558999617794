// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/router/read_pause.h"

#include <gtest/gtest.h>

namespace verbline::router {
namespace {

constexpr Time now = second;

/// How long a busy shard leaves a device out whose silent read took `cost`, if it has so many.
Time pause_after(Time cost, unsigned devices = 1) {
    ReadPause pause;
    pause.note(false, now, cost, devices);
    Time end = now;
    while (pause.skips(true, end)) end += microsecond;
    return end - now;
}

TEST(ReadPause, FollowsWhatASilentReadCosts) {
    EXPECT_EQ(pause_after(0), ReadPause::shortest);
    EXPECT_EQ(pause_after(microsecond), ReadPause::shortest);
    EXPECT_EQ(pause_after(6 * microsecond), 240 * microsecond);
    EXPECT_EQ(pause_after(2 * microsecond, 3), 240 * microsecond) << "all of them together take no more";
    EXPECT_EQ(pause_after(millisecond), ReadPause::longest) << "whose thread lost its CPU meanwhile";
}

TEST(ReadPause, IsForBusyShardsAndSilentDevices) {
    ReadPause pause;
    EXPECT_FALSE(pause.skips(true, now)) << "not read yet";
    pause.note(false, now, microsecond, 1);
    EXPECT_TRUE(pause.skips(true, now));
    EXPECT_FALSE(pause.skips(false, now));
    pause.note(true, now, microsecond, 1);
    EXPECT_FALSE(pause.skips(true, now));
}

}  // namespace
}  // namespace verbline::router
