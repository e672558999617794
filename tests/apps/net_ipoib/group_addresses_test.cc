// SPDX-License-Identifier: BSD-3-Clause
#include "apps/net_ipoib/group_addresses.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "datapath/link/ip_gid.h"
#include "datapath/neighbour/discovery.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/text.h"

namespace verbline::net_ipoib {
namespace {

wire::MacAddress mac(std::string_view text) {
    return *wire::from_string<wire::MacAddress>(text);
}

TEST(GroupAddresses, MacOfAGroup) {
    EXPECT_EQ(group_mac(link::gid_of(wire::ipv4(239, 129, 2, 3))), mac("01:00:5e:01:02:03")) << "23 bits are left";
    EXPECT_EQ(group_mac(neighbour::all_nodes), mac("33:33:00:00:00:01"));
}

TEST(GroupAddresses, GroupsOfAMac) {
    const auto groups = groups_of(mac("01:00:5e:01:02:03"));
    EXPECT_EQ(groups.size(), 32u);
    for (const auto& group : groups) EXPECT_EQ(group_mac(group), mac("01:00:5e:01:02:03"));
    EXPECT_NE(std::ranges::find(groups, link::gid_of(wire::ipv4(239, 129, 2, 3))), groups.end());
    EXPECT_EQ(groups_of(mac("01:00:5e:00:00:05")), std::vector{link::gid_of(wire::ipv4(224, 0, 0, 5))});
    EXPECT_EQ(groups_of(mac("33:33:00:00:00:01")), std::vector{neighbour::all_nodes});
    const auto solicited = neighbour::solicited_node(wire::Gid::of(0xfd76, wire::Guid{0x12'3456}));
    EXPECT_EQ(groups_of(group_mac(solicited)), std::vector{solicited});
}

TEST(GroupAddresses, OthersAreNoGroups) {
    for (const auto* text : {"ff:ff:ff:ff:ff:ff", "01:00:5e:80:00:01", "02:00:00:00:00:01", "01:80:c2:00:00:00"})
        EXPECT_TRUE(groups_of(mac(text)).empty()) << text;
}

TEST(GroupAddresses, OfAPacketThatHasItsHeader) {
    std::vector<std::byte> packet(20);
    wire::store32(packet, 16, 0xe0000001);
    EXPECT_EQ(group_of_packet(packet, wire::ether_type::ipv4), link::gid_of(wire::ipv4(224, 0, 0, 1)));
    EXPECT_EQ(group_of_packet(packet, wire::ether_type::ipv6), std::nullopt) << "shorter than that";
    packet.pop_back();
    EXPECT_EQ(group_of_packet(packet, wire::ether_type::ipv4), std::nullopt);
    EXPECT_EQ(group_of_packet({}, wire::ether_type::arp), std::nullopt);
}

}  // namespace
}  // namespace verbline::net_ipoib
