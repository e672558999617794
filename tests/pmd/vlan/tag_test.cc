// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/vlan/tag.h"

#include <gtest/gtest.h>

#include "tests/support/packet.h"

namespace verbline::pmd::vlan {
namespace {

using test::bytes_from, test::bytes_of, test::ByteVector;

const auto plain = bytes_from(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0x08, 0x00, 0x45, 0x46);
const auto tagged =
    bytes_from(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0x81, 0x00, 0xa1, 0x23, 0x08, 0x00, 0x45, 0x46);  // PCP 5

TEST(VlanTag, IsTakenOff) {
    const auto frame = test::make_packet(tagged);
    EXPECT_EQ(take(*frame), Id{0x123});
    EXPECT_EQ(bytes_of(frame), plain);
}

TEST(VlanTag, IsPutOnAndUndone) {
    const auto frame = test::make_packet(plain);
    frame->l2_len = 14;
    ASSERT_TRUE(put(*frame, Id{0x123}));
    auto without_priority = tagged;
    without_priority[14] = std::byte{0x01};
    EXPECT_EQ(bytes_of(frame), without_priority);
    EXPECT_EQ(frame->l2_len, 18U) << "where a device finds the IP header";
    undo_put(*frame);
    EXPECT_EQ(bytes_of(frame), plain);
    EXPECT_EQ(frame->l2_len, 14U);
}

TEST(VlanTag, MayBeAbsentOrOfPriorityOnly) {
    const auto frame = test::make_packet(plain);
    EXPECT_EQ(take(*frame), untagged);
    EXPECT_EQ(bytes_of(frame), plain);
    auto priority = tagged;
    priority[14] = std::byte{0xa0}, priority[15] = std::byte{0};
    const auto of_priority = test::make_packet(priority);
    EXPECT_EQ(take(*of_priority), untagged);
    EXPECT_EQ(bytes_of(of_priority), plain);
}

TEST(VlanTag, MayHaveBeenStrippedByTheDriver) {
    const auto frame = test::make_packet(plain);
    frame->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
    frame->vlan_tci = 0xa123;
    EXPECT_EQ(take(*frame), Id{0x123});
    EXPECT_EQ(bytes_of(frame), plain);
    EXPECT_EQ(take(*frame), untagged) << "and is taken once";
}

TEST(VlanTag, OfATruncatedFrameIsNone) {
    for (std::size_t size = 0; size < 18; ++size) {
        SCOPED_TRACE(size);
        const auto frame = test::make_packet(std::span(tagged).first(size));
        EXPECT_EQ(take(*frame), std::nullopt);
        EXPECT_EQ(frame->pkt_len, size);
    }
}

TEST(VlanTag, NeedsHeadroom) {
    const auto frame = test::make_packet(plain);
    ASSERT_NE(rte_pktmbuf_prepend(frame.get(), rte_pktmbuf_headroom(frame.get())), nullptr);
    const auto before = bytes_of(frame);
    EXPECT_FALSE(put(*frame, Id{5}));
    EXPECT_EQ(bytes_of(frame), before);
}

}  // namespace
}  // namespace verbline::pmd::vlan
