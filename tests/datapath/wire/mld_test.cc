// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/mld.h"

#include <gtest/gtest.h>

#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

Ipv6Address group() {
    Ipv6Address address;
    std::ranges::copy(test::from_hex("ff0e0000000000000000000000000102"), address.bytes.begin());
    return address;
}

TEST(Mld, GoldenVersion1) {
    expect_golden("83 00 1234 0000 0000 ff0e0000000000000000000000000102",
                  Mld{.type = mld_type::report_v1, .checksum = 0x1234, .group = group()});
    expect_golden("82 00 1234 2710 0000 00000000000000000000000000000000",
                  Mld{.type = mld_type::query, .checksum = 0x1234, .max_response = 10'000});
}

TEST(Mld, GoldenVersion2Report) {
    expect_golden("8f 00 1234 0000 0001", MldReport{.checksum = 0x1234, .records = 1});
    expect_golden("04 00 0000 ff0e0000000000000000000000000102",
                  MldRecord{.type = GroupRecordType::change_to_exclude, .group = group()});
}

TEST(Mld, CodeMustBeZero) {
    auto bytes = test::from_hex(emitted(Mld{.type = mld_type::query}));
    bytes[1] = std::byte{1};
    EXPECT_EQ(Mld::parse(bytes).error(), Malformed::version);
}

}  // namespace
}  // namespace verbline::wire
