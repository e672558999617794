// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/link/member.h"

#include <gtest/gtest.h>

namespace verbline::link {
namespace {

TEST(Member, HasARangeOfQueuePairNumbers) {
    EXPECT_EQ(member_of(wire::Qpn{0}), node_itself) << "QP0";
    EXPECT_EQ(member_of(wire::Qpn{1}), node_itself) << "QP1";
    for (const std::uint16_t number : {std::uint16_t{1}, std::uint16_t{77}, last_member}) {
        const MemberId member{number};
        EXPECT_EQ(member_of(wire::Qpn{first_qpn(member)}), member);
        EXPECT_EQ(member_of(wire::Qpn{first_qpn(member) + member_queue_pairs - 1}), member);
    }
    EXPECT_EQ(first_qpn(MemberId{last_member}) + member_queue_pairs, 1u << 24) << "all there are";
}

TEST(Member, SharedTargetsHaveNumbersOfTheNodesRange) {
    EXPECT_FALSE(is_shared_target(wire::gsi_qpn));
    EXPECT_FALSE(is_shared_target(wire::Qpn{own_queue_pairs - 1}));
    EXPECT_TRUE(is_shared_target(wire::Qpn{own_queue_pairs}));
    EXPECT_TRUE(is_shared_target(wire::Qpn{member_queue_pairs - 1}));
    EXPECT_FALSE(is_shared_target(wire::Qpn{first_qpn(MemberId{1}) + own_queue_pairs})) << "of a member's range";
}

TEST(Member, HasAMacAddress) {
    const auto mac = mac_of(MemberId{0x102});
    EXPECT_FALSE(mac.multicast());
    EXPECT_EQ(member_of(mac), MemberId{0x102});
    auto other = mac;
    other.bytes[0] = std::byte{2};
    EXPECT_FALSE(member_of(other));
}

}  // namespace
}  // namespace verbline::link
