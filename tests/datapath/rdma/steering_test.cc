// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/rdma/steering.h"

#include <array>
#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "datapath/link/ip_gid.h"
#include "tests/sim/world.h"
#include "tests/support/eal.h"
#include "tests/support/rdma_end.h"

namespace verbline::rdma {
namespace {

using transport::QueuePairType;

/// The key that the RSS specification verifies implementations with.
constexpr std::array<std::uint8_t, 40> specified_key{0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
                                                     0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
                                                     0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
                                                     0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};

/// `queues` in turns over a table of 128.
pmd::RssTable table_of(std::uint16_t queues) {
    pmd::RssTable rss{.key = {specified_key.begin(), specified_key.end()}};
    for (std::uint16_t i = 0; i < 128; ++i) rss.queues.push_back(i % queues);
    return rss;
}

link::Envelope envelope_to(wire::Ipv4Address peer, wire::Ipv4Address us) {
    return link::make_envelope({.carrier = link::Carrier::roce_v2_ipv4, .gid = link::gid_of(us)},
                               {.global = true, .dgid = link::gid_of(peer)}, {}, 0xc000);
}

TEST(Steering, HashesAddressesAsTheRssSpecificationSays) {
    // Its first vector: 66.9.149.187 to 161.142.100.80 gives 0x323e8fc2 without ports.
    auto rss = table_of(1);
    rss.udp_ports = false;
    rss.queues.resize(1 << 16);
    std::iota(rss.queues.begin(), rss.queues.end(), std::uint16_t{0});
    const auto envelope = envelope_to(wire::ipv4(66, 9, 149, 187), wire::ipv4(161, 142, 100, 80));
    EXPECT_EQ(receive_queue(rss, envelope, 2794), 0x8fc2);
}

TEST(Steering, HasNothingToSayOfOtherCarriers) {
    const auto v1 = link::make_envelope({.carrier = link::Carrier::roce_v1}, {.global = true}, {}, 0);
    EXPECT_FALSE(receive_queue(table_of(4), v1, 0xc000));
}

/// A key by which a port's low seven bits make no difference to the hash's low bits: one random key in 64 is so for a
/// table of two queues.
pmd::RssTable table_deaf_to_low_port_bits(std::uint16_t queues) {
    auto rss = table_of(queues);
    constexpr std::size_t port_at = 2 * 4 * 8, hash_bits = 32;  // of IPv4: both addresses, then the source port
    for (std::size_t bit = port_at + 16 - 7; bit < port_at + 16; ++bit)
        for (std::size_t low = hash_bits - 3; low < hash_bits; ++low)
            rss.key[(bit + low) / 8] &= static_cast<std::uint8_t>(~(0x80u >> (bit + low) % 8));
    return rss;
}

TEST(Steering, FindsAFlowLabelWhateverTheKey) {
    sim::World world(sim::Seed{4}, *test::packet_pool());
    auto& peer = world.add_host();
    auto& host = world.add_host({.port = {.rss = table_deaf_to_low_port_bits(2)}, .shards = 2});
    const auto rss = *host.device().options().device->rss();
    const ExpectedPeer expected{world.path(host, peer, host.gid_v2_ipv4()), wire::Qpn{0x123}};
    for (std::uint32_t qpn = 0x200; qpn < 0x240; ++qpn) {
        const auto label = host.device().flow_label_for(expected, wire::Qpn{qpn});
        const auto envelope = host.device().envelope(expected.path, wire::Qpn{qpn}, expected.qpn);
        ASSERT_TRUE(envelope);
        EXPECT_EQ(receive_queue(rss, *envelope, link::udp_source_port(label, expected.qpn, wire::Qpn{qpn})),
                  host.device().shard_of(wire::Qpn{qpn}))
            << std::hex << qpn;
    }
}

/// 24 connections, each of which carries a WRITE, to a host of some shards behind a NIC that hashes.
std::uint64_t handed_over(bool peer_is_known, unsigned shards, const pmd::RssTable& rss) {
    sim::World world(sim::Seed{3}, *test::packet_pool());
    auto& host_a = world.add_host();
    auto& host_b = world.add_host({.port = {.rss = rss}, .shards = shards});
    std::vector<std::unique_ptr<test::End>> ends;
    for (int i = 0; i < 24; ++i) {
        auto& a = *ends.emplace_back(std::make_unique<test::End>(host_a, test::EndSizes{}));
        auto& b = *ends.emplace_back(std::make_unique<test::End>(host_b, test::EndSizes{}));
        a.make(QueuePairType::rc);
        auto options = b.options(QueuePairType::rc);
        const auto gid = host_b.gid_v2_ipv4();
        if (peer_is_known) options.peer = ExpectedPeer{world.path(host_b, host_a, gid), a.pair->qpn()};
        b.make(options);
        test::connect(world, a, b, {.gid_index = gid});
        const auto segment = a.segment(0, 3000);
        EXPECT_TRUE(a.pair->post(transport::SendRequest{.segments = {&segment, 1},
                                                        .operation = transport::SendOperation::write,
                                                        .flags = transport::send_signalled,
                                                        .remote_address = b.address(0),
                                                        .rkey = b.region->rkey()}));
        EXPECT_TRUE(world.run_until([&] { return !a.poll().empty(); }));
    }
    return host_b.counter("rx_handed_over");
}

TEST(Steering, GivesAConnectionToTheShardThatReceivesIt) {
    EXPECT_GT(handed_over(false, 4, table_of(4)), 0u) << "the NIC spreads by hash, and the shards in turns";
    EXPECT_EQ(handed_over(true, 4, table_of(4)), 0u);
}

/// A key by which the queue depends on two bits of the port alone: the lowest, which is that of the QPN, and so of the
/// shard, where the peer's QPN is odd; and the highest, which is the same for neighbouring low QPNs.
pmd::RssTable table_of_two_port_bits(std::uint16_t queue_of_0) {
    auto rss = table_of(2);
    constexpr std::size_t port_at = 2 * 4 * 8, lowest_hash_bit = 31;
    for (std::size_t bit = 0; bit < 16; ++bit) {
        const auto at = port_at + 15 - bit + lowest_hash_bit;
        const auto mask = static_cast<std::uint8_t>(0x80u >> at % 8);
        rss.key[at / 8] &= static_cast<std::uint8_t>(~mask);
        if (bit == 0 || bit == 13) rss.key[at / 8] |= mask;
    }
    for (auto& queue : rss.queues) queue ^= queue_of_0;
    return rss;
}

TEST(Steering, GivesItToThatShardWhateverTheKey) {
    for (const std::uint16_t queue : {0, 1})
        EXPECT_EQ(handed_over(true, 2, table_of_two_port_bits(queue)), 0u) << queue;
}

}  // namespace
}  // namespace verbline::rdma
