// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/link/transport_header.h"

#include <gtest/gtest.h>

#include "tests/datapath/link/frames.h"

namespace verbline::link {
namespace {

using test::Way;

struct TransportHeader : ::testing::TestWithParam<Way> {};

TEST_P(TransportHeader, IsWhereAReceiverFindsIt) {
    const auto frame = test::frame_on(GetParam(), 33);
    const auto arrival = test::open_frame(frame);
    ASSERT_TRUE(arrival);
    EXPECT_EQ(transport_header_at(frame), arrival->bth_at);
    EXPECT_EQ(transport_header(frame, arrival->bth_at).get<&wire::Bth::dest>(), wire::Qpn{17});
}

TEST_P(TransportHeader, IsNoneInAFrameThatEndsBeforeIt) {
    const auto frame = test::frame_on(GetParam(), 0);
    const auto end = test::open_frame(frame)->bth_at + wire::Bth::size;
    for (std::size_t size = 0; size < end; ++size) {
        EXPECT_FALSE(transport_header_at(wire::Bytes(frame).first(size))) << size;
    }
    EXPECT_TRUE(transport_header_at(wire::Bytes(frame).first(end)));
}

INSTANTIATE_TEST_SUITE_P(, TransportHeader, ::testing::ValuesIn(test::ways()),
                         [](const auto& info) { return info.param.name; });

TEST(TransportHeaderOf, OtherFramesHaveNone) {
    auto frame = test::frame_on(test::ways().front(), 8);  // RoCE v2 over IPv4
    auto changed = frame;
    changed[14 + 9] = std::byte{6};  // TCP
    EXPECT_FALSE(transport_header_at(changed));
    changed = frame;
    changed[14 + 20 + 3] ^= std::byte{1};  // another port
    EXPECT_FALSE(transport_header_at(changed));
    changed = frame;
    changed[14 + 7] = std::byte{1};  // a fragment behind the first
    EXPECT_FALSE(transport_header_at(changed));
    changed = frame;
    changed[12] = std::byte{8}, changed[13] = std::byte{6};  // ARP
    EXPECT_FALSE(transport_header_at(changed));
}

}  // namespace
}  // namespace verbline::link
