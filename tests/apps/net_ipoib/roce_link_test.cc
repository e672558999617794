// SPDX-License-Identifier: BSD-3-Clause
#include "apps/net_ipoib/roce_link.h"

#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "datapath/link/gid_table.h"
#include "datapath/link/ip_gid.h"
#include "tests/support/fake_netdev.h"

namespace verbline::net_ipoib {
namespace {

constexpr wire::MacAddress numbered_mac(unsigned char last) {
    return {{std::byte{2}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{last}}};
}
constexpr auto link_mac = numbered_mac(1), far_mac = numbered_mac(2);
constexpr wire::Qpn link_qpn{0x48}, far_qpn{0x77};

wire::Gid ipv4_group(std::uint32_t number) {
    return link::gid_of(wire::Ipv4Address{0xef00'0000 + number});
}

struct RoceLinkTest : testing::Test {
    struct Located {
        wire::Gid group;
        link::Destination to;
    };
    std::vector<Located> located;
    std::vector<wire::Gid> unreachable;
    unsigned ups = 0;
    std::optional<link::Destination> sent_to;
    verbline::test::FakeNetDevice device;
    RoceLink link{{.qpn = link_qpn,
                   .device = &device,
                   .identify = [](const auto&) {},
                   .attach = [](const auto&) {},
                   .up = [this] { ++ups; },
                   .down = [] {},
                   .located = [this](const auto& group, const auto& to) { located.push_back({group, to}); },
                   .unreachable = [this](const auto& group) { unreachable.push_back(group); },
                   .send = [this](wire::Bytes, const auto& to) { sent_to = to; }},
                  link_mac};
};

TEST_F(RoceLinkTest, FindsHostsByTheirGids) {
    link.carrier_changed(true);
    std::optional<Way> way;
    link.find({.qpn = far_qpn, .gid = verbline::link::link_local_gid(far_mac)}, [&](const Way& found) { way = found; });
    ASSERT_TRUE(way);
    EXPECT_EQ(way->sender, (ipoib::Origin{.mac = far_mac, .qpn = far_qpn}));
    EXPECT_EQ(way->ipv4.qpn, far_qpn);
    EXPECT_NE(way->ipv4.header.view()[way->ipv4.header.view().size() - 4],
              way->ipv6.header.view()[way->ipv6.header.view().size() - 4])
        << "the EtherTypes differ";

    way.reset();
    link.find({.qpn = far_qpn, .gid = wire::Gid::of(0xfd00'0000'0000'0000, wire::Guid{1})},
              [&](const Way& found) { way = found; });
    EXPECT_FALSE(way);
}

TEST_F(RoceLinkTest, EveryGroupIsTheBroadcastGroup) {
    link.resolve(ipv4_group(1));
    EXPECT_EQ(unreachable, std::vector{ipv4_group(1)}) << "while it is down";
    link.carrier_changed(true);
    link.resolve(ipv4_group(1));
    ASSERT_EQ(located.size(), 1u);
    EXPECT_EQ(located[0].to.address.dgid, link.broadcast(wire::ether_type::ipv4)->address.dgid);
    link.send_to_group(ipv4_group(2), {});
    ASSERT_TRUE(sent_to);
    EXPECT_EQ(sent_to->qpn, wire::multicast_qpn);
}

TEST_F(RoceLinkTest, GroupsAreLocatedAgainWhenThePortHasOtherAddresses) {
    link.carrier_changed(true);
    link.resolve(ipv4_group(1));
    located.clear();
    link.carrier_changed(false);
    device.end = pmd::DatagramEnd{wire::Qpn{0x123}, verbline::link::link_local_gid(far_mac)};
    link.carrier_changed(true);
    ASSERT_EQ(located.size(), 1u);
    EXPECT_EQ(link.address().qpn, wire::Qpn{0x123});
    EXPECT_EQ(ups, 2u);
}

TEST_F(RoceLinkTest, GroupsAreBounded) {
    link.carrier_changed(true);
    for (std::uint32_t i = 0; i < 513; ++i) link.resolve(ipv4_group(i));
    EXPECT_EQ(unreachable, std::vector{ipv4_group(0)});
}

}  // namespace
}  // namespace verbline::net_ipoib
