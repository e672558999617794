// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/notice.h"

#include <string_view>

#include <gtest/gtest.h>

#include "datapath/wire/text.h"
#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

// A Report of OpenSM: a group was created. The bytes around the GID are whatever was in its memory.
constexpr std::string_view report =
    "83000004 0042 0001 b884 509bfc7f0000 ff12401bffff00000000000000000707 "
    "b0160054d17f0000a34f0976d17f000050160054d17f0000"
    "b084509bfc7f0000 fe800000000000000000000000100001";

TEST(Notice, ReadsWhatOpensmReports) {
    const auto notice = Notice::parse(test::from_hex(report));
    ASSERT_TRUE(notice);
    EXPECT_TRUE(notice->generic);
    EXPECT_EQ(notice->type, 3);
    EXPECT_EQ(notice->producer, Notice::from_class_manager);
    EXPECT_EQ(notice->trap, static_cast<std::uint16_t>(Trap::multicast_created));
    EXPECT_EQ(notice->issuer_lid, Lid{1});
    EXPECT_TRUE(notice->toggle);
    EXPECT_EQ(notice->count, 0x3884);
    EXPECT_EQ(to_string(notice_gid(*notice)), "ff12:401b:ffff::707");
    EXPECT_EQ(to_string(notice->issuer_gid), "fe80::10:1");
    EXPECT_EQ(emitted(*notice), test::to_hex(test::from_hex(report)));
}

}  // namespace
}  // namespace verbline::wire
