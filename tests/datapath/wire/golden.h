// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One header as bytes seen elsewhere and as the value they must mean: checked both ways.

#include <array>
#include <string_view>

#include <gtest/gtest.h>

#include "datapath/wire/header.h"
#include "datapath/wire/types.h"
#include "tests/support/hex.h"

namespace verbline::wire {

// The two of the captures.
inline constexpr MacAddress first_machine{
    {std::byte{0x52}, std::byte{0x54}, std::byte{0}, std::byte{0x0e}, std::byte{0}, std::byte{1}}};
inline constexpr MacAddress second_machine{
    {std::byte{0x52}, std::byte{0x54}, std::byte{0}, std::byte{0x0e}, std::byte{0}, std::byte{2}}};

template <class Header>
std::string emitted(const Header& header) {
    std::array<std::byte, wire_size<Header>> bytes{};
    bytes.fill(std::byte{0xa5});  // what was there before must not show through
    write(header, std::span(bytes));
    return test::to_hex(bytes);
}

template <class Header>
void expect_golden(std::string_view hex, const Header& value) {
    const auto bytes = test::from_hex(hex);
    ASSERT_EQ(bytes.size(), wire_size<Header>);
    const auto parsed = read<Header>(bytes);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(*parsed, value);
    EXPECT_EQ(emitted(value), test::to_hex(bytes));
}

}  // namespace verbline::wire
