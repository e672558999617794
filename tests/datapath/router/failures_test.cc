// SPDX-License-Identifier: BSD-3-Clause
// What a shard does when something goes wrong around it: flows that are established go on, memory stays bounded, and
// what is lost is counted by its reason.
#include <array>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include <rte_mempool.h>

#include <gtest/gtest.h>

#include "datapath/ipoib/interface.h"
#include "datapath/wire/bytes.h"
#include "tests/datapath/router/two_ports.h"
#include "tests/support/counter.h"

namespace verbline::router {
namespace {

using namespace two_ports;
using Neighbours = forward::NeighbourTable<link::Destination>;

constexpr auto carol_mac = mac(0xc);
constexpr Neighbours::Config table_limits{};

/// An address of a large network on the right.
constexpr wire::Ipv4Address stranger(unsigned n) {
    return wire::Ipv4Address{0x0a04'0000 + n};
}

class ShardFailures : public testing::Test {
protected:
    ShardFailures() {
        gateway.resolve(bob);
        route({ipv4(10, 4, 0, 0), 16}, {NextHop::Kind::on_link, right});
    }

    void route(const forward::Prefix& prefix, const NextHop& hop) {
        ASSERT_TRUE(gateway.fib->replace(prefix, hop));
        gateway.poll();
        gateway.fib->advance();
    }
    void set_neighbour(wire::Ipv4Address who, wire::MacAddress where) {
        gateway.command(SetNeighbour{right, link::gid_of(who),
                                     link::ethernet_destination(right_mac, where, wire::ether_type::ipv4)});
        gateway.poll();
    }
    /// Alice sends, and it is left to the next poll.
    void send(wire::Ipv4Address to, std::uint32_t number = 0) {
        auto packet = ip_packet(alice, to);
        wire::store32(packet, Ipv4::size, number);
        gateway.left_link.receive(in_ethernet(left_mac, packet));
    }
    /// Bob gets what Alice sends him next, though the shard has other things to do in the same poll.
    void expect_the_flow_goes_on() {
        const auto number = ++sent_;
        send(bob, number);
        gateway.poll();
        unsigned came = 0;
        for (const auto& frame : gateway.right_link.sent) {
            const auto bytes = bytes_of(frame);
            const auto got = wire::load32(wire::Bytes(bytes), Ethernet::size + Ipv4::size);
            came += to_mac(bytes) == bob_mac && got == number ? 1 : 0;
        }
        ASSERT_EQ(came, 1u) << "packet " << number;
    }
    static wire::MacAddress to_mac(const ByteVector& frame) {
        wire::MacAddress to;
        std::copy_n(frame.begin(), to.bytes.size(), to.bytes.begin());
        return to;
    }
    /// How many neighbours the shard has asked for since the last call.
    unsigned asked() {
        unsigned n = 0;
        while (const auto event = gateway.events.pop()) n += std::holds_alternative<Unresolved>(*event) ? 1 : 0;
        return n;
    }
    void forget_what_was_sent() { gateway.left_link.sent.clear(), gateway.right_link.sent.clear(); }
    static unsigned mbufs_in_use() { return rte_mempool_in_use_count(test::packet_pool()); }

    Gateway gateway;

private:
    std::uint32_t sent_ = 0;
};

TEST_F(ShardFailures, AFullNeighbourTableRefusesNewcomersAlone) {
    for (unsigned n = 2; n < table_limits.capacity; ++n)
        set_neighbour(stranger(n), carol_mac);  // two are Alice and Bob
    asked();
    const auto before = mbufs_in_use();
    send(stranger(0)), send(stranger(1));
    expect_the_flow_goes_on();
    EXPECT_EQ(gateway.counter("dropped_neighbours_full"), 2u);
    EXPECT_EQ(asked(), 0u);
    forget_what_was_sent();
    EXPECT_EQ(mbufs_in_use(), before);

    send(stranger(table_limits.capacity - 1u));
    gateway.poll();
    ASSERT_EQ(gateway.right_link.sent.size(), 1u) << "who is in the table is reached";
    EXPECT_EQ(to_mac(bytes_of(gateway.right_link.sent[0])), carol_mac);

    gateway.command(ForgetNeighbour{right, link::gid_of(stranger(2))});
    gateway.poll();
    send(stranger(0));
    expect_the_flow_goes_on();
    EXPECT_EQ(asked(), 1u) << "there is room again";
}

/// Someone scans a network of ours at 10,000 addresses a second, and nobody answers.
TEST_F(ShardFailures, AFloodOfUnknownTargetsTakesBoundedMemory) {
    constexpr unsigned each_millisecond = 10, milliseconds = 6'000;
    const auto before = mbufs_in_use();
    unsigned target = 0, questions = 0;
    for (unsigned ms = 0; ms < milliseconds; ++ms) {
        gateway.now += millisecond;
        for (unsigned i = 0; i < each_millisecond; ++i) send(stranger(target++));
        ASSERT_NO_FATAL_FAILURE(expect_the_flow_goes_on());
        forget_what_was_sent();
        questions += asked();
        ASSERT_LE(mbufs_in_use(), before + table_limits.max_pending) << "one packet for each that is asked for";
    }
    EXPECT_EQ(gateway.counter("events_lost"), 0u);
    EXPECT_GE(questions, table_limits.max_pending);
    EXPECT_LE(questions, table_limits.max_pending * (milliseconds * millisecond / table_limits.timeout + 1));

    gateway.now += 2 * table_limits.timeout;
    gateway.poll();
    gateway.poll();  // sends the last ICMP errors
    forget_what_was_sent();
    EXPECT_EQ(mbufs_in_use(), before) << "nothing waits any more";
    EXPECT_EQ(gateway.counter("neighbours_failed"), questions);
    EXPECT_EQ(gateway.counter("dropped_too_many_unresolved") + gateway.counter("dropped_neighbour_failed"), target)
        << "every one of them is counted";

    send(stranger(1));
    gateway.poll();
    EXPECT_EQ(asked(), 1u);
    set_neighbour(stranger(1), carol_mac);
    ASSERT_EQ(gateway.right_link.sent.size(), 1u) << "a newcomer is reached as before";
}

/// The control thread stands still meanwhile, so that its ring of events fills.
TEST_F(ShardFailures, WhatNobodyTakesFromTheShardIsLostAndCounted) {
    for (unsigned n = 0; n < 400; ++n) {
        send(stranger(n));
        ASSERT_NO_FATAL_FAILURE(expect_the_flow_goes_on());
        forget_what_was_sent();
    }
    const auto lost = gateway.counter("events_lost");
    EXPECT_GT(lost, 0u);
    EXPECT_EQ(asked() + lost, 400u);
    gateway.now += table_limits.timeout;
    gateway.poll();
    send(stranger(399));
    gateway.poll();
    EXPECT_EQ(asked(), 1u) << "who was not asked for is asked for again";
}

/// Its source is an address of the link that no host has: the ICMP error waits for that neighbour in vain.
TEST_F(ShardFailures, AnErrorThatCannotBeDeliveredCausesNoOther) {
    gateway.left_link.receive(in_ethernet(left_mac, ip_packet(ipv4(10, 1, 0, 77), ipv4(192, 0, 2, 1))));
    gateway.poll();
    EXPECT_EQ(gateway.counter("icmp_errors_sent"), 1u);
    EXPECT_EQ(asked(), 1u);
    gateway.now += table_limits.timeout;
    gateway.poll();
    EXPECT_EQ(gateway.counter("dropped_neighbour_failed"), 1u);
    EXPECT_EQ(gateway.counter("icmp_errors_withheld"), 1u);
    expect_the_flow_goes_on();
}

TEST_F(ShardFailures, WhatIsForTheControlThreadIsLostAloneAndCounted) {
    constexpr unsigned arps = 1'000;
    auto arp = in_ethernet(left_mac, ByteVector(28));
    wire::store16(arp, 12, static_cast<std::uint16_t>(wire::ether_type::arp));
    for (unsigned n = 0; n < arps; ++n) {
        gateway.left_link.receive(arp);
        ASSERT_NO_FATAL_FAILURE(expect_the_flow_goes_on());
        forget_what_was_sent();
    }
    const auto dropped = gateway.counter("dropped_control_busy");
    EXPECT_GT(dropped, 0u);
    EXPECT_EQ(gateway.counter("punted_packets") + dropped, arps);
    EXPECT_EQ(gateway.counter("rx_punted"), arps);
    while (const auto event = gateway.events.pop()) rte_pktmbuf_free(std::get<Punted>(*event).packet);
}

TEST_F(ShardFailures, RoutesChangeAHundredThousandTimesWhilePacketsPass) {
    constexpr unsigned changes = 100'000, prefixes = 16, changes_per_poll = 10;
    const auto net = [](unsigned n) { return forward::Prefix{wire::Ipv4Address{0x0b00'0000 + (n << 16)}, 16}; };
    set_neighbour(carol, carol_mac);
    std::map<forward::Prefix, forward::NextHopGroup> expected;
    unsigned sent = 0, reached = 0;
    for (unsigned n = 0; n < changes; ++n) {
        const auto prefix = net(n * 7 % prefixes);
        const NextHop hop{NextHop::Kind::via, right, n % 2 == 0 ? bob : carol};
        if (n % 5 == 4 && expected.contains(prefix)) {
            ASSERT_TRUE(gateway.fib->remove(prefix)) << n;
            expected.erase(prefix);
        } else {
            ASSERT_TRUE(gateway.fib->replace(prefix, hop)) << n;
            expected[prefix] = hop;
        }
        ASSERT_LE(gateway.fib->waiting(), prefixes) << "one for each prefix, however often it changes";
        if (n % changes_per_poll != 0) continue;
        send(wire::Ipv4Address{static_cast<std::uint32_t>(net(n % prefixes).address) + 1}), ++sent;
        ASSERT_NO_FATAL_FAILURE(expect_the_flow_goes_on());
        gateway.fib->advance();
        reached += static_cast<unsigned>(gateway.right_link.sent.size()) - 1;
        for (const auto& frame : gateway.right_link.sent) {
            const auto to = to_mac(bytes_of(frame));
            ASSERT_TRUE(to == bob_mac || to == carol_mac) << n;
        }
        forget_what_was_sent();
    }
    EXPECT_GT(reached, sent / 2);
    EXPECT_EQ(reached + gateway.counter("dropped_no_route"), sent) << "every packet found some route, or none";

    gateway.poll();
    gateway.fib->advance();
    EXPECT_EQ(gateway.fib->waiting(), 0u);
    std::map<forward::Prefix, forward::NextHopGroup> made;
    for (const auto& [prefix, hop] : gateway.fib->routes()) {
        if (prefix.address >= net(0).address) made[prefix] = hop;
    }
    EXPECT_EQ(made, expected);
}

TEST_F(ShardFailures, APortThatGoesDownLosesItsOwnPacketsAlone) {
    gateway.command(SetCarrier{right, false});
    gateway.command(SetEthernet{right, {}});
    gateway.poll();
    for (int i = 0; i < 10; ++i) send(bob);
    gateway.from_alice(ip_packet(alice, left_ip));
    EXPECT_TRUE(gateway.right_link.sent.empty());
    EXPECT_EQ(gateway.left_kernel.sent.size(), 1u) << "the other port goes on";
    EXPECT_EQ(gateway.counter("tx_dropped_down"), 10u);
    gateway.command(ForgetNeighbour{right, link::gid_of(bob)});
    gateway.poll();

    gateway.command(SetEthernet{right, right_mac});
    gateway.command(SetCarrier{right, true});
    gateway.poll();
    send(bob);
    gateway.poll();
    EXPECT_EQ(asked(), 1u) << "who was known before may be elsewhere now";
    gateway.resolve(bob);
    EXPECT_EQ(gateway.right_link.sent.size(), 1u) << "what waited";
    forget_what_was_sent();
    expect_the_flow_goes_on();
    EXPECT_EQ(gateway.counter("tx_dropped_down"), 10u);
}

/// A host on a partition of InfiniBand, opposite of a port of the gateway's.
struct IpoibHost {
    explicit IpoibHost(const ipoib::Identity& who) : link(device, 0, *test::packet_pool()), identity(who) {
        link.set_port(identity);
    }
    void change_pkey(wire::PKey pkey) {
        identity.pkey = pkey;
        link.set_port(identity);
    }
    /// Sends an IP packet to `to`, by way of `port`.
    void send(test::FakeNetDevice& port, const ipoib::Identity& to, const ByteVector& packet) {
        link.transmit(test::make_packet(packet).release(),
                      ipoib::destination(identity, {.dlid = to.port.lid}, to.qpn, wire::ether_type::ipv4));
        link.flush();
        for (auto& frame : device.sent) port.to_receive.push_back(std::move(frame));
        device.sent.clear();
    }
    /// The number of IP packets that arrive with what `port` has sent.
    unsigned take(test::FakeNetDevice& port) {
        for (auto& frame : port.sent) device.to_receive.push_back(std::move(frame));
        port.sent.clear();
        link::Reception received;
        link.receive(received);
        rte_pktmbuf_free_bulk(received.ip.data(), received.ip_count);
        return received.ip_count;
    }

    test::FakeNetDevice device;
    ipoib::IpoibInterface link;
    ipoib::Identity identity;
};

constexpr ipoib::Identity ipoib_station(std::uint16_t lid, wire::PKey pkey) {
    return {.port = {.carrier = link::Carrier::soft_ib,
                     .gid = wire::Gid::of(wire::default_subnet_prefix, wire::Guid{0x100000u + lid}),
                     .lid = wire::Lid{lid}},
            .qpn = wire::Qpn{0x40u + lid},
            .pkey = pkey,
            .qkey = wire::QKey{0xb1b}};
}

/// The subnet manager gives every port another P_Key, the gateway's before the hosts'.
TEST(ShardFailuresOnIpoib, AllPKeysChange) {
    constexpr wire::PKey before{0x8001}, after{0x8002};
    Gateway gateway(false, {.kind = PortSetup::Kind::ipoib});
    IpoibHost alices(ipoib_station(3, before)), bobs(ipoib_station(4, before));
    const auto tell = [&](wire::PKey pkey) {
        for (const auto& [port, lid, host, address] :
             {std::tuple{left, 1, &alices.identity, alice}, std::tuple{right, 2, &bobs.identity, bob}}) {
            const auto us = ipoib_station(static_cast<std::uint16_t>(lid), pkey);
            gateway.command(SetIpoib{port, us});
            const auto to = ipoib::destination(us, {.dlid = host->port.lid}, host->qpn, wire::ether_type::ipv4);
            gateway.command(SetNeighbour{port, link::gid_of(address), to});
        }
        gateway.poll();
    };
    const auto alice_sends = [&](wire::PKey to) {
        alices.send(gateway.left_link, ipoib_station(1, to), ip_packet(alice, bob));
        gateway.poll();
        return bobs.take(gateway.right_link);
    };
    tell(before);
    EXPECT_EQ(alice_sends(before), 1u);

    tell(after);
    EXPECT_EQ(alice_sends(before), 0u);
    EXPECT_EQ(gateway.counter("rx_dropped_pkey"), 1u) << "the gateway is no more in the partition of Alice";
    alices.change_pkey(after);
    EXPECT_EQ(alice_sends(after), 0u) << "nor Bob in that of the gateway";
    EXPECT_EQ(gateway.counter("forwarded_packets"), 2u);
    EXPECT_EQ(test::counter(bobs.link, "rx_dropped_pkey"), 1u);

    bobs.change_pkey(after);
    EXPECT_EQ(alice_sends(after), 1u) << "all are in one partition again";
    EXPECT_EQ(gateway.counter("rx_dropped_pkey"), 1u);
}

}  // namespace
}  // namespace verbline::router
