// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/mcmember_record.h"

#include <string>

#include <gtest/gtest.h>

#include "datapath/wire/ipoib.h"
#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

// OpenSM's answer to a join of the broadcast group.
TEST(McMemberRecord, Golden) {
    expect_golden(
        "ff12401bffff000000000000ffffffff fe800000000000000000000000100004 00000b1b c000 84 00 ffff 83 92"
        "00000000 21 000000",
        McMemberRecord{.mgid = ipoib_broadcast_mgid(PKey{0xffff}),
                       .port_gid = Gid::of(default_subnet_prefix, Guid{0x10'0004}),
                       .qkey = QKey{0xb1b},
                       .mlid = Lid{0xc000},
                       .mtu_selector = Selector::exactly,
                       .mtu = IbMtu::bytes_2048,
                       .pkey = PKey{0xffff},
                       .rate_selector = Selector::exactly,
                       .rate = 3,
                       .lifetime_selector = Selector::exactly,
                       .lifetime = 18,
                       .scope = 2,
                       .join_state = join_state::full_member});
}

TEST(McMemberRecord, GoldenOfTheRarerFields) {
    expect_golden(std::string(64, '0') + "00000000 0000 00 12 0000 00 00 3abcde40 e4 800000",
                  McMemberRecord{.traffic_class = 0x12,
                                 .service_level = 3,
                                 .flow_label = 0xabcde,
                                 .hop_limit = 64,
                                 .scope = 14,
                                 .join_state = join_state::send_only_non_member,
                                 .proxy_join = true});
}

TEST(McMemberRecord, ComponentsAreThoseOfAKnownGoodCreate) {
    using namespace mcmember_component;
    EXPECT_EQ(
        mgid | port_gid | qkey | traffic_class | pkey | service_level | flow_label | mcmember_component::join_state,
        0x130c7u);
}

}  // namespace
}  // namespace verbline::wire
