// SPDX-License-Identifier: BSD-3-Clause
// What holds for every header, whatever it is: value and bytes turn into each other without loss, no truncation is
// taken for a header, and each bit either is part of the value, or must be as it is, or is reserved.
#include "datapath/wire/header.h"

#include <array>
#include <random>

#include <gtest/gtest.h>

#include "tests/datapath/wire/every_header.h"

namespace verbline::wire {
namespace {

/// A header with all fields at random, but such that `parse` has nothing against its lengths.
template <class Header>
Header random_header(std::mt19937& random) {
    std::array<std::byte, wire_size<Header>> bytes{};
    for (auto& byte : bytes) byte = static_cast<std::byte>(random());
    Header header{};
    LayoutOf<Header>::type::load(bytes, header);
    if constexpr (std::same_as<Header, Ipv4>) header.header_words = 5, header.total_length = 20;
    if constexpr (std::same_as<Header, Ipv6>) header.payload_length = 0;
    if constexpr (std::same_as<Header, Udp>) header.length = 8;
    if constexpr (std::same_as<Header, Tcp>) header.header_words = 5;
    if constexpr (std::same_as<Header, NeighbourMessage>) header.type = icmpv6_type::neighbour_advertisement;
    return header;
}

template <class Header>
std::array<std::byte, wire_size<Header>> bytes_of(const Header& header) {
    std::array<std::byte, wire_size<Header>> bytes{};
    header.emit(bytes);
    return bytes;
}

template <class... Part>
constexpr std::size_t reserved_bits(Fields<Part...>) {
    constexpr auto bits = []<class P>(P) -> std::size_t {
        if constexpr (requires { typename LayoutOf<typename P::Value>::type; }) {
            return reserved_bits(typename LayoutOf<typename P::Value>::type{});
        }
        return requires { &P::load; } || requires { P::refusal; } ? 0 : P::width;
    };
    return (bits(Part{}) + ...);
}

template <class Header>
class HeaderTest : public testing::Test {};
TYPED_TEST_SUITE(HeaderTest, EveryHeader<testing::Types>);

TYPED_TEST(HeaderTest, SurvivesEmitAndParse) {
    std::mt19937 random(1);
    for (int i = 0; i < 200; ++i) {
        const auto header = random_header<TypeParam>(random);
        const auto bytes = bytes_of(header);
        const auto parsed = TypeParam::parse(bytes);
        ASSERT_TRUE(parsed);
        EXPECT_EQ(*parsed, header);
        EXPECT_EQ(bytes_of(*parsed), bytes);
    }
}

TYPED_TEST(HeaderTest, RefusesEveryTruncation) {
    std::mt19937 random(2);
    const auto bytes = bytes_of(random_header<TypeParam>(random));
    for (std::size_t n = 0; n < bytes.size(); ++n) {
        const auto parsed = TypeParam::parse(Bytes(bytes).first(n));
        ASSERT_FALSE(parsed) << n;
        EXPECT_EQ(parsed.error(), Malformed::truncated) << n;
    }
}

TYPED_TEST(HeaderTest, LooksAtNothingBehindItself) {
    std::mt19937 random(3);
    const auto header = random_header<TypeParam>(random);
    const auto bytes = bytes_of(header);
    std::array<std::byte, sizeof bytes + 7> longer{};
    longer.fill(std::byte{0xff});
    std::ranges::copy(bytes, longer.begin());
    EXPECT_EQ(TypeParam::parse(longer), TypeParam::parse(bytes));
}

TYPED_TEST(HeaderTest, HasNoIdleBitButTheReservedOnes) {
    std::mt19937 random(4);
    const auto header = random_header<TypeParam>(random);
    const auto bytes = bytes_of(header);
    std::size_t idle = 0;
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
        auto changed = bytes;
        changed[bit / 8] ^= std::byte{0x80} >> (bit % 8);
        const auto parsed = TypeParam::parse(changed);
        if (parsed && *parsed == header) ++idle;
    }
    EXPECT_EQ(idle, reserved_bits(typename LayoutOf<TypeParam>::type{}));
}

}  // namespace
}  // namespace verbline::wire
