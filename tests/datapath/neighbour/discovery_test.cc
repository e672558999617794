// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/neighbour/discovery.h"

#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "tests/datapath/neighbour/link.h"
#include "tests/support/hex.h"

namespace verbline::neighbour {
namespace {

using wire::IpoibAddress;
namespace type = wire::icmpv6_type;

constexpr IpoibAddress our_ipoib{.qpn = wire::Qpn{0x48},
                                 .gid = wire::Gid::of(wire::default_subnet_prefix, wire::Guid{2})};

std::vector<std::byte> packet(const Message& message, bool unicast = false) {
    std::vector<std::byte> bytes(max_discovery_size);
    bytes.resize(write_discovery(bytes, message, unicast));
    return bytes;
}

std::vector<std::byte> solicitation() {
    return packet(request(our_ipoib, gid("fd00::1"), gid("fd00::2")));
}

TEST(Discovery, RoundTrip) {
    const auto asked = read_discovery<IpoibAddress>(solicitation());
    EXPECT_EQ(asked.kind, Kind::resolution);
    EXPECT_EQ(asked.message,
              (Message{.solicits = true, .source = gid("fd00::1"), .at = our_ipoib, .subject = gid("fd00::2")}));

    Message answer{.source = gid("fd00::1"), .at = our_ipoib, .subject = gid("fd00::2"), .solicited = true};
    EXPECT_EQ(read_discovery<IpoibAddress>(packet(answer)).message, answer);
    answer.overrides = false;
    EXPECT_EQ(read_discovery<IpoibAddress>(packet(answer)).message, answer);

    const auto probe = read_discovery<IpoibAddress>(packet(request(our_ipoib, std::nullopt, gid("fd00::2"))));
    EXPECT_EQ(probe.kind, Kind::resolution);
    EXPECT_FALSE(probe.message.source || probe.message.at);
}

// RFC 7527, 4: a probe has a nonce, and no link-layer address.
TEST(Discovery, AProbeHasItsNonce) {
    auto probe = request(our_ipoib, std::nullopt, gid("fd00::2"));
    probe.nonce = 0xa1b2c3d4e5f6;
    const auto bytes = packet(probe);
    EXPECT_EQ(std::vector<std::byte>(bytes.end() - 8, bytes.end()), test::from_hex("0e01 a1b2c3d4e5f6"));
    EXPECT_EQ(read_discovery<IpoibAddress>(bytes).message.nonce, probe.nonce);
    auto other = solicitation();
    EXPECT_EQ(read_discovery<IpoibAddress>(other).message.nonce, 0U);
}

// RFC 4391, 9.3: type 1, length 3 (24 bytes), two bytes reserved, flags, queue pair, GID.
TEST(Discovery, TheOptionOfInfinibandIsThreeUnitsLong) {
    const auto option = test::from_hex("01 03 0000 00 000048 fe80000000000000 0000000000000002");
    const auto whole = solicitation();
    EXPECT_EQ(std::vector<std::byte>(whole.end() - 24, whole.end()), option);
    EXPECT_EQ(whole.size(), 88u);
}

TEST(Discovery, EachFieldThatMayNotBeWhatItIsIsRefused) {
    struct Case {
        const char* what;
        std::size_t at;
        unsigned value;
    };
    for (const auto& [what, at, value] : std::initializer_list<Case>{{"from beyond a router", 7, 254},
                                                                     {"a wrong checksum", 42, 1},
                                                                     {"another code", 41, 1},
                                                                     {"an option of Ethernet's length", 65, 1},
                                                                     {"an option beyond the end", 65, 4},
                                                                     {"no queue pair", 71, 0},
                                                                     {"longer than it is", 5, 49}}) {
        auto broken = solicitation();
        broken[at] = static_cast<std::byte>(value);
        EXPECT_EQ(read_discovery<IpoibAddress>(broken).kind, Kind::malformed) << what;
    }
    const auto whole = solicitation();
    for (std::size_t size = 0; size < whole.size(); ++size) {
        EXPECT_NE(read_discovery<IpoibAddress>(wire::Bytes(whole).first(size)).kind, Kind::resolution) << size;
    }
}

TEST(Discovery, MappedAddressesAreLeftToArp) {
    const auto mapped = gid("10.1.0.1"), other = gid("fd00::2");
    for (const auto& [from, to] : {std::pair{mapped, other}, std::pair{other, mapped}}) {
        EXPECT_EQ(read_discovery<IpoibAddress>(packet(request(our_ipoib, from, to))).kind, Kind::malformed);
        EXPECT_EQ(read_discovery<IpoibAddress>(packet(reply(our_ipoib, from, other))).kind,
                  from == mapped ? Kind::malformed : Kind::resolution);
    }
}

TEST(Discovery, OtherIcmpIsOther) {
    auto echo = solicitation();
    echo[40] = std::byte{type::echo};
    EXPECT_EQ(read_discovery<IpoibAddress>(echo).kind, Kind::other);
    auto udp = solicitation();
    udp[6] = std::byte{17};
    EXPECT_EQ(read_discovery<IpoibAddress>(udp).kind, Kind::other);
}

TEST(Discovery, WhoCanBeAHost) {
    EXPECT_TRUE(is_host(our_ipoib));
    EXPECT_FALSE(is_host(IpoibAddress{.qpn = wire::Qpn{0x48}}));
    EXPECT_FALSE(is_host(IpoibAddress{.gid = our_ipoib.gid}));
    EXPECT_FALSE(is_host(IpoibAddress{.qpn = wire::multicast_qpn, .gid = our_ipoib.gid}));
    EXPECT_FALSE(is_host(IpoibAddress{.qpn = our_ipoib.qpn, .gid = all_nodes}));
}

TEST(Discovery, SolicitationsGoToTheSolicitedNodeGroup) {
    EXPECT_EQ(solicited_node(gid("fd00::12:3456")), gid("ff02::1:ff12:3456"));
    EXPECT_EQ(all_nodes, gid("ff02::1"));
}

}  // namespace
}  // namespace verbline::neighbour
