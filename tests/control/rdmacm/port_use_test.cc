// SPDX-License-Identifier: BSD-3-Clause
#include "control/rdmacm/port_use.h"

#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "datapath/link/ip_gid.h"

namespace verbline::rdmacm {
namespace {

const auto one4 = link::gid_of(wire::ipv4(10, 0, 0, 1)), two4 = link::gid_of(wire::ipv4(10, 0, 0, 2));
const auto one6 = wire::Gid::of(0xfd00'0000'0000'0000, wire::Guid{1});
const auto two6 = wire::Gid::of(0xfd00'0000'0000'0000, wire::Guid{2});

struct Addresses {
    Family family;
    std::array<wire::Gid, 3> gids;  ///< any, and two others
};
const std::array<Addresses, 3> families{{{Family::ipv4, {SocketAddress::any_ipv4(), one4, two4}},
                                         {Family::ipv6, {wire::Gid{}, one6, two6}},
                                         {Family::ib, {wire::Gid{}, one4, one6}}}};

/// Every use that there is: family, address, family-only, and one of bound, reusing, listening.
std::vector<PortUse> all_uses() {
    std::vector<PortUse> all;
    for (const auto& [family, gids] : families) {
        for (const auto& gid : gids) {
            for (const bool only : {false, true}) {
                const PortUse bound{.family = family, .address = gid, .only_its_family = only};
                auto reusing = bound;
                reusing.reuse = true;
                all.insert(all.end(), {bound, reusing, reusing.as_listener()});
            }
        }
    }
    return all;
}

/// The table of port_use.h, read row by row.
PortConflict by_the_table(const PortUse& one, const PortUse& other) {
    const bool both_reuse = one.reuse && other.reuse;
    const bool both_only = one.only_its_family && other.only_its_family;
    if (both_reuse) return PortConflict::none;
    if (both_only && one.family != other.family) return PortConflict::none;
    const auto any = [](const PortUse& use) {
        return use.address == (use.family == Family::ipv4 ? SocketAddress::any_ipv4() : wire::Gid{});
    };
    if (any(one) || any(other)) return PortConflict::any_address;
    if (one.family == other.family && one.address == other.address) return PortConflict::same_address;
    return PortConflict::none;
}

TEST(PortUseTest, EveryPairIsAsTheTableSays) {
    const auto all = all_uses();
    ASSERT_EQ(all.size(), 54u);
    for (const auto& one : all) {
        for (const auto& other : all) {
            EXPECT_EQ(conflict(one, other), by_the_table(one, other));
            EXPECT_EQ(conflict(one, other), conflict(other, one)) << "whoever came first";
        }
    }
}

TEST(PortUseTest, TwoAddressesAreTwoPorts) {
    const PortUse one{.address = one4}, two{.address = two4}, any;
    EXPECT_EQ(conflict(one, two), PortConflict::none);
    EXPECT_EQ(conflict(one, one), PortConflict::same_address);
    EXPECT_EQ(conflict(one, any), PortConflict::any_address);
    EXPECT_EQ(conflict(any, any), PortConflict::any_address);
}

TEST(PortUseTest, ReuseIsOfBothAndOfNoListener) {
    PortUse any, reusing{.reuse = true};
    EXPECT_EQ(conflict(reusing, reusing), PortConflict::none);
    EXPECT_EQ(conflict(reusing, any), PortConflict::any_address);
    EXPECT_EQ(conflict(reusing, reusing.as_listener()), PortConflict::any_address);
    EXPECT_FALSE(reusing.as_listener().reuse);
}

TEST(PortUseTest, AnUnspecifiedAddressOfIpv4HasTwoForms) {
    const PortUse unmapped{.address = {}};
    EXPECT_TRUE(unmapped.any());
    EXPECT_EQ(conflict(unmapped, {.address = one4}), PortConflict::any_address);
}

std::optional<SocketAddress> to(Family family, const wire::Gid& gid) {
    return SocketAddress{.family = family, .gid = gid};
}
PortUse listener(Family family, const wire::Gid& gid, bool only = false) {
    return PortUse{.family = family, .address = gid, .only_its_family = only}.as_listener();
}

TEST(PortUseTest, ARequestIsForTheAddressThatItNames) {
    const auto exact = listener(Family::ipv4, one4, true),
               any = listener(Family::ipv4, SocketAddress::any_ipv4(), true);
    EXPECT_EQ(suits(exact, to(Family::ipv4, one4)), Suits::by_address);
    EXPECT_EQ(suits(exact, to(Family::ipv4, two4)), Suits::no);
    EXPECT_EQ(suits(any, to(Family::ipv4, two4)), Suits::by_any_address);
    EXPECT_EQ(suits(any, to(Family::ipv6, one6)), Suits::no);
    EXPECT_EQ(suits(listener(Family::ipv6, {}), to(Family::ipv4, one4)), Suits::by_any_address) << "of both families";
    EXPECT_EQ(suits(listener(Family::ipv6, {}, true), to(Family::ipv4, one4)), Suits::no);
    EXPECT_EQ(suits(PortUse{.address = one4}, to(Family::ipv4, one4)), Suits::bound) << "it may listen in a moment";
    EXPECT_EQ(suits(PortUse{.address = one4}, to(Family::ipv4, two4)), Suits::no);
    EXPECT_EQ(suits(PortUse{}, std::nullopt), Suits::bound);
}

TEST(PortUseTest, ARequestWithoutAHeaderIsForAfIb) {
    const auto ip = listener(Family::ipv4, one4, true), ib = listener(Family::ib, one6);
    for (const auto& destination : {std::optional<SocketAddress>(), to(Family::ib, two6)}) {
        EXPECT_EQ(suits(ip, destination), Suits::by_service_id) << "who refuses it";
        EXPECT_EQ(suits(ib, destination), Suits::by_any_address);
    }
    EXPECT_EQ(suits(ib, to(Family::ib, one6)), Suits::by_address);
    EXPECT_EQ(suits(ib, to(Family::ipv4, one4)), Suits::by_any_address) << "its private data may look like a header";
}

TEST(PortUseTest, NoTwoListenersOfOneFamilySuitEquallyByAddress) {
    const auto all = all_uses();
    for (const auto& one : all) {
        for (const auto& other : all) {
            if (conflict(one, other) != PortConflict::none) continue;
            for (const auto& [family, gids] : families) {
                for (const auto& gid : gids) {
                    const auto destination = to(family, gid);
                    EXPECT_FALSE(suits(one, destination) == Suits::by_address &&
                                 suits(other, destination) == Suits::by_address);
                }
            }
        }
    }
}

}  // namespace
}  // namespace verbline::rdmacm
