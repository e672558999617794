// SPDX-License-Identifier: BSD-3-Clause
// A port's packet program in front of the router: what it drops is not routed, what it forwards leaves by its port.
#include <gtest/gtest.h>

#include "datapath/program/program_runner.h"
#include "datapath/wire/ipv6.h"
#include "tests/datapath/program/bpf_objects.h"
#include "tests/datapath/router/two_ports.h"

namespace verbline::router {
namespace {

using namespace two_ports;

constexpr auto by_left = ipv4(10, 1, 0, 99);

/// The last byte of the source decides (programs.c).
wire::Ipv4Address source_host(unsigned number) {
    return ipv4(10, 1, 0, number);
}

struct WithProgram {
    explicit WithProgram(std::string_view section, PortSetup options = {}) {
        options.program = &port;
        gateway.emplace(false, options);
        gateway->resolve(bob);
        use(section);
    }
    void use(std::string_view section) {
        auto program = port.prepare(program::bpf_objects::object(section), log);
        ASSERT_TRUE(program) << program.error().what;
        port.publish(std::move(*program));
    }

    test::FibReaders readers = test::fib_readers();
    program::VerifierLog log;
    program::PortProgram port{program::bpf_objects::port_names, 0, 1, *readers};
    std::optional<Gateway> gateway;
};

TEST(RouterProgram, PassedPacketsAreRouted) {
    WithProgram with("by_source");
    auto& gateway = *with.gateway;
    gateway.from_alice(ip_packet(source_host(20), bob));
    EXPECT_EQ(only_packet(gateway.right_link).size(), 120u);
    EXPECT_EQ(gateway.counter("program_passed"), 1u);
    EXPECT_EQ(gateway.counter("forwarded_packets"), 1u);
    EXPECT_EQ(gateway.counter("rx_packets"), 1u);
}

TEST(RouterProgram, DroppedPacketsAreNot) {
    WithProgram with("by_source");
    auto& gateway = *with.gateway;
    for (const unsigned number : {1u, 3u, 4u}) gateway.from_alice(ip_packet(source_host(number), bob));
    gateway.from_alice(ip_packet(source_host(1), left_ip));
    EXPECT_TRUE(gateway.right_link.sent.empty());
    EXPECT_TRUE(gateway.left_kernel.sent.empty()) << "nor is the gateway itself reached";
    EXPECT_EQ(gateway.counter("program_dropped"), 2u);
    EXPECT_EQ(gateway.counter("program_no_port"), 1u);
    EXPECT_EQ(gateway.counter("program_aborted"), 1u);
    EXPECT_EQ(gateway.counter("forwarded_packets"), 0u);
    EXPECT_EQ(gateway.counter("rx_packets"), 4u) << "by the link, all the same";
    EXPECT_EQ(gateway.counter("rx_bytes"), 4 * 120u);
}

TEST(RouterProgram, SeesIpPacketsForThePortAlone) {
    constexpr wire::MacAddress group{{std::byte{1}, {}, std::byte{0x5e}, std::byte{1}, std::byte{2}, std::byte{3}}};
    WithProgram with("drop");
    auto& gateway = *with.gateway;
    auto arp = in_ethernet(left_mac, ByteVector(46));
    wire::store16(arp, 12, 0x0806);
    gateway.left_link.receive(arp);
    gateway.left_link.receive(in_ethernet(left_mac, ip_packet(alice, bob)));
    gateway.left_link.receive(in_ethernet(right_mac, ip_packet(alice, bob)));  // to another station
    gateway.left_link.receive(ByteVector(13));
    gateway.left_link.receive(in_ethernet(group, ip_packet(alice, ipv4(239, 1, 2, 3))));
    gateway.poll();
    EXPECT_EQ(gateway.counter("program_dropped"), 2u);
    EXPECT_EQ(gateway.counter("rx_packets"), 2u);
    const auto event = gateway.events.pop();
    ASSERT_TRUE(event && std::holds_alternative<Punted>(*event)) << "ARP";
    rte_pktmbuf_free(std::get<Punted>(*event).packet);
    EXPECT_EQ(gateway.counter("rx_dropped_not_ours"), 1u);
    EXPECT_EQ(gateway.counter("rx_dropped_malformed"), 1u);
}

TEST(RouterProgram, KeepsTheOrderOfWhatPasses) {
    WithProgram with("by_source");
    auto& gateway = *with.gateway;
    for (unsigned i = 0; i < 20; ++i) {  // every other is dropped, and some are not for the short way
        auto frame = in_ethernet(left_mac, ip_packet(source_host(i % 2 == 0 ? 20 : 1), bob, 100 + i));
        if (i % 6 == 4) frame.resize(frame.size() + 6);  // Ethernet's padding
        gateway.left_link.receive(frame);
    }
    gateway.poll();
    ASSERT_EQ(gateway.right_link.sent.size(), 10u);
    for (unsigned i = 0; i < 10; ++i) {
        EXPECT_EQ(test::bytes_of(gateway.right_link.sent[i]).size(), 14 + 20 + 100 + 2 * i);
    }
}

TEST(RouterProgram, OnlyWhatALinkReceivesIsShown) {
    WithProgram with("drop");
    auto& gateway = *with.gateway;
    gateway.right_kernel.receive(ip_packet(right_ip, bob));
    gateway.poll();
    EXPECT_EQ(gateway.right_link.sent.size(), 1u) << "of the gateway's own kernel";
    EXPECT_EQ(gateway.counter("program_dropped"), 0u);
}

TEST(RouterProgram, ForwardedPacketsLeaveByThatPortWhateverTheRoutesSay) {
    WithProgram with("forward");
    auto& gateway = *with.gateway;
    gateway.command(SetNeighbour{right, link::gid_of(by_left),
                                 link::ethernet_destination(right_mac, bob_mac, wire::ether_type::ipv4)});
    gateway.from_alice(ip_packet(alice, by_left, 100, 9));  // whose route leads back
    const auto sent = only_packet(gateway.right_link);
    ASSERT_EQ(sent.size(), 120u);
    EXPECT_EQ(std::to_integer<unsigned>(sent[8]), 8u) << "one hop less";
    EXPECT_EQ(gateway.counter("program_forwarded"), 1u);
    EXPECT_EQ(gateway.counter("forwarded_packets"), 1u);
}

TEST(RouterProgram, ForwardedPacketsTakeTheGatewayOfARouteByThatPort) {
    WithProgram with("forward");
    auto& gateway = *with.gateway;
    gateway.resolve(carol);
    gateway.from_alice(ip_packet(alice, ipv4(10, 3, 4, 5)));
    EXPECT_EQ(gateway.right_link.sent.size(), 1u) << "to carol, who is known";
}

TEST(RouterProgram, ForwardedPacketsHaveTtlMtuAndScope) {
    WithProgram with("forward");
    auto& gateway = *with.gateway;
    gateway.from_alice(ip_packet(alice, bob, 100, 1));
    EXPECT_EQ(gateway.counter("dropped_ttl"), 1u);
    EXPECT_EQ(gateway.left_link.sent.size(), 1u) << "which alice is told";
    gateway.from_alice(ip_packet(alice, bob, 1200));
    EXPECT_EQ(gateway.counter("dropped_mtu"), 1u);
    gateway.from_alice(ip_packet(alice, ipv4(239, 1, 2, 3)));
    gateway.from_alice(ip_packet(alice, ipv4(255, 255, 255, 255)));
    EXPECT_EQ(gateway.counter("dropped_program_group"), 2u);
    EXPECT_TRUE(gateway.right_link.sent.empty());
}

TEST(RouterProgram, AnUnknownNeighbourIsAskedFor) {
    WithProgram with("forward");
    auto& gateway = *with.gateway;
    gateway.from_alice(ip_packet(alice, by_left));
    const auto event = gateway.events.pop();
    ASSERT_TRUE(event);
    const auto* const unresolved = std::get_if<Unresolved>(&*event);
    ASSERT_NE(unresolved, nullptr);
    EXPECT_EQ(unresolved->port, right);
    EXPECT_EQ(unresolved->address, link::gid_of(by_left));
}

TEST(RouterProgram, ReversePathsAreCheckedBehindIt) {
    WithProgram with("forward", {.reverse_path = forward::ReversePathFilter::strict});
    auto& gateway = *with.gateway;
    gateway.from_alice(ip_packet(ipv4(10, 2, 0, 77), bob));
    EXPECT_EQ(gateway.counter("dropped_reverse_path"), 1u);
    EXPECT_TRUE(gateway.right_link.sent.empty());
}

TEST(RouterProgram, NoPacketIsLostWhileProgramsChange) {
    WithProgram with("pass");
    auto& gateway = *with.gateway;
    for (int turn = 0; turn < 50; ++turn) {
        if (turn % 5 == 4) {
            with.port.publish(nullptr);
        } else {
            with.use(turn % 2 == 0 ? "pass" : "count");
        }
        gateway.from_alice(ip_packet(alice, bob));
        with.port.reclaim();
    }
    EXPECT_EQ(gateway.right_link.sent.size(), 50u);
    EXPECT_EQ(gateway.counter("program_passed"), 40u) << "the others found none";
}

}  // namespace
}  // namespace verbline::router
