// SPDX-License-Identifier: BSD-3-Clause
// The queue pair of general services: its number, its keys, and who reaches it.
#include <cerrno>
#include <set>

#include <gtest/gtest.h>

#include "tests/datapath/rdma/two_ends.h"

namespace verbline::rdma {
namespace {

using transport::QueuePairType;

constexpr wire::PKey everywhere{0xffff}, some_partition{0x8007};
constexpr std::uint32_t mad = 256;

class GeneralServices : public test::TwoEnds {
protected:
    static QueuePairOptions options(const test::End& end) {
        auto made = end.options(QueuePairType::ud);
        made.general_services = true;
        return made;
    }
    static void ready(test::End& end) {
        end.make(options(end));
        ASSERT_TRUE(end.pair->init({}));
        ASSERT_TRUE(end.pair->ready_to_receive({.mtu = 1024}));
        ASSERT_TRUE(end.pair->ready_to_send({}));
    }
    bool send(test::End& from, test::End& to, wire::PKey pkey, wire::QKey qkey = wire::gsi_qkey) {
        outside = *from.host.device().envelope(world.path(from.host, to.host, from.host.gid_v2_ipv4()),
                                               from.pair->qpn(), wire::gsi_qpn);
        const transport::UdDestination there{.envelope = &outside, .qpn = wire::gsi_qpn, .qkey = qkey, .pkey = pkey};
        return post(from, {.operation = Operation::send, .ud = there}, 0, mad);
    }
    link::Envelope outside;
};

TEST_F(GeneralServices, HaveNumberOne) {
    ready(a);
    EXPECT_EQ(a.pair->qpn(), wire::gsi_qpn);
}

TEST_F(GeneralServices, AreOncePerDevice) {
    a.make(options(a));
    const auto second = host_a.device().create_queue_pair(options(a));
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, EBUSY);
    EXPECT_TRUE(host_b.device().create_queue_pair(options(b))) << "another device has its own";
    a.pair.reset();
    EXPECT_TRUE(host_a.device().create_queue_pair(options(a))) << "free again";
}

TEST_F(GeneralServices, AreDatagrams) {
    auto connected = options(a);
    connected.type = QueuePairType::rc;
    EXPECT_EQ(host_a.device().create_queue_pair(connected).error().code, EINVAL);
    const auto shared = host_a.device().create_shared_receive_queue(a.pd, {.requests = 8, .segments = 1});
    auto sharing = options(a);
    sharing.shared = shared->get();
    EXPECT_EQ(host_a.device().create_queue_pair(sharing).error().code, EINVAL);
}

TEST_F(GeneralServices, AreReachedUnderAnyPartitionWhichIsTold) {
    ready(a), ready(b);
    for (const auto pkey : {everywhere, some_partition}) {
        b.receive(1, 0, 600);
        test::fill(std::span(a.data).first(mad));
        ASSERT_TRUE(send(a, b, pkey));
        at_a.clear(), at_b.clear();
        ASSERT_TRUE(complete(1, 1));
        EXPECT_EQ(at_b[0].source, wire::gsi_qpn);
        EXPECT_EQ(wire::PKey{at_b[0].pkey_index}, pkey);
        EXPECT_EQ(at_b[0].source_mac, host_a.mac());
        EXPECT_EQ(at_b[0].length, 40 + mad);
        EXPECT_TRUE(equal(a, 0, b, 40, mad));
    }
}

TEST_F(GeneralServices, AreReachedByOrdinaryQueuePairsThatKnowTheQKey) {
    a.make(QueuePairType::ud), ready(b);
    ASSERT_TRUE(a.pair->init({.qkey = wire::gsi_qkey}));
    ASSERT_TRUE(a.pair->ready_to_receive({.mtu = 1024}));
    ASSERT_TRUE(a.pair->ready_to_send({}));
    b.receive(1, 0, 600);
    ASSERT_TRUE(send(a, b, some_partition));
    ASSERT_TRUE(complete(1, 1));
    EXPECT_EQ(wire::PKey{at_b[0].pkey_index}, everywhere) << "the queue pair's own, whatever the request names";
    ASSERT_TRUE(send(a, b, everywhere, wire::QKey{0x1234}));
    world.run_for(millisecond);
    EXPECT_TRUE(b.poll().empty());
    EXPECT_EQ(host_b.counter("rx_dropped_qkey"), 1u);
}

TEST_F(GeneralServices, ReachThemselves) {
    ready(a);
    a.receive(1, 1000, 600);
    test::fill(std::span(a.data).first(mad));
    ASSERT_TRUE(send(a, a, everywhere));
    ASSERT_TRUE(complete(2));
    EXPECT_TRUE(equal(a, 0, a, 1040, mad));
    EXPECT_EQ(host_a.port().out_counters().packets.value(), 0u) << "it never left";
}

/// Number of shards.
class GeneralServicesOn : public testing::TestWithParam<unsigned> {};

TEST_P(GeneralServicesOn, ShardsKeepTheirPlaceFree) {
    sim::World world{sim::Seed{1}, *test::packet_pool()};
    auto& host = world.add_host({.shards = GetParam(), .max_queue_pairs = 8});
    auto& other = world.add_host();
    test::End services(host), peer(other);
    std::vector<std::unique_ptr<QueuePair>> pairs;
    std::set<wire::Qpn> numbers;
    for (;;) {
        auto made = host.device().create_queue_pair(services.options(QueuePairType::rc));
        if (!made) break;
        EXPECT_GE(static_cast<std::uint32_t>((*made)->qpn()), 16u);
        EXPECT_TRUE(numbers.insert((*made)->qpn()).second);
        pairs.push_back(std::move(*made));
    }
    EXPECT_EQ(pairs.size(), 7u * GetParam());
    for (auto* const end : {&services, &peer}) {
        auto options = end->options(QueuePairType::ud);
        options.general_services = true;
        end->make(options);
        ASSERT_TRUE(end->pair->init({}));
        ASSERT_TRUE(end->pair->ready_to_receive({.mtu = 1024}));
        ASSERT_TRUE(end->pair->ready_to_send({}));
    }
    services.receive(1, 0, 600);
    const auto outside =
        *other.device().envelope(world.path(other, host, other.gid_v2_ipv4()), wire::gsi_qpn, wire::gsi_qpn);
    const auto segment = peer.segment(0, mad);
    ASSERT_TRUE(peer.pair->post(transport::SendRequest{
        .segments = {&segment, 1},
        .ud = {.envelope = &outside, .qpn = wire::gsi_qpn, .qkey = wire::gsi_qkey, .pkey = everywhere}}));
    EXPECT_TRUE(world.run_until([&] { return services.poll().size() == 1; }));
}

INSTANTIATE_TEST_SUITE_P(Shards, GeneralServicesOn, testing::Values(1u, 2u, 3u, 4u));

}  // namespace
}  // namespace verbline::rdma
