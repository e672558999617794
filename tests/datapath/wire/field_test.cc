// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/field.h"

#include <array>

#include <gtest/gtest.h>

#include "datapath/wire/header.h"
#include "datapath/wire/types.h"
#include "tests/support/hex.h"

namespace verbline::wire {
namespace {

using test::from_hex;
using test::to_hex;

TEST(BitField, LoadsAcrossBytes) {
    const auto bytes = from_hex("0123456789abcdef");
    EXPECT_EQ((BitField<at(0), 8>::load(bytes)), 0x01u);
    EXPECT_EQ((BitField<at(0, 4), 8>::load(bytes)), 0x12u);
    EXPECT_EQ((BitField<at(1), 24>::load(bytes)), 0x234567u);
    EXPECT_EQ((BitField<at(2, 1), 1>::load(bytes)), 1u);
    EXPECT_EQ((BitField<at(2, 2), 1>::load(bytes)), 0u);
    EXPECT_EQ((BitField<at(3, 4), 20>::load(bytes)), 0x789abu);
    EXPECT_EQ((BitField<at(0), 64>::load(bytes)), 0x0123456789abcdefu);
    EXPECT_EQ((BitField<at(4, 1), 30>::load(bytes)), 0x89abcdefu >> 1 & 0x3fffffffu);
}

TEST(BitField, StoresAndKeepsItsNeighbours) {
    auto bytes = from_hex("ffffffffffffffff");
    BitField<at(0, 4), 8>::store(bytes, 0);
    EXPECT_EQ(to_hex(bytes), "f00fffffffffffff");
    BitField<at(2, 1), 1>::store(bytes, 0);
    EXPECT_EQ(to_hex(bytes), "f00fbfffffffffff");
    BitField<at(4, 3), 13>::store(bytes, 0x1234);
    EXPECT_EQ(to_hex(bytes), "f00fbffff234ffff");
}

TEST(BitField, CutsOffWhatDoesNotFit) {
    auto bytes = from_hex("0000");
    BitField<at(0, 4), 4>::store(bytes, 0x3f);
    EXPECT_EQ(to_hex(bytes), "0f00");
}

struct Sample {
    static constexpr std::size_t size = 12;

    std::uint8_t version_like = 0;
    Psn psn{};
    MacAddress mac{};
    bool flag = false;

    using Layout = Fields<Field<&Sample::version_like, at(0), 4>, Constant<at(0, 4), 4, 7, Malformed::version>,
                          Field<&Sample::psn, at(1), 24>, Field<&Sample::mac, at(4), 48>,
                          Field<&Sample::flag, at(10), 1>, Reserved<at(10, 1), 15>>;
    static_assert(Layout::tile(size));
    bool operator==(const Sample&) const = default;
};

TEST(Layout, TilesOnlyWithoutGapAndOverlap) {
    using A = Reserved<at(0), 8>;
    static_assert(Fields<A, Reserved<at(1), 8>>::tile(2));
    static_assert(!Fields<A, Reserved<at(1), 8>>::tile(3), "too short");
    static_assert(!Fields<A, Reserved<at(1), 8>>::tile(1), "too long");
    static_assert(!Fields<A, Reserved<at(1, 1), 7>>::tile(2), "a gap of one bit");
    static_assert(!Fields<A, Reserved<at(0, 7), 9>>::tile(2), "an overlap of one bit");
    static_assert(!Fields<Reserved<at(1), 8>, A>::tile(2), "out of order");
}

TEST(Layout, WorksInConstantExpressions) {
    constexpr std::array<std::byte, 12> bytes = [] {
        std::array<std::byte, 12> out{};
        write(Sample{.version_like = 3, .psn = Psn{0x123456}, .flag = true}, std::span(out));
        return out;
    }();
    static_assert(bytes[0] == std::byte{0x37} && bytes[2] == std::byte{0x34} && bytes[10] == std::byte{0x80});
    static_assert(read<Sample>(bytes)->psn == Psn{0x123456});
}

TEST(View, ExistsOnlyOverEnoughBytes) {
    const auto bytes = from_hex("070102030102030405068000 ff");
    for (std::size_t n = 0; n < Sample::size; ++n) {
        ASSERT_FALSE(View<Sample>::over(Bytes(bytes).first(n)));
        EXPECT_EQ(View<Sample>::over(Bytes(bytes).first(n)).error(), Malformed::truncated);
    }
    const auto view = View<Sample>::over(bytes);
    ASSERT_TRUE(view);
    EXPECT_EQ(view->bytes().data(), bytes.data());
    EXPECT_EQ(view->get<&Sample::psn>(), Psn{0x010203});
    EXPECT_EQ(view->get<&Sample::mac>().bytes[5], std::byte{6});
    EXPECT_TRUE(view->get<&Sample::flag>());
}

TEST(View, ChangesOneFieldInPlace) {
    auto bytes = from_hex("f70102030102030405067fff");
    const auto view = View<Sample, std::byte>::over(bytes);
    ASSERT_TRUE(view);
    view->set<&Sample::psn>(Psn{0xabcdef});
    view->set<&Sample::flag>(true);
    view->set<&Sample::version_like>(1);
    EXPECT_EQ(to_hex(bytes), "17abcdef010203040506ffff");
}

TEST(View, RefusesTheWrongConstantOnlyAsAValue) {
    const auto bytes = from_hex("f80102030102030405068000");
    const auto view = View<Sample>::over(bytes);
    ASSERT_TRUE(view);
    EXPECT_EQ(view->value().error(), Malformed::version);
}

}  // namespace
}  // namespace verbline::wire
