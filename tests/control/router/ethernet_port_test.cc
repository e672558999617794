// SPDX-License-Identifier: BSD-3-Clause
#include "control/router/ethernet_port.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "datapath/link/ip_gid.h"
#include "datapath/neighbour/discovery.h"
#include "datapath/neighbour/router_discovery.h"
#include "datapath/wire/arp.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/icmpv6.h"
#include "datapath/wire/ipv6.h"
#include "datapath/wire/text.h"
#include "tests/control/router/commands.h"
#include "tests/control/router/hosts.h"
#include "tests/support/fake_netdev.h"
#include "tests/support/packet.h"

namespace verbline::router {
namespace {

using test::our_ip, test::peer_ip, test::our_mac, test::peer_mac;
using wire::EthernetArp;

constexpr auto our_ipv6 = wire::Gid::of(0xfd76'0001'0000'0000, wire::Guid{1}),
               other_ipv6 = wire::Gid::of(0xfd76'0001'0000'0000, wire::Guid{9}),
               peer_ipv6 = wire::Gid::of(0xfd76'0001'0000'0000, wire::Guid{2}),
               our_local = wire::Gid::of(0xfe80'0000'0000'0000, wire::Guid{1});

/// A port whose shard is the test.
struct EthernetPortTest : testing::Test {
    EthernetPortTest() { port.set_addresses({{link::gid_of(our_ip), 24}}); }

    template <class T>
    std::optional<T> next() {
        return test::next<T>(*shard);
    }
    void forget_commands() { test::forget_commands(*shard); }
    void hear_discovery(const neighbour::Message& message, bool unicast = true) {
        test::ByteVector bytes(neighbour::max_discovery_size);
        bytes.resize(neighbour::write_discovery(bytes, message, unicast));
        port.handle(Punted{port.id(), wire::ether_type::ipv6, test::make_packet(bytes).release()});
    }

    void hear(const EthernetArp& arp) {
        test::ByteVector bytes(EthernetArp::size);
        arp.emit(std::span(bytes).first<EthernetArp::size>());
        port.handle(Punted{port.id(), wire::ether_type::arp, test::make_packet(bytes).release()});
    }

    std::unique_ptr<control::Loop> loop = std::move(*control::Loop::create());
    std::unique_ptr<ShardLinks> shards = std::move(*ShardLinks::create(*loop, "test", 1, [](const Event&) {}));
    ShardLink* shard = &(*shards)[0];
    test::FakeNetDevice device;
    host::Ipv6Gateways ipv6_gateways;
    EthernetPort port{*loop,
                      *shards,
                      {.name = "lan",
                       .device = &device,
                       .pool = test::packet_pool(),
                       .forwards = true,
                       .ipv6_gateways = &ipv6_gateways},
                      our_mac};
};

TEST_F(EthernetPortTest, SendsGratuitousArpOnLinkUp) {
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
    port.handle(Unresolved{port.id(), link::gid_of(peer_ip)});
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
    EXPECT_EQ(neighbour->address, link::gid_of(peer_ip));
    const auto header = wire::Ethernet::parse(neighbour->to.header.view());
    EXPECT_EQ(header->destination, peer_mac);
    EXPECT_EQ(header->source, our_mac);
    EXPECT_EQ(header->type, wire::ether_type::ipv4);
}

TEST_F(EthernetPortTest, AdvertisesItselfAsLongAsItIsTold) {
    /// The lifetime in the next router advertisement.
    const auto advertised = [&]() -> std::optional<std::uint16_t> {
        while (const auto sent = next<Transmit>()) {
            const test::Packet packet(sent->packet);
            const auto bytes = test::bytes_of(packet);
            if (bytes.size() < wire::Ipv6::size + wire::RouterAdvertisement::size) continue;
            const auto read = wire::RouterAdvertisement::parse(wire::Bytes(bytes).subspan(wire::Ipv6::size));
            if (read) return read->lifetime;
        }
        return std::nullopt;
    };
    port.set_carrier(true);
    port.set_addresses({{our_local, 64}}, {our_local});
    EXPECT_EQ(advertised(), std::nullopt);
    for (const bool again : {false, true}) {
        port.set_advertises(true);
        // At once, but not within three seconds of the last (RFC 4861, 6.2.6).
        EXPECT_EQ(advertised(), again ? std::nullopt : std::optional(neighbour::Advertisement{}.lifetime));
        port.set_advertises(true);
        EXPECT_EQ(advertised(), std::nullopt) << "nothing has changed";
        port.set_advertises(false);
        EXPECT_EQ(advertised(), 0) << "hosts are to use it no longer";
        port.set_addresses({{our_local, 64}, {our_ipv6, 64}}, {our_local, our_ipv6});
        port.retire();
        EXPECT_EQ(advertised(), std::nullopt);
    }
}

TEST_F(EthernetPortTest, TellsTheShardWhoGetsRouterSolicitations) {
    port.set_advertises(true);
    EXPECT_TRUE(next<SetAdvertises>().value_or(SetAdvertises{}).advertises);
    port.set_advertises(false);
    EXPECT_FALSE(next<SetAdvertises>().value_or(SetAdvertises{.advertises = true}).advertises);
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
    port.handle(Unresolved{port.id(), link::gid_of(peer_ip)});
    const auto failed = next<FailNeighbour>();
    ASSERT_TRUE(failed) << "what waits is not left waiting";
    EXPECT_EQ(failed->address, link::gid_of(peer_ip));
    EXPECT_FALSE(next<Transmit>());
}

TEST_F(EthernetPortTest, SetsTheSourcesOfErrorsByFamilyAndScope) {
    forget_commands();
    port.set_addresses({{our_local, 64}, {link::gid_of(our_ip), 24}, {our_ipv6, 64}, {other_ipv6, 64}},
                       {our_local, our_ipv6, other_ipv6});
    const auto sources = next<SetAddress>();
    ASSERT_TRUE(sources);
    EXPECT_EQ(sources->address, our_ip);
    EXPECT_EQ(link::gid_of(sources->ipv6), our_ipv6) << "the first that is not link-local";
    EXPECT_EQ(link::gid_of(sources->link_local), our_local);
}

TEST_F(EthernetPortTest, ListensToTheGroupsOfItsAddresses) {
    const auto groups = [&] {
        std::vector<std::string> out;
        for (const auto& group : device.groups) out.push_back(to_string(group.mac));
        std::ranges::sort(out);
        return out;
    };
    port.set_addresses({{our_ipv6, 64}});
    EXPECT_EQ(groups(), (std::vector<std::string>{"01:00:5e:00:00:01", "01:00:5e:00:00:02", "01:00:5e:00:00:16",
                                                  "33:33:00:00:00:01", "33:33:00:00:00:02", "33:33:00:00:00:16",
                                                  "33:33:ff:00:00:01"}));
    port.set_addresses({{other_ipv6, 64}});
    EXPECT_EQ(groups(), (std::vector<std::string>{"01:00:5e:00:00:01", "01:00:5e:00:00:02", "01:00:5e:00:00:16",
                                                  "33:33:00:00:00:01", "33:33:00:00:00:02", "33:33:00:00:00:16",
                                                  "33:33:ff:00:00:09"}));
    forget_commands();
}

TEST_F(EthernetPortTest, ResolvesANeighbourByDiscovery) {
    port.set_addresses({{our_ipv6, 64}}, {our_ipv6});
    port.set_carrier(true);
    forget_commands();
    port.handle(Unresolved{port.id(), peer_ipv6});
    const auto request = next<Transmit>();
    ASSERT_TRUE(request);
    const test::Packet packet(request->packet);
    const auto read = neighbour::read_discovery<wire::MacAddress>(test::bytes_of(packet));
    ASSERT_EQ(read.kind, neighbour::Kind::resolution);
    EXPECT_TRUE(read.message.solicits);
    EXPECT_EQ(read.message.subject, peer_ipv6);
    EXPECT_EQ(read.message.source, our_ipv6);
    const auto header = wire::Ethernet::parse(request->to.header.view());
    EXPECT_EQ(to_string(header->destination), "33:33:ff:00:00:02") << "its solicited-node group";
    EXPECT_EQ(header->type, wire::ether_type::ipv6);

    hear_discovery(neighbour::reply(peer_mac, peer_ipv6, our_ipv6));
    const auto neighbour = next<SetNeighbour>();
    ASSERT_TRUE(neighbour);
    EXPECT_EQ(neighbour->address, peer_ipv6);
    const auto found = wire::Ethernet::parse(neighbour->to.header.view());
    EXPECT_EQ(found->destination, peer_mac);
    EXPECT_EQ(found->type, wire::ether_type::ipv6);
}

/// An IPv4 route's IPv6 gateway: resolved by discovery, and sent IPv4 packets (RFC 8950, 4).
TEST_F(EthernetPortTest, ResolvesTheIpv6GatewayOfAnIpv4Route) {
    port.set_addresses({{our_ipv6, 64}}, {our_ipv6});
    port.set_carrier(true);
    forget_commands();
    const auto stand_in = link::gid_of(*ipv6_gateways.add(link::ipv6_of(peer_ipv6)));
    port.handle(Unresolved{port.id(), stand_in});
    const auto request = next<Transmit>();
    ASSERT_TRUE(request);
    const test::Packet packet(request->packet);
    EXPECT_EQ(neighbour::read_discovery<wire::MacAddress>(test::bytes_of(packet)).message.subject, peer_ipv6);

    hear_discovery(neighbour::reply(peer_mac, peer_ipv6, our_ipv6));
    std::map<wire::Gid, wire::EtherType> types;
    while (const auto neighbour = next<SetNeighbour>()) {
        const auto header = wire::Ethernet::parse(neighbour->to.header.view());
        EXPECT_EQ(header->destination, peer_mac);
        types[neighbour->address] = header->type;
    }
    EXPECT_EQ(types, (std::map<wire::Gid, wire::EtherType>{{peer_ipv6, wire::ether_type::ipv6},
                                                           {stand_in, wire::ether_type::ipv4}}));
    port.set_carrier(false);
    std::vector<wire::Gid> forgotten;
    while (const auto neighbour = next<ForgetNeighbour>()) forgotten.push_back(neighbour->address);
    EXPECT_EQ(forgotten, (std::vector{peer_ipv6, stand_in}));
}

/// The advertisement says that we are a router, or hosts would stop using us as one (RFC 4861, 7.2.5).
TEST_F(EthernetPortTest, AnswersSolicitationsAndProbes) {
    port.set_addresses({{our_ipv6, 64}}, {our_ipv6});
    port.set_carrier(true);
    const auto answer = [&](const std::optional<wire::Gid>& from) {
        forget_commands();
        hear_discovery(neighbour::request(peer_mac, from, our_ipv6), false);
        const auto reply = next<Transmit>();
        EXPECT_TRUE(reply);
        return std::pair(test::Packet(reply->packet), reply->to);
    };
    const auto [packet, to] = answer(peer_ipv6);
    const auto bytes = test::bytes_of(packet);
    const auto read = neighbour::read_discovery<wire::MacAddress>(bytes);
    ASSERT_EQ(read.kind, neighbour::Kind::resolution);
    EXPECT_EQ(read.message.source, our_ipv6);
    EXPECT_EQ(read.message.at, neighbour::LinkAddress(our_mac));
    EXPECT_TRUE(wire::NeighbourMessage::parse(std::span(bytes).subspan(wire::Ipv6::size))->router);
    EXPECT_EQ(wire::Ethernet::parse(to.header.view())->destination, peer_mac);

    const auto [defence, everyone] = answer(std::nullopt);
    EXPECT_EQ(to_string(wire::Ethernet::parse(everyone.header.view())->destination), "33:33:00:00:00:01")
        << "duplicate address detection is answered to all (RFC 4861, 7.2.4)";
}

/// RFC 4862, 5.4: until then nobody answers for it, and no error comes from it.
TEST_F(EthernetPortTest, DoesNotUseDuplicateAddress) {
    std::vector<neighbour::Conflict> conflicts;
    port.on_conflict([&](const neighbour::Conflict& conflict) { conflicts.push_back(conflict); });
    port.set_carrier(true);
    forget_commands();
    port.set_addresses({{our_ipv6, 64}});
    const auto probe = next<Transmit>();
    ASSERT_TRUE(probe);
    const test::Packet packet(probe->packet);
    const auto read = neighbour::read_discovery<wire::MacAddress>(test::bytes_of(packet));
    EXPECT_TRUE(read.message.solicits && !read.message.source) << "asks from ::";
    EXPECT_EQ(read.message.subject, our_ipv6);
    EXPECT_EQ(to_string(wire::Ethernet::parse(probe->to.header.view())->destination), "33:33:ff:00:00:01");
    hear_discovery(neighbour::request(peer_mac, peer_ipv6, our_ipv6), false);
    EXPECT_FALSE(next<Transmit>()) << "tentative, it is not answered for";

    hear_discovery(neighbour::announcement(peer_mac, our_ipv6), false);
    ASSERT_EQ(conflicts.size(), 1u);
    EXPECT_EQ(conflicts[0].address, our_ipv6);
    EXPECT_TRUE(conflicts[0].lost);
    EXPECT_EQ(port.conflicts(), "fd76:1::1 is another host's (02:00:00:00:00:02)");
    hear_discovery(neighbour::request(peer_mac, peer_ipv6, our_ipv6), false);
    EXPECT_FALSE(next<SetAddress>()) << "never a source of errors";
    port.set_addresses({});
    EXPECT_NE(port.conflicts(), "") << "for the user to see, when the kernel no longer has it";
    port.set_addresses({{our_ipv6, 64}});
    EXPECT_EQ(port.conflicts(), "") << "it is tried again";
    forget_commands();
}

TEST_F(EthernetPortTest, ReceivesAllGroupsAsQuerierOnly) {
    port.set_carrier(true);
    EXPECT_FALSE(device.all_multicast);
    EthernetPort querier{*loop,
                         *shards,
                         {.name = "lan",
                          .device = &device,
                          .pool = test::packet_pool(),
                          .forwards = true,
                          .multicast = true,
                          .ipv6_gateways = &ipv6_gateways},
                         our_mac};
    querier.set_carrier(true);
    EXPECT_TRUE(device.all_multicast);
}

TEST_F(EthernetPortTest, IsQuerierAsLongAsItIsTold) {
    port.set_multicast(true);
    EXPECT_FALSE(device.all_multicast) << "the link is down";
    EXPECT_TRUE(next<SetMulticast>().value_or(SetMulticast{}).routed);
    port.set_carrier(true);
    EXPECT_TRUE(device.all_multicast);
    forget_commands();
    port.set_multicast(false);
    EXPECT_FALSE(device.all_multicast);
    EXPECT_FALSE(next<SetMulticast>().value_or(SetMulticast{.routed = true}).routed);
    forget_commands();
}

TEST_F(EthernetPortTest, NotifiesOfCarrierChanges) {
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
