// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/transport/credits.h"

#include <gtest/gtest.h>

namespace verbline::transport {
namespace {

TEST(Credits, OfACodeAreWhatTheTableSays) {
    EXPECT_EQ(credits_of(0), 0u);
    EXPECT_EQ(credits_of(5), 6u);
    EXPECT_EQ(credits_of(30), 32768u);
    EXPECT_FALSE(credits_of(31)) << "no limit";
}

TEST(Credits, NeverPromiseMoreThanThereAre) {
    for (std::uint32_t requests = 0; requests < 40000; ++requests) {
        const auto code = credit_code(requests);
        EXPECT_LE(*credits_of(code), requests);
        if (code == 30) break;
        EXPECT_GT(*credits_of(static_cast<std::uint8_t>(code + 1)), requests);
    }
}

}  // namespace
}  // namespace verbline::transport
