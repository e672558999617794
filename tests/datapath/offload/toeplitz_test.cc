// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/offload/toeplitz.h"

#include <algorithm>
#include <array>
#include <random>
#include <string_view>
#include <vector>

#include <rte_thash.h>

#include <gtest/gtest.h>

#include "tests/support/hex.h"

namespace verbline::offload {
namespace {

using Key = std::array<std::uint8_t, Toeplitz::key_size>;

/// The key that the RSS specification verifies implementations with.
constexpr Key specified_key{0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
                            0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
                            0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};

/// A row of the verification suite of the RSS specification (Microsoft, "Verifying the RSS Hash Calculation").
struct Specified {
    std::string_view addresses, ports;  ///< source, then destination
    std::uint32_t of_addresses, of_all;
};

constexpr Specified suite[] = {
    {"420995bb a18e6450", "0aea 06e6", 0x323e8fc2, 0x51ccc178},
    {"c75c6f02 41458c53", "3796 1283", 0xd718262a, 0xc626b0ea},
    {"1813c65f 0c16cfb8", "3262 9488", 0xd2d0a5de, 0x5c2b394a},
    {"261bcd1e d18ea306", "bc64 08a9", 0x82989176, 0xafc7327f},
    {"9927a3bf cabc7f02", "acdb 0517", 0x5d1809c5, 0x10e828a2},
    {"3ffe2501 02001fff 00000000 00000007  3ffe2501 02000003 00000000 00000001", "0aea 06e6", 0x2cc18cd5, 0x40207d3d},
    {"3ffe0501 00080000 026097ff fe40efab  ff020000 00000000 00000000 00000001", "3796 1283", 0x0f0c461c, 0xdde51bbf},
    {"3ffe1900 45450003 0200f8ff fe2167cf  fe800000 00000000 0200f8ff fe2167cf", "acdb 9488", 0x4b61e985, 0x02d1feef},
};

TEST(Toeplitz, IsWhatTheRssSpecificationSays) {
    const Toeplitz hash(specified_key);
    for (const auto& row : suite) {
        auto input = test::from_hex(row.addresses);
        const auto ports = test::from_hex(row.ports);
        EXPECT_EQ(hash(input), row.of_addresses) << row.addresses;
        EXPECT_EQ(hash(input) ^ hash(ports, input.size()), row.of_all) << row.addresses;
        input.insert(input.end(), ports.begin(), ports.end());
        EXPECT_EQ(hash(input), row.of_all) << row.addresses;
    }
}

TEST(Toeplitz, IsThatOfDpdkForAnyKeyAndInput) {
    std::mt19937 random(1);
    const auto byte = [&] { return static_cast<std::uint8_t>(random()); };
    for (int i = 0; i < 1000; ++i) {
        alignas(std::uint32_t) Key key;
        std::ranges::generate(key, byte);
        const Toeplitz hash(key);
        for (std::size_t words = 0; words <= Toeplitz::max_input / 4; ++words) {
            std::vector<std::byte> input(words * 4);
            std::ranges::generate(input, [&] { return std::byte{byte()}; });
            std::array<std::uint32_t, Toeplitz::max_input / 4> in_host_order{};
            for (std::size_t word = 0; word < words; ++word) in_host_order[word] = wire::load32(input, word * 4);
            const auto expected = rte_softrss(in_host_order.data(), static_cast<std::uint32_t>(words), key.data());
            ASSERT_EQ(hash(input), expected) << words << " words";
        }
    }
}

TEST(Toeplitz, IsZeroOfNothing) {
    EXPECT_EQ(Toeplitz(specified_key)({}), 0u);
    EXPECT_EQ(Toeplitz(specified_key)({}, Toeplitz::max_input), 0u);
}

}  // namespace
}  // namespace verbline::offload
