// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/path_record.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

// As OpenSM answers.
TEST(PathRecord, Golden) {
    expect_golden(
        "0000000000000000 fe800000000000000000000000100007 fe800000000000000000000000100004 0004 0003"
        "00000000 00 80 ffff 0000 84 83 92 00 000000000000",
        PathRecord{.destination_gid = Gid::of(default_subnet_prefix, Guid{0x10'0007}),
                   .source_gid = Gid::of(default_subnet_prefix, Guid{0x10'0004}),
                   .destination_lid = Lid{4},
                   .source_lid = Lid{3},
                   .reversible = true,
                   .pkey = PKey{0xffff},
                   .mtu_selector = Selector::exactly,
                   .mtu = IbMtu::bytes_2048,
                   .rate_selector = Selector::exactly,
                   .rate = 3,
                   .lifetime_selector = Selector::exactly,
                   .lifetime = 18});
}

TEST(PathRecord, GoldenOfTheRarerFields) {
    expect_golden(
        "1000000000000bad" + std::string(64, '0') + "00000000 8abcde40 12 05 8001 1233 45 46 07 ff 000000000000",
        PathRecord{.service_id = 0x1000'0000'0000'0bad,
                   .raw_traffic = true,
                   .flow_label = 0xabcde,
                   .hop_limit = 64,
                   .traffic_class = 0x12,
                   .path_count = 5,
                   .pkey = PKey{0x8001},
                   .qos_class = 0x123,
                   .service_level = 3,
                   .mtu_selector = Selector::less,
                   .mtu = IbMtu::bytes_4096,
                   .rate_selector = Selector::less,
                   .rate = 6,
                   .lifetime = 7,
                   .preference = 255});
}

TEST(PathRecord, ComponentsAreThoseOfAKnownGoodQuery) {
    EXPECT_EQ(path_component::destination_gid | path_component::source_gid | path_component::reversible |
                  path_component::path_count,
              0x180cu);
}

}  // namespace
}  // namespace verbline::wire
