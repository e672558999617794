// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/lrh.h"

#include <gtest/gtest.h>

#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

// From the sample packet of IBTA volume 1, 7.8.
TEST(Lrh, Golden) {
    expect_golden("7012 375c 000e 17d2", Lrh{.virtual_lane = 7,
                                             .service_level = 1,
                                             .next = NextHeader::bth,
                                             .destination = Lid{0x375c},
                                             .packet_words = 14,
                                             .source = Lid{0x17d2}});
}

TEST(Lrh, PacketLengthHasElevenBits) {
    expect_golden("0003 0000 07ff 0000", Lrh{.next = NextHeader::grh, .packet_words = 0x7ff});
    EXPECT_EQ((Lrh{.packet_words = 0x7ff}.packet_size()), 8188u);
}

TEST(Lrh, RefusesOtherVersions) {
    EXPECT_EQ(Lrh::parse(test::from_hex("0102000000020000")).error(), Malformed::version);
}

}  // namespace
}  // namespace verbline::wire
