// SPDX-License-Identifier: BSD-3-Clause
#include "control/router/ethernet_port.h"

#include <gtest/gtest.h>

#include "datapath/wire/arp.h"
#include "datapath/wire/ethernet.h"
#include "tests/control/router/commands.h"
#include "tests/control/router/hosts.h"
#include "tests/support/fake_netdev.h"
#include "tests/support/packet.h"

namespace verbline::router {
namespace {

using test::our_ip, test::peer_ip, test::our_mac, test::peer_mac;
using wire::EthernetArp;

/// A port whose shard is the test.
struct EthernetPortTest : testing::Test {
    EthernetPortTest() { port.set_addresses({{our_ip, 24}}); }

    template <class T>
    std::optional<T> next() {
        return test::next<T>(*shard);
    }
    void forget_commands() { test::forget_commands(*shard); }

    void hear(const EthernetArp& arp) {
        test::ByteVector bytes(EthernetArp::size);
        arp.emit(std::span(bytes).first<EthernetArp::size>());
        port.handle(Punted{port.id(), wire::ether_type::arp, test::make_packet(bytes).release()});
    }

    std::unique_ptr<control::Loop> loop = std::move(*control::Loop::create());
    std::unique_ptr<ShardLink> shard = std::move(*ShardLink::create(*loop, "test", [](const Event&) {}));
    test::FakeNetDevice device;
    EthernetPort port{*loop, *shard, {.name = "lan", .device = &device, .pool = test::packet_pool()}, our_mac};
};

TEST_F(EthernetPortTest, SaysWhoItIsWhenTheLinkComesUp) {
    forget_commands();
    port.set_carrier(true);
    EXPECT_EQ(device.identity.mac, our_mac);
    EXPECT_TRUE(next<SetCarrier>().value_or(SetCarrier{}).carrier);
    const auto ethernet = next<SetEthernet>();
    ASSERT_TRUE(ethernet);
    EXPECT_EQ(ethernet->mac, our_mac);
    EXPECT_TRUE(next<SetBroadcast>());
    const auto announcement = next<Transmit>();
    ASSERT_TRUE(announcement) << "neighbours that know an older address hear of this one";
    const test::Packet packet(announcement->packet);
    const auto arp = EthernetArp::parse(test::bytes_of(packet));
    ASSERT_TRUE(arp);
    EXPECT_EQ(arp->sender, our_ip);
    EXPECT_EQ(arp->target, our_ip);
}

TEST_F(EthernetPortTest, ResolvesANeighbour) {
    port.set_carrier(true);
    forget_commands();
    port.handle(Unresolved{port.id(), peer_ip});
    const auto request = next<Transmit>();
    ASSERT_TRUE(request);
    const test::Packet packet(request->packet);
    EXPECT_EQ(EthernetArp::parse(test::bytes_of(packet))->target, peer_ip);
    EXPECT_EQ(wire::Ethernet::parse(request->to.header.view())->destination, wire::broadcast_mac);

    hear({.operation = wire::ArpOperation::reply,
          .sender_link = peer_mac,
          .sender = peer_ip,
          .target_link = our_mac,
          .target = our_ip});
    const auto neighbour = next<SetNeighbour>();
    ASSERT_TRUE(neighbour);
    EXPECT_EQ(neighbour->address, peer_ip);
    const auto header = wire::Ethernet::parse(neighbour->to.header.view());
    EXPECT_EQ(header->destination, peer_mac);
    EXPECT_EQ(header->source, our_mac);
    EXPECT_EQ(header->type, wire::ether_type::ipv4);
}

TEST_F(EthernetPortTest, AnswersTheOneWhoAsks) {
    port.set_carrier(true);
    forget_commands();
    hear({.operation = wire::ArpOperation::request, .sender_link = peer_mac, .sender = peer_ip, .target = our_ip});
    const auto reply = next<Transmit>();
    ASSERT_TRUE(reply);
    const test::Packet packet(reply->packet);
    const auto arp = EthernetArp::parse(test::bytes_of(packet));
    EXPECT_EQ(arp->operation, wire::ArpOperation::reply);
    EXPECT_EQ(arp->sender_link, our_mac);
    EXPECT_EQ(wire::Ethernet::parse(reply->to.header.view())->destination, peer_mac);
}

TEST_F(EthernetPortTest, AnswersNobodyWhileTheLinkIsDown) {
    forget_commands();
    hear({.operation = wire::ArpOperation::request, .sender_link = peer_mac, .sender = peer_ip, .target = our_ip});
    port.handle(Unresolved{port.id(), peer_ip});
    const auto failed = next<FailNeighbour>();
    ASSERT_TRUE(failed) << "what waits is not left waiting";
    EXPECT_EQ(failed->address, peer_ip);
    EXPECT_FALSE(next<Transmit>());
}

TEST_F(EthernetPortTest, TellsWhenItGoesUpAndDown) {
    std::vector<bool> seen;
    port.on_change([&] { seen.push_back(port.up()); });
    port.set_carrier(true), port.set_carrier(true), port.set_carrier(false);
    EXPECT_EQ(seen, (std::vector{true, false}));
    forget_commands();
}

TEST(DerivedMac, IsLocalUnicastAndDiffersByName) {
    const auto a = derived_mac("gw", "lan");
    EXPECT_EQ(a, derived_mac("gw", "lan"));
    EXPECT_NE(a, derived_mac("gw", "wan"));
    EXPECT_NE(a, derived_mac("gw2", "lan"));
    EXPECT_EQ(a.bytes[0] & std::byte{3}, std::byte{2});
}

}  // namespace
}  // namespace verbline::router
