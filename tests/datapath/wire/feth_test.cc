// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/feth.h"

#include <gtest/gtest.h>

#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

TEST(Feth, Golden) {
    expect_golden("00000003", Feth{.placement = Feth::global_visibility | Feth::persistence});
    expect_golden("00000012", Feth{.selectivity = FlushSelectivity::memory_region, .placement = Feth::persistence});
}

TEST(Feth, KeepsReservedValuesForTheResponderToRefuse) {
    const auto feth = Feth::parse(test::from_hex("ffffffff"));
    ASSERT_TRUE(feth);
    EXPECT_EQ(*feth, (Feth{.selectivity = FlushSelectivity{3}, .placement = 15}));
}

}  // namespace
}  // namespace verbline::wire
