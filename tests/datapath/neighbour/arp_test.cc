// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/neighbour/arp.h"

#include <array>

#include <gtest/gtest.h>

#include "tests/datapath/neighbour/link.h"

namespace verbline::neighbour {
namespace {

constexpr wire::IpoibAddress infiniband{.qpn = wire::Qpn{0x48},
                                        .gid = wire::Gid::of(wire::default_subnet_prefix, wire::Guid{2})};

struct Arp {
    std::array<std::byte, max_arp_size> bytes{};
    std::size_t size;

    Arp(const Message& message, const std::optional<LinkAddress>& to) : size(write_arp(bytes, message, to)) {}
    wire::Bytes view() const { return wire::Bytes(bytes).first(size); }
};

TEST(Arp, RoundTrip) {
    for (const auto& own : {LinkAddress(us), LinkAddress(infiniband)}) {
        for (const auto& message :
             {request(own, gid("10.1.0.1"), gid("10.1.0.2")), request(own, std::nullopt, gid("10.1.0.2")),
              reply(own, gid("10.1.0.1"), gid("10.1.0.2")), reply(own, gid("10.1.0.1"), std::nullopt),
              announcement(own, gid("10.1.0.1"))}) {
            const auto read = read_arp(Arp(message, std::nullopt).view(), own);
            EXPECT_EQ(read.kind, Kind::resolution);
            EXPECT_EQ(read.family, Family::ipv4);
            EXPECT_EQ(read.message, message);
        }
    }
}

TEST(Arp, NamesTheReceiverOfAUnicast) {
    const auto probe = request(us, gid("10.1.0.1"), gid("10.1.0.2"));
    EXPECT_EQ(wire::EthernetArp::parse(Arp(probe, them).view())->target_link, them);
    EXPECT_EQ(wire::EthernetArp::parse(Arp(probe, std::nullopt).view())->target_link, wire::MacAddress{});
    EXPECT_EQ(wire::EthernetArp::parse(Arp(announcement(us, gid("10.1.0.1")), std::nullopt).view())->operation,
              wire::ArpOperation::request)
        << "RFC 5227, 2.3";
}

TEST(Arp, RefusesWhatNoHostCanSend) {
    const auto kind = [](const Message& message, const LinkAddress& like) {
        return read_arp(Arp(message, std::nullopt).view(), like).kind;
    };
    EXPECT_EQ(kind(request(us, gid("10.1.0.1"), gid("10.1.0.2")), infiniband), Kind::malformed);
    EXPECT_EQ(kind(request(wire::broadcast_mac, gid("10.1.0.1"), gid("10.1.0.2")), us), Kind::malformed);
    EXPECT_EQ(kind(request(us, gid("224.0.0.1"), gid("10.1.0.2")), us), Kind::malformed);
    EXPECT_EQ(kind(reply(us, gid("0.0.0.0"), gid("10.1.0.2")), us), Kind::malformed);
}

}  // namespace
}  // namespace verbline::neighbour
