// SPDX-License-Identifier: BSD-3-Clause
// Packets to groups through a shard of two Ethernet ports: who gets them, and who does not.
#include "datapath/router/multicast.h"

#include <vector>

#include "datapath/neighbour/membership_message.h"
#include "tests/datapath/router/two_ports.h"

namespace verbline::router::two_ports {
namespace {

constexpr auto group = ipv4(239, 1, 2, 3), link_group = ipv4(224, 0, 0, 251);
constexpr PortSet left_bit = 1, right_bit = 2;

class MulticastTest : public testing::Test {
protected:
    MulticastTest() {
        auto to = link::ethernet_destination(right_mac, wire::broadcast_mac, wire::ether_type::ipv4);
        link::set_ethernet_group(to, group);
        gateway.command(SetNeighbour{right, link::gid_of(group), to});
        gateway.poll();
    }
    void route(PortSet links, PortSet kernels) {
        gateway.command(SetGroupRoute{link::gid_of(group), links, kernels});
        gateway.poll();
    }
    static std::size_t sent(test::FakeNetDevice& device) { return device.sent.size(); }
    std::optional<Event> event() { return gateway.events.pop(); }

    Gateway gateway{false, {.multicast = true}};
};

TEST_F(MulticastTest, GoesToLinksWithListenersByTheGroupsAddress) {
    route(left_bit | right_bit, 0);
    gateway.from_alice(ip_packet(alice, group, 100, 9));
    ASSERT_EQ(sent(gateway.right_link), 1u);
    EXPECT_EQ(sent(gateway.left_link), 0u) << "not to where it is from";
    EXPECT_EQ(sent(gateway.left_kernel), 0u) << "whose kernel does not listen";
    const auto frame = Ethernet::parse(bytes_of(gateway.right_link.sent[0])).value();
    EXPECT_EQ(frame.destination,
              (wire::MacAddress{{std::byte{1}, {}, std::byte{0x5e}, std::byte{1}, std::byte{2}, std::byte{3}}}));
    EXPECT_EQ(frame.source, right_mac);
    const auto packet = only_packet(gateway.right_link);
    EXPECT_EQ(Ipv4::parse(packet)->time_to_live, 8);
    EXPECT_TRUE(Ipv4::checksum_ok(wire::Bytes(packet).first(Ipv4::size)));
    EXPECT_EQ(gateway.counter("multicast_forwarded_packets"), 1u);
}

TEST_F(MulticastTest, KernelsThatListenGetItToo) {
    route(right_bit, left_bit | right_bit);
    gateway.from_alice(ip_packet(alice, group, 500, 9));
    ASSERT_EQ(sent(gateway.left_kernel), 1u);
    EXPECT_EQ(Ipv4::parse(bytes_of(gateway.left_kernel.sent[0]))->time_to_live, 9) << "as it came";
    ASSERT_EQ(sent(gateway.right_kernel), 1u);
    EXPECT_EQ(Ipv4::parse(bytes_of(gateway.right_kernel.sent[0]))->time_to_live, 8) << "routed";
    EXPECT_EQ(sent(gateway.right_link), 1u);
    EXPECT_EQ(gateway.counter("multicast_routed_packets"), 1u);
    EXPECT_EQ(gateway.counter("multicast_forwarded_packets"), 1u);
    EXPECT_EQ(gateway.counter("multicast_kernel_copies"), 2u);
}

TEST_F(MulticastTest, WhatNobodyWantsIsDroppedAndAskedAbout) {
    gateway.from_alice(ip_packet(alice, group));
    EXPECT_EQ(gateway.counter("multicast_dropped_no_listener"), 1u);
    const auto asked = event();
    ASSERT_TRUE(asked);
    EXPECT_EQ(std::get<UnknownGroup>(*asked).group, link::gid_of(group));
    for (int i = 0; i < 100; ++i) gateway.from_alice(ip_packet(alice, group));
    unsigned events = 0;
    while (event()) ++events;
    EXPECT_LT(events, 25u) << "not about each packet";
    route(right_bit, 0);
    route(0, 0);
    gateway.from_alice(ip_packet(alice, group));
    EXPECT_EQ(gateway.counter("multicast_dropped_no_listener"), 102u);
}

TEST_F(MulticastTest, OnlyFromWhereTheSourceIsAndNotFromUs) {
    route(right_bit, 0);
    gateway.from_alice(ip_packet(bob, group));
    EXPECT_EQ(gateway.counter("multicast_dropped_reverse_path"), 1u);
    gateway.from_alice(ip_packet(nobody, group));
    EXPECT_EQ(gateway.counter("multicast_dropped_reverse_path"), 2u);
    gateway.from_alice(ip_packet(right_ip, group));
    EXPECT_EQ(gateway.counter("multicast_dropped_own"), 1u);
    gateway.from_alice(ip_packet({}, group));
    EXPECT_EQ(gateway.counter("multicast_dropped_scope"), 1u);
    gateway.from_alice(ip_packet(alice, group, 100, 1));
    EXPECT_EQ(gateway.counter("multicast_dropped_ttl"), 1u);
    EXPECT_EQ(sent(gateway.right_link), 0u);
    route(right_bit, left_bit);
    gateway.from_alice(ip_packet(alice, group, 100, 1));
    EXPECT_EQ(sent(gateway.left_kernel), 1u) << "the kernel is on that link";
}

TEST_F(MulticastTest, LargeOnesAreFragmentedUnlessTheyMustNot) {
    route(right_bit, 0);
    gateway.from_alice(ip_packet(alice, group, 1200, 9, false));
    EXPECT_EQ(sent(gateway.right_link), 2u);
    gateway.from_alice(ip_packet(alice, group, 1200, 9, true));
    EXPECT_EQ(gateway.counter("dropped_mtu"), 1u);
    EXPECT_EQ(sent(gateway.left_link), 0u) << "no ICMP error about a packet to a group";
}

TEST_F(MulticastTest, GroupsOfTheLinkAreTheKernels) {
    gateway.from_alice(ip_packet(alice, link_group));
    EXPECT_EQ(sent(gateway.left_kernel), 1u);
    EXPECT_FALSE(event());
}

TEST_F(MulticastTest, MembershipIsReportedFromBothSides) {
    const auto query = neighbour::query_packet({.from = link::gid_of(alice)});
    gateway.from_alice(query.bytes);
    const auto heard = event();
    ASSERT_TRUE(heard);
    const auto& report = std::get<MembershipHeard>(*heard);
    EXPECT_FALSE(report.from_kernel);
    EXPECT_EQ(bytes_of(report.packet), query.bytes);
    rte_pktmbuf_free(report.packet);
    EXPECT_EQ(sent(gateway.left_kernel), 1u) << "it is asked as well";

    gateway.left_kernel.receive(query.bytes);
    gateway.command(
        SetBroadcast{left, link::ethernet_destination(left_mac, wire::broadcast_mac, wire::ether_type::ipv4)});
    gateway.poll();
    const auto own = event();
    ASSERT_TRUE(own);
    EXPECT_TRUE(std::get<MembershipHeard>(*own).from_kernel);
    rte_pktmbuf_free(std::get<MembershipHeard>(*own).packet);
    ASSERT_EQ(sent(gateway.left_link), 1u);
    EXPECT_EQ(Ethernet::parse(bytes_of(gateway.left_link.sent[0]))->destination,
              (wire::MacAddress{{std::byte{1}, {}, std::byte{0x5e}, {}, {}, std::byte{1}}}))
        << "the kernel's packets have the group's address";
}

TEST_F(MulticastTest, GroupsThatAreResolvedWaitForIt) {
    gateway.command(
        SetBroadcast{.port = left,
                     .to = link::ethernet_destination(left_mac, wire::broadcast_mac, wire::ether_type::ipv4),
                     .resolves_groups = true});
    gateway.left_kernel.receive(ip_packet(left_ip, group));
    gateway.poll();
    EXPECT_EQ(sent(gateway.left_link), 0u);
    const auto asked = event();
    ASSERT_TRUE(asked);
    EXPECT_EQ(std::get<Unresolved>(*asked).address, link::gid_of(group));
    gateway.command(
        SetNeighbour{left, link::gid_of(group), link::ethernet_destination(left_mac, bob_mac, wire::ether_type::ipv4)});
    gateway.poll();
    EXPECT_EQ(sent(gateway.left_link), 1u);
}

TEST_F(MulticastTest, APacketOfOursReachesTheKernel) {
    gateway.command(Deliver{left, test::make_packet(ip_packet(alice, group)).release()});
    gateway.poll();
    EXPECT_EQ(sent(gateway.left_kernel), 1u);
}

TEST(MulticastOff, GoesToKernelWhenDisabled) {
    Gateway gateway;
    gateway.command(SetGroupRoute{link::gid_of(group), right_bit, 0});
    gateway.from_alice(ip_packet(alice, group));
    EXPECT_EQ(gateway.left_kernel.sent.size(), 1u);
    EXPECT_EQ(gateway.right_link.sent.size(), 0u);
}

TEST_F(MulticastTest, GoesToKernelAsLongAsItIsTold) {
    route(right_bit, 0);
    gateway.command(SetMulticast{left, false});
    gateway.from_alice(ip_packet(alice, group, 100, 9));
    EXPECT_EQ(sent(gateway.left_kernel), 1u);
    EXPECT_EQ(sent(gateway.right_link), 0u);
    gateway.command(SetMulticast{left, true});
    gateway.from_alice(ip_packet(alice, group, 100, 9));
    EXPECT_EQ(sent(gateway.left_kernel), 1u);
    EXPECT_EQ(sent(gateway.right_link), 1u);
}

TEST(MulticastTableTest, HoldsSoManyGroupsAndNoMore) {
    MulticastTable<wire::Ipv4Address> table(2);
    EXPECT_TRUE(table.set(ipv4(239, 0, 0, 2), {1, 0}));
    EXPECT_TRUE(table.set(ipv4(239, 0, 0, 1), {2, 0}));
    EXPECT_FALSE(table.set(ipv4(239, 0, 0, 3), {1, 0}));
    EXPECT_TRUE(table.set(ipv4(239, 0, 0, 1), {3, 1}));
    EXPECT_EQ(table.find(ipv4(239, 0, 0, 1))->links, 3u);
    EXPECT_TRUE(table.set(ipv4(239, 0, 0, 2), {}));
    EXPECT_EQ(table.find(ipv4(239, 0, 0, 2)), nullptr);
    EXPECT_EQ(table.size(), 1u);
}

}  // namespace
}  // namespace verbline::router::two_ports
