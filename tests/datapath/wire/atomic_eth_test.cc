// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/atomic_eth.h"

#include <gtest/gtest.h>

#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

// Compare-and-swap and fetch-and-add of perftest in the captures, and an answer.
TEST(AtomicEth, GoldenOfACompareAndSwap) {
    expect_golden("0000563e172ff000 00000c79 0000000000000000 0000000000000000",
                  AtomicEth{.address = 0x563e172ff000, .rkey = RKey{0xc79}});
}
TEST(AtomicEth, GoldenOfAFetchAndAdd) {
    expect_golden("000055ebb4a83000 00000ec2 0000000000000001 0000000000000000",
                  AtomicEth{.address = 0x55ebb4a83000, .rkey = RKey{0xec2}, .swap_or_add = 1});
}
TEST(AtomicAckEth, Golden) {
    expect_golden("c4baf1b388c84477", AtomicAckEth{.original = 0xc4baf1b388c84477});
}

}  // namespace
}  // namespace verbline::wire
