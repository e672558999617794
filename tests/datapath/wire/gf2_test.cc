// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/gf2.h"

#include <gtest/gtest.h>

namespace verbline::wire::gf2 {
namespace {

constexpr Polynomial crc32_generator = 0x1'04c1'1db7, crc16_generator = 0x1'100b;

TEST(Gf2, MultipliesAndDivides) {
    EXPECT_EQ(multiply(0b11, 0b11), 0b101U);  // (x + 1)^2 = x^2 + 1
    const auto product = multiply(crc32_generator, crc16_generator);
    EXPECT_EQ(degree(product), 48U);
    EXPECT_EQ(divide(product, crc32_generator).quotient, crc16_generator);
    EXPECT_EQ(divide(product, crc32_generator).remainder, 0U);
    EXPECT_EQ(divide(product ^ 0x1234, crc16_generator).remainder, 0x1234U);
    EXPECT_EQ(divide(3, crc16_generator).remainder, 3U);
}

TEST(Gf2, PowersAreThoseOfOneFactorAtATime) {
    EXPECT_EQ(power(0, crc16_generator), 1U);
    EXPECT_EQ(power(15, crc16_generator), 0x8000U);
    EXPECT_EQ(power(16, crc16_generator), 0x100bU);
    EXPECT_EQ(power(40, crc32_generator),
              multiply(power(31, crc32_generator), power(9, crc32_generator), crc32_generator));
}

TEST(Gf2, EachNumberTimesItsInverseIsOne) {
    for (Polynomial p = 1; p < 500; ++p) {
        ASSERT_EQ(multiply(inverse(p, crc32_generator), p, crc32_generator), 1U) << p;
        ASSERT_EQ(multiply(inverse(p, crc16_generator), p, crc16_generator), 1U) << p;
    }
}

TEST(Gf2, Reverses) {
    EXPECT_EQ(reversed(1), 0x8000'0000'0000'0000U);
    EXPECT_EQ(reversed(0x8000'0000'0000'0001), 0x8000'0000'0000'0001U);
    EXPECT_EQ(reversed(0b110) >> 60, 0b0110U);
}

}  // namespace
}  // namespace verbline::wire::gf2
