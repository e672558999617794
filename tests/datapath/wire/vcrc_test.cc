// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/vcrc.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tests/datapath/wire/crc_reference.h"
#include "tests/support/hex.h"

namespace verbline::wire {
namespace {

class VcrcEngine : public testing::TestWithParam<Vcrc::Engine> {
protected:
    void SetUp() override {
        if (!Vcrc::available(GetParam())) GTEST_SKIP() << "this CPU has no carry-less multiplication of this width";
    }
    Vcrc over(Bytes bytes) {
        Vcrc vcrc(GetParam());
        vcrc.add(bytes);
        return vcrc;
    }
    std::vector<std::byte> random_bytes(std::size_t size) {
        std::vector<std::byte> bytes(size);
        for (auto& byte : bytes) byte = static_cast<std::byte>(random_());
        return bytes;
    }
    std::mt19937 random_{11};
};

TEST_P(VcrcEngine, EqualsTheDefinition) {
    EXPECT_EQ(over({}).value(), reference::vcrc({}));
    for (std::size_t size = 1; size < 1100; ++size) {
        const auto bytes = random_bytes(size);
        ASSERT_EQ(over(bytes).value(), reference::vcrc(bytes)) << size;
    }
    const auto large = random_bytes(8192);
    EXPECT_EQ(over(large).value(), reference::vcrc(large));
}

TEST_P(VcrcEngine, ReadsUnalignedBytes) {
    const auto bytes = random_bytes(700);
    for (std::size_t from = 0; from < 64; ++from) {
        const auto part = Bytes(bytes).subspan(from, 600);
        ASSERT_EQ(over(part).value(), reference::vcrc(part)) << from;
    }
}

TEST_P(VcrcEngine, ComesOutTheSameInPieces) {
    const auto bytes = random_bytes(2100);
    for (int i = 0; i < 200; ++i) {
        Vcrc vcrc(GetParam());
        for (Bytes rest = bytes; !rest.empty();) {
            const auto piece = rest.first(std::min<std::size_t>(rest.size(), random_() % 700));
            vcrc.add(piece);
            rest = rest.subspan(piece.size());
        }
        ASSERT_EQ(vcrc.value(), reference::vcrc(bytes));
    }
}

TEST_P(VcrcEngine, VerifiesItsOwnAndNoOther) {
    auto bytes = random_bytes(90);
    const auto crc = over(bytes).bytes();
    bytes.insert(bytes.end(), crc.begin(), crc.end());
    EXPECT_TRUE(over(bytes).verifies());
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
        auto changed = bytes;
        changed[bit / 8] ^= std::byte{1} << (bit % 8);
        ASSERT_FALSE(over(changed).verifies()) << bit;
    }
}

INSTANTIATE_TEST_SUITE_P(All, VcrcEngine,
                         testing::Values(Vcrc::Engine::table, Vcrc::Engine::carryless, Vcrc::Engine::carryless_wide));

TEST(Vcrc, BestIsAvailable) {
    EXPECT_TRUE(Vcrc::available(Vcrc::best()));
}

// The sample packet of IBTA volume 1, 7.8, with its ICRC.
TEST(Vcrc, OfTheStandardsLocalPacket) {
    Vcrc vcrc;
    vcrc.add(
        test::from_hex("7012375c000e17d2 0a20248700 87b1b3000dec2a 01710a1c015d400238f27a05"
                       "0000000ebb884d85fd5cfba4728bc0690ed40000 9625b75a"));
    EXPECT_EQ(test::to_hex(vcrc.bytes()), "45fa");
}

}  // namespace
}  // namespace verbline::wire
