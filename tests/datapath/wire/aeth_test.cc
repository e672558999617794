// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/aeth.h"

#include <gtest/gtest.h>

#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

// The kernel's rxe sends this ACK in the captures.
TEST(Aeth, GoldenOfAnAck) {
    expect_golden("1f000001", Aeth{.kind = AethKind::ack, .value = credits_invalid, .msn = 1});
}
TEST(Aeth, GoldenOfASequenceNak) {
    expect_golden("60000002",
                  Aeth{.kind = AethKind::nak, .value = static_cast<std::uint8_t>(NakCode::psn_sequence), .msn = 2});
}
TEST(Aeth, GoldenOfAnRnrNak) {
    expect_golden("2effffff", Aeth{.kind = AethKind::rnr_nak, .value = 14, .msn = 0xffffff});
}

}  // namespace
}  // namespace verbline::wire
