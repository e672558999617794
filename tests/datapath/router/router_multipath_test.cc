// SPDX-License-Identifier: BSD-3-Clause
#include <initializer_list>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "datapath/forward/next_hop_group.h"
#include "datapath/link/ip_gid.h"
#include "datapath/router/router.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/ipv4.h"
#include "tests/datapath/router/two_ports.h"

namespace verbline::router {
namespace {

using namespace two_ports;

constexpr auto far_net = wire::Ipv4Prefix{ipv4(10, 9, 0, 0), 16};
constexpr auto dave = ipv4(10, 2, 0, 4);

/// To the far network by way of these.
forward::NextHopGroup by_way_of(std::initializer_list<NextHop> hops) {
    std::vector<forward::NextHopGroup::Member> members;
    for (const auto& hop : hops) members.push_back({hop});
    return forward::NextHopGroup(std::move(members));
}
const NextHop by_carol{NextHop::Kind::via, right, carol}, by_dave{NextHop::Kind::via, right, dave},
    by_alice{NextHop::Kind::via, left, alice};

/// UDP from a port of its own: of this flow.
ByteVector of_flow(unsigned flow, wire::Ipv4Address from = alice) {
    auto packet = ip_packet(from, far_net.address);
    wire::store16(packet, Ipv4::size, static_cast<std::uint16_t>(5000 + flow));
    return packet;
}
/// Has a neighbour answer from a MAC address of its own.
void resolve_as(Gateway& gateway, wire::Ipv4Address who, wire::MacAddress where) {
    gateway.command(
        SetNeighbour{right, link::gid_of(who), link::ethernet_destination(right_mac, where, wire::ether_type::ipv4)});
    gateway.poll();
}
/// To which MAC address the only packet was sent.
wire::MacAddress only_receiver(test::FakeNetDevice& device) {
    EXPECT_EQ(device.sent.size(), 1u);
    if (device.sent.empty()) return {};
    const auto to = Ethernet::parse(bytes_of(device.sent.front()))->destination;
    device.sent.clear();
    return to;
}

TEST(Router, SpreadsFlowsOverTheNextHopsOfARoute) {
    Gateway gateway;
    resolve_as(gateway, carol, mac(0xc)), resolve_as(gateway, dave, mac(0xd));
    ASSERT_TRUE(gateway.fib->replace(far_net, by_way_of({by_carol, by_dave})));
    std::map<wire::MacAddress, unsigned> flows;
    for (unsigned flow = 0; flow < 64; ++flow) {
        gateway.from_alice(of_flow(flow));
        const auto to = only_receiver(gateway.right_link);
        ++flows[to];
        for (int again = 0; again < 3; ++again) {
            gateway.from_alice(of_flow(flow));
            EXPECT_EQ(only_receiver(gateway.right_link), to) << "a flow keeps to its next hop";
        }
    }
    EXPECT_EQ(flows.size(), 2u);
    EXPECT_GT(flows[mac(0xc)], 10u);
    EXPECT_GT(flows[mac(0xd)], 10u);

    ASSERT_TRUE(gateway.fib->replace(far_net, by_carol));
    for (unsigned flow = 0; flow < 16; ++flow) {
        gateway.from_alice(of_flow(flow));
        EXPECT_EQ(only_receiver(gateway.right_link), mac(0xc));
    }
}

TEST(Router, SpreadsFragmentsByTheirAddresses) {
    Gateway gateway;
    resolve_as(gateway, carol, mac(0xc)), resolve_as(gateway, dave, mac(0xd));
    ASSERT_TRUE(gateway.fib->replace(far_net, by_way_of({by_carol, by_dave})));
    std::set<wire::MacAddress> receivers;
    for (unsigned n = 0; n < 16; ++n) {  // what differs is the payload, where others have ports
        auto packet = ip_packet(alice, far_net.address, 100, 64, false);
        auto header = *Ipv4::parse(packet);
        header.fragment_offset = 100;
        header.with_checksum().emit(std::span(packet).first<Ipv4::size>());
        wire::store16(packet, Ipv4::size, static_cast<std::uint16_t>(n));
        gateway.from_alice(packet);
        receivers.insert(only_receiver(gateway.right_link));
    }
    EXPECT_EQ(receivers.size(), 1u);
}

/// The kernel has its own opinion on which of several next hops a flow takes.
TEST(Router, SendsByTheNextHopOnThePortThatTheKernelChose) {
    Gateway gateway;
    resolve_as(gateway, carol, mac(0xc));
    ASSERT_TRUE(gateway.fib->replace(far_net, by_way_of({by_carol, by_alice})));
    for (unsigned flow = 0; flow < 16; ++flow) {
        gateway.right_kernel.receive(of_flow(flow, right_ip));
        gateway.poll();
        EXPECT_EQ(only_receiver(gateway.right_link), mac(0xc));
        gateway.left_kernel.receive(of_flow(flow, left_ip));
        gateway.poll();
        EXPECT_EQ(only_receiver(gateway.left_link), alice_mac);
    }
}

TEST(Router, LetsPacketsBeFromWhereAnyNextHopOfTheirSourceIs) {
    Gateway gateway(false, {.reverse_path = forward::ReversePathFilter::strict});
    gateway.resolve(bob);
    ASSERT_TRUE(gateway.fib->replace(far_net, by_way_of({by_carol, by_alice})));
    gateway.from_alice(ip_packet(far_net.address, bob));
    EXPECT_EQ(gateway.right_link.sent.size(), 1u);
    ASSERT_TRUE(gateway.fib->replace(far_net, by_way_of({by_carol, by_dave})));
    gateway.from_alice(ip_packet(far_net.address, bob));
    EXPECT_EQ(gateway.counter("dropped_reverse_path"), 1u);
}

TEST(Router, SendsErrorsByOneOfSeveralNextHops) {
    Gateway gateway;
    resolve_as(gateway, carol, mac(0xc)), resolve_as(gateway, dave, mac(0xd));
    ASSERT_TRUE(gateway.fib->replace(far_net, by_way_of({by_carol, by_dave})));
    gateway.from_alice(ip_packet(far_net.address, bob, 100, 1));
    EXPECT_EQ(gateway.right_link.sent.size(), 1u);
    EXPECT_EQ(gateway.counter("icmp_errors_sent"), 1u);
}

}  // namespace
}  // namespace verbline::router
