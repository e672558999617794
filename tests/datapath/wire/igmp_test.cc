// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/igmp.h"

#include <gtest/gtest.h>

#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

TEST(Igmp, GoldenVersion2Report) {
    expect_golden("16 00 f8fa ef010203",
                  Igmp{.type = igmp_type::report_v2, .checksum = 0xf8fa, .group = ipv4(239, 1, 2, 3)});
}

TEST(Igmp, GoldenGeneralQuery) {
    expect_golden("11 64 ee9b 00000000", Igmp{.type = igmp_type::query, .max_response = 100, .checksum = 0xee9b});
}

TEST(Igmp, GoldenVersion3Report) {
    expect_golden("22 00 e8f9 0000 0001", IgmpReport{.checksum = 0xe8f9, .records = 1});
    expect_golden("04 00 0000 ef010203",
                  IgmpRecord{.type = GroupRecordType::change_to_exclude, .group = ipv4(239, 1, 2, 3)});
}

TEST(Igmp, AReportOfVersion3IsNoOther) {
    EXPECT_EQ(IgmpReport::parse(test::from_hex(emitted(Igmp{.type = igmp_type::report_v2}))).error(),
              Malformed::version);
}

}  // namespace
}  // namespace verbline::wire
