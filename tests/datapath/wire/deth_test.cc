// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/deth.h"

#include <gtest/gtest.h>

#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

TEST(Deth, Golden) {
    expect_golden("80010000 00000001", Deth{.qkey = gsi_qkey, .source = Qpn{1}});
}
TEST(Deth, GoldenOfMckey) {
    expect_golden("01234567 00000011", Deth{.qkey = QKey{0x01234567}, .source = Qpn{0x11}});
}

}  // namespace
}  // namespace verbline::wire
