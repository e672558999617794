// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/router/shard.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "datapath/link/ip_gid.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/ipv4.h"
#include "tests/datapath/offload/tcp_packet.h"
#include "tests/datapath/router/two_ports.h"

namespace verbline::router {
namespace {

using namespace two_ports;
using test::Packet;

TEST(Shard, ReadsTheKernelWhileALinkIsBusy) {
    Gateway gateway;
    gateway.resolve(bob);
    gateway.right_kernel.receive(ip_packet(right_ip, bob));
    gateway.from_alice(ip_packet(alice, bob));
    EXPECT_EQ(gateway.right_link.sent.size(), 2u) << "what was forwarded in this poll is no congestion";

    gateway.right_link.tx_room = 0;
    gateway.from_alice(ip_packet(alice, bob));
    gateway.right_kernel.receive(ip_packet(right_ip, bob));
    gateway.poll();
    EXPECT_FALSE(gateway.right_kernel.to_receive.empty()) << "read although the link is full";
    gateway.right_link.tx_room = 100;
    gateway.poll(), gateway.poll();
    EXPECT_EQ(gateway.right_link.sent.size(), 4u);
}

TEST(Shard, ReadsSilentTunsLessOftenWhileItIsBusy) {
    Gateway gateway;
    gateway.resolve(bob);
    gateway.right_kernel.capabilities().lossless_rx = true;
    // The pause grows with what a read costs by the real clock: here little, unless the thread loses its CPU in one.
    constexpr unsigned polls_in_pause = 10, in_longest = polls_in_pause * (ReadPause::longest / ReadPause::shortest);
    const auto reads_of = [&](unsigned polls) {
        const auto before = gateway.right_kernel.reads;
        for (unsigned i = 0; i < polls; ++i) {
            gateway.now += ReadPause::shortest / polls_in_pause;
            gateway.from_alice(ip_packet(alice, bob));
        }
        return gateway.right_kernel.reads - before;
    };
    gateway.poll();
    const auto reads = reads_of(9 * in_longest);
    EXPECT_LE(reads, 90u);
    EXPECT_GE(reads, 9u);

    gateway.right_kernel.receive(ip_packet(right_ip, bob));
    unsigned polls = 0;
    for (; !gateway.right_kernel.to_receive.empty() && polls < 2 * in_longest; ++polls) reads_of(1);
    EXPECT_LE(polls, in_longest);
    gateway.right_kernel.receive(ip_packet(right_ip, bob));
    EXPECT_EQ(reads_of(1), 1u) << "what had packets is read in each poll";

    gateway.poll();  // finds nothing
    const auto before = gateway.right_kernel.reads;
    gateway.poll();
    EXPECT_EQ(gateway.right_kernel.reads, before + 1) << "an idle shard reads every device";
}

TEST(Shard, HandsTheKernelWhatIsOurs) {
    Gateway gateway;
    const auto ping = ip_packet(alice, right_ip);
    gateway.from_alice(ping);
    ASSERT_EQ(gateway.left_kernel.sent.size(), 1u);
    EXPECT_EQ(bytes_of(gateway.left_kernel.sent[0]), ping) << "TTL and all";
}

/// RFC 2644: from another network.
TEST(Shard, HandsTheKernelABurstAsOne) {
    Gateway gateway;
    for (std::uint16_t size = 100; size < 108; ++size) {
        const auto to = size % 2 == 0 ? right_ip : bob;
        gateway.left_link.receive(in_ethernet(left_mac, ip_packet(alice, to, size)));
    }
    gateway.poll();
    ASSERT_EQ(gateway.left_kernel.sent.size(), 4u);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(gateway.left_kernel.sent[i]->pkt_len, Ipv4::size + 100 + 2 * i);
    EXPECT_EQ(gateway.left_kernel.bursts_sent, 1u);
}

TEST(Shard, AHostHandsTheKernelEverything) {
    Gateway gateway(true);
    gateway.from_alice(ip_packet(alice, nobody));
    EXPECT_EQ(gateway.left_kernel.sent.size(), 1u);
}

TEST(Shard, SendsWhatTheKernelSends) {
    Gateway gateway;
    gateway.resolve(bob);
    gateway.right_kernel.receive(ip_packet(right_ip, bob, 100, 1));
    gateway.poll();
    EXPECT_EQ(only_packet(gateway.right_link), ip_packet(right_ip, bob, 100, 1)) << "it is not ours to count down";
}

TEST(Shard, SendsTheKernelsBroadcastsToTheBroadcastDestination) {
    Gateway gateway;
    gateway.right_kernel.receive(ip_packet(right_ip, ipv4(255, 255, 255, 255)));
    gateway.poll();
    EXPECT_EQ(gateway.counter("dropped_broadcast"), 1u) << "there is none yet";
    gateway.command(
        SetBroadcast{right, link::ethernet_destination(right_mac, wire::broadcast_mac, wire::ether_type::ipv4)});
    gateway.right_kernel.receive(ip_packet(right_ip, ipv4(255, 255, 255, 255)));
    gateway.poll();
    ASSERT_EQ(gateway.right_link.sent.size(), 1u);
}

TEST(Shard, LeavesPacketsWithTheKernelWhileALinkIsCongested) {
    Gateway gateway;
    gateway.resolve(bob);
    gateway.right_link.tx_room = 0;
    gateway.right_kernel.receive(ip_packet(right_ip, bob));
    gateway.poll();
    gateway.right_kernel.receive(ip_packet(right_ip, bob));
    gateway.poll();
    EXPECT_EQ(gateway.right_kernel.to_receive.size(), 1u) << "it waits where it is";
    gateway.right_link.tx_room = 8;
    gateway.poll(), gateway.poll();
    EXPECT_EQ(gateway.right_link.sent.size(), 2u);
}

TEST(Shard, IgnoresFramesForOthersAndGarbage) {
    Gateway gateway;
    gateway.left_link.receive(in_ethernet(mac(0x77), ip_packet(alice, bob)));
    gateway.left_link.receive(test::pattern(5));
    gateway.left_link.receive(in_ethernet(left_mac, test::pattern(60)));
    gateway.poll();
    EXPECT_EQ(gateway.counter("rx_dropped_not_ours"), 1u);
    EXPECT_EQ(gateway.counter("rx_dropped_malformed"), 1u);
    EXPECT_TRUE(gateway.right_link.sent.empty());
    EXPECT_TRUE(gateway.left_kernel.sent.empty());
    EXPECT_FALSE(gateway.events.pop());
}

/// A kernel interface with one queue is shared by several shards (pmd/rss): the one that reads it hands packets over.
TEST(Shard, IsBusyWhileADeviceOfItsHandsPacketsToOthers) {
    Gateway gateway;
    for (auto* device : {&gateway.left_link, &gateway.right_kernel}) {
        device->consumes = true;
        EXPECT_EQ(gateway.poll(), Work::busy);
        device->consumes = false;
        EXPECT_EQ(gateway.poll(), Work::idle);
    }
}

TEST(Shard, LetsItsDevicesSendWhatOthersHaveHandedThemEvenWhileALinkIsCongested) {
    Gateway gateway;
    gateway.resolve(bob);
    gateway.right_link.tx_room = 0;
    gateway.from_alice(ip_packet(alice, bob));
    const auto before = gateway.left_kernel.empty_bursts;
    gateway.poll();
    EXPECT_EQ(gateway.left_kernel.empty_bursts, before + 1);
}

TEST(Shard, SaysWhenItFoundNothingToDo) {
    Gateway gateway;
    EXPECT_EQ(gateway.poll(), Work::idle);
    gateway.left_link.receive(test::pattern(5));
    EXPECT_EQ(gateway.poll(), Work::busy);
}

TEST(Shard, DividesItsTimeIntoBusyAndIdle) {
    Gateway gateway;
    gateway.poll();
    const auto busy = gateway.counter("busy_cycles"), idle = gateway.counter("idle_cycles");
    gateway.poll();
    EXPECT_EQ(gateway.counter("busy_cycles"), busy);
    EXPECT_GT(gateway.counter("idle_cycles"), idle);
    gateway.from_alice(ip_packet(alice, bob));
    EXPECT_GT(gateway.counter("busy_cycles"), busy);
    EXPECT_EQ(gateway.counter("asleep_cycles"), 0u);
}

TEST(Shard, CountsBurstsWithAllThatIsInThem) {
    Gateway gateway;
    gateway.poll();
    EXPECT_EQ(gateway.counter("rx_bursts"), 0u) << "an empty one is none";
    gateway.left_link.receive(in_ethernet(mac(0x77), ip_packet(alice, bob)));
    gateway.left_link.receive(in_ethernet(left_mac, ip_packet(alice, bob)));
    gateway.right_kernel.receive(ip_packet(right_ip, bob));
    gateway.poll();
    EXPECT_EQ(gateway.counter("rx_bursts"), 2u);
    EXPECT_EQ(gateway.counter("rx_burst_packets"), 3u);
}

/// Event, port and value of what was recorded since `first`.
std::vector<std::tuple<pmd::TraceEvent, int, unsigned>> traced(const Gateway& gateway, std::uint64_t first) {
    std::vector<std::tuple<pmd::TraceEvent, int, unsigned>> out;
    for (auto n = first; n < gateway.trace->recorded(); ++n) {
        const auto& entry = (*gateway.trace)[n];
        out.emplace_back(entry.event, entry.port == pmd::Trace::no_port ? -1 : entry.port, entry.value);
    }
    return out;
}

TEST(Shard, RecordsWhatItDoes) {
    using enum pmd::TraceEvent;
    Gateway gateway;
    gateway.poll();
    const auto first = gateway.trace->recorded();
    gateway.poll();
    EXPECT_EQ(gateway.trace->recorded(), first) << "a poll in vain is no event";
    gateway.from_alice(ip_packet(alice, bob));
    gateway.right_kernel.receive(ip_packet(right_ip, bob));
    gateway.resolve(bob);
    EXPECT_THAT(traced(gateway, first),
                testing::ElementsAre(std::tuple{received, 0, 1u}, std::tuple{unresolved, 1, 0u},
                                     std::tuple{commands, -1, 1u}, std::tuple{from_kernel, 1, 1u}));
}

TEST(Shard, RecordsThatDevicesRefuseFramesOnce) {
    using enum pmd::TraceEvent;
    Gateway gateway;
    gateway.resolve(bob);
    gateway.right_link.tx_room = 0;
    gateway.from_alice(ip_packet(alice, bob));
    const auto first = gateway.trace->recorded();
    for (int i = 0; i < 3; ++i) gateway.poll();
    gateway.right_link.tx_room = 100;
    gateway.poll();
    gateway.poll();
    EXPECT_THAT(traced(gateway, first),
                testing::ElementsAre(std::tuple{congested, -1, 0u}, std::tuple{relieved, -1, 0u}));
}

}  // namespace
}  // namespace verbline::router
