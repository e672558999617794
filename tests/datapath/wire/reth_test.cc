// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/reth.h"

#include <gtest/gtest.h>

#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

// An RDMA WRITE of rping in the captures.
TEST(Reth, Golden) {
    expect_golden("000056384f475fd0 000004b5 00000064",
                  Reth{.address = 0x56384f475fd0, .rkey = RKey{0x4b5}, .length = 100});
}

}  // namespace
}  // namespace verbline::wire
