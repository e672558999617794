// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/program/prefix_table.h"

#include <random>

#include <gtest/gtest.h>

#include "tests/support/ipv6.h"

namespace verbline::program {
namespace {

using test::ipv6, test::ipv6_prefix;
using wire::ipv4, wire::Ipv4Address, wire::Ipv4Prefix, wire::Ipv6Address, wire::Ipv6Prefix;

TEST(PrefixTable, EmptyOneHoldsNothing) {
    EXPECT_EQ(PrefixTable<Ipv4Address>().lookup(ipv4(10, 0, 0, 1)), 0u);
    EXPECT_EQ(PrefixTable<Ipv6Address>().lookup(ipv6("::")), 0u);
}

TEST(PrefixTable, LongestPrefixGivesTheValue) {
    const PrefixTable<Ipv4Address> table(
        {{{ipv4(10, 0, 0, 0), 8}, 1}, {{ipv4(10, 1, 0, 0), 16}, 2}, {{ipv4(10, 1, 0, 7), 32}, 3}});
    EXPECT_EQ(table.lookup(ipv4(9, 255, 255, 255)), 0u);
    EXPECT_EQ(table.lookup(ipv4(10, 0, 0, 0)), 1u);
    EXPECT_EQ(table.lookup(ipv4(10, 1, 0, 6)), 2u);
    EXPECT_EQ(table.lookup(ipv4(10, 1, 0, 7)), 3u);
    EXPECT_EQ(table.lookup(ipv4(10, 1, 0, 8)), 2u);
    EXPECT_EQ(table.lookup(ipv4(10, 2, 0, 0)), 1u);
    EXPECT_EQ(table.lookup(ipv4(10, 255, 255, 255)), 1u);
    EXPECT_EQ(table.lookup(ipv4(11, 0, 0, 0)), 0u);
}

TEST(PrefixTable, PrefixesReachToBothEnds) {
    const PrefixTable<Ipv4Address> table({{{ipv4(0, 0, 0, 0), 0}, 4}, {{ipv4(255, 255, 255, 255), 32}, 5}});
    EXPECT_EQ(table.lookup(ipv4(0, 0, 0, 0)), 4u);
    EXPECT_EQ(table.lookup(ipv4(255, 255, 255, 254)), 4u);
    EXPECT_EQ(table.lookup(ipv4(255, 255, 255, 255)), 5u);
    const PrefixTable<Ipv6Address> all({{ipv6_prefix("::/0"), 6}, {ipv6_prefix("ffff::/16"), 7}});
    EXPECT_EQ(all.lookup(ipv6("::")), 6u);
    EXPECT_EQ(all.lookup(ipv6("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff")), 7u);
}

TEST(PrefixTable, Ipv6PrefixesEndInEitherHalf) {
    const PrefixTable<Ipv6Address> table({{ipv6_prefix("fd76:9::/32"), 1},
                                          {ipv6_prefix("fd76:9:0:1::/64"), 2},
                                          {ipv6_prefix("fd76:9:0:1:8000::/65"), 3},
                                          {ipv6_prefix("fd76:9::1/128"), 4}});
    EXPECT_EQ(table.lookup(ipv6("fd76:8:ffff::")), 0u);
    EXPECT_EQ(table.lookup(ipv6("fd76:9::")), 1u);
    EXPECT_EQ(table.lookup(ipv6("fd76:9::1")), 4u);
    EXPECT_EQ(table.lookup(ipv6("fd76:9::2")), 1u);
    EXPECT_EQ(table.lookup(ipv6("fd76:9:0:1::1")), 2u);
    EXPECT_EQ(table.lookup(ipv6("fd76:9:0:1:7fff:ffff:ffff:ffff")), 2u);
    EXPECT_EQ(table.lookup(ipv6("fd76:9:0:1:8000::")), 3u);
    EXPECT_EQ(table.lookup(ipv6("fd76:9:0:2::")), 1u);
    EXPECT_EQ(table.lookup(ipv6("fd76:a::")), 0u);
}

/// Against a search of all prefixes, at and around where they begin and end.
template <class Address, class RandomPrefix>
void compare_with_a_search(RandomPrefix random_prefix, unsigned prefixes) {
    typename PrefixTable<Address>::Prefixes set;
    for (unsigned i = 1; i <= prefixes; ++i) set[random_prefix()] = i;
    const PrefixTable<Address> table(set);
    using Keys = PrefixKey<Address>;
    const auto expected = [&](const typename Keys::Key& key) {
        PrefixValue value = 0;
        int longest = -1;
        for (const auto& [prefix, its] : set) {
            if (key < Keys::of(prefix.address) || Keys::last_of(prefix) < key || prefix.length <= longest) continue;
            longest = prefix.length, value = its;
        }
        return value;
    };
    for (const auto& [prefix, value] : set) {
        const auto first = Keys::of(prefix.address), last = Keys::last_of(prefix);
        for (const auto& key : {first, Keys::next(first), last, Keys::next(last)})
            ASSERT_EQ(table.lookup(key), expected(key));
    }
}

TEST(PrefixTable, IsASearchOfAllPrefixes) {
    std::mt19937 random(7);
    for (const unsigned prefixes : {1u, 2u, 10u, 300u}) {
        compare_with_a_search<Ipv4Address>(
            [&] {
                const auto length = static_cast<std::uint8_t>(random() % 33);
                // Few bits differ, so that many lie in each other.
                const Ipv4Prefix any{Ipv4Address{static_cast<std::uint32_t>(random()) & 0xc0c0'0303}, length};
                return Ipv4Prefix{any.network(), length};
            },
            prefixes);
        compare_with_a_search<Ipv6Address>(
            [&] {
                Ipv6Address address;
                for (auto& byte : address.bytes) byte = static_cast<std::byte>(random() & 0x81);
                const auto length = static_cast<std::uint8_t>(random() % 129);
                return Ipv6Prefix{Ipv6Prefix{address, length}.network(), length};
            },
            prefixes);
    }
}

}  // namespace
}  // namespace verbline::program
