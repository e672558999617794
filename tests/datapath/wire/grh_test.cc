// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/grh.h"

#include <gtest/gtest.h>

#include "datapath/wire/text.h"
#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

TEST(Grh, Golden) {
    expect_golden("6abcdef1 0030 1b 40 fe80000000000000 0000000000100003 ff12401bffff0000 00000000ffffffff",
                  Grh{.traffic_class = 0xab,
                      .flow_label = 0xcdef1,
                      .payload_length = 48,
                      .hop_limit = 64,
                      .source = Gid::of(default_subnet_prefix, Guid{0x10'0003}),
                      .destination = *from_string<Gid>("ff12:401b:ffff::ffff:ffff")});
}

TEST(Grh, RefusesOtherVersions) {
    auto bytes = test::from_hex(emitted(Grh{}));
    bytes[0] = std::byte{0x40};
    EXPECT_EQ(Grh::parse(bytes).error(), Malformed::version);
}

}  // namespace
}  // namespace verbline::wire
