// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/crc_fold.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tests/datapath/wire/crc_reference.h"

namespace verbline::wire {
namespace {

struct CrcFold : testing::TestWithParam<FoldWidth> {
    void SetUp() override {
        if (!can_fold_crcs(GetParam())) GTEST_SKIP() << "this CPU has no carry-less multiplication of that width";
    }
    std::vector<std::byte> random_bytes(std::size_t size) {
        std::vector<std::byte> bytes(size);
        for (auto& byte : bytes) byte = static_cast<std::byte>(random_());
        return bytes;
    }
    static CrcStates states_after(Bytes bytes) {
        return {~reference::crc32(bytes), static_cast<std::uint16_t>(~reference::vcrc(bytes))};
    }
    std::mt19937 random_{13};
};

TEST_P(CrcFold, ContinuesAnyStateOverAnyNumberOfBytes) {
    for (std::size_t size = least_folded; size < 600; ++size) {
        const auto bytes = random_bytes(3 + size);
        const auto before = states_after(Bytes(bytes).first(3)), after = states_after(bytes);
        const auto rest = Bytes(bytes).subspan(3);
        ASSERT_EQ(fold_crcs(before, rest, GetParam()), after) << size;
        ASSERT_EQ(fold_icrc(before.icrc, rest, GetParam()), after.icrc) << size;
    }
    const auto large = random_bytes(8192);
    EXPECT_EQ(fold_crcs({0xffff'ffff, 0xffff}, large, GetParam()), states_after(large));
}

TEST_P(CrcFold, BothStatesAreIndependent) {
    const auto bytes = random_bytes(100);
    for (int i = 0; i < 100; ++i) {
        const CrcStates one{static_cast<std::uint32_t>(random_()), static_cast<std::uint16_t>(random_())};
        const CrcStates other{one.icrc, static_cast<std::uint16_t>(~one.vcrc)};
        const auto after = fold_crcs(one, bytes, GetParam());
        EXPECT_EQ(after.icrc, fold_icrc(one.icrc, bytes, GetParam()));
        EXPECT_EQ(fold_crcs(other, bytes, GetParam()).icrc, after.icrc);
        EXPECT_NE(fold_crcs(other, bytes, GetParam()).vcrc, after.vcrc);
    }
}

TEST_P(CrcFold, ReadsNothingBesideTheBytes) {
    for (const std::size_t size :
         {16, 17, 31, 32, 33, 63, 127, 128, 129, 255, 257, 272, 287, 304, 319, 511, 512, 513}) {
        const std::vector<std::byte> bytes(size);  // its end is watched by AddressSanitizer
        const auto aligned = fold_crcs({1, 1}, bytes, GetParam());
        std::vector<std::byte> shifted(size + 64, std::byte{0xff});
        for (std::size_t from = 0; from < 64; ++from) {
            std::fill_n(shifted.begin(), size + 64, std::byte{0xff});
            std::fill_n(shifted.begin() + static_cast<std::ptrdiff_t>(from), size, std::byte{0});
            ASSERT_EQ(fold_crcs({1, 1}, Bytes(shifted).subspan(from, size), GetParam()), aligned)
                << size << ' ' << from;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Widths, CrcFold, testing::Values(FoldWidth::bits_256, FoldWidth::bits_512),
                         [](const auto& width) { return width.param == FoldWidth::bits_256 ? "narrow" : "wide"; });

}  // namespace
}  // namespace verbline::wire
