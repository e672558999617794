// SPDX-License-Identifier: BSD-3-Clause
// Datagrams: where they come from, groups, and ourselves as a peer.
#include "datapath/rdma/datagrams.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "datapath/link/ip_gid.h"
#include "tests/datapath/rdma/two_ends.h"

namespace verbline::rdma {
namespace {

using transport::QueuePairType;

class UnreliableDatagrams : public test::TwoEnds {
protected:
    void ready(test::End& end) {
        end.make(QueuePairType::ud);
        ASSERT_TRUE(end.pair->init({.qkey = wire::QKey{0x1234}}));
        ASSERT_TRUE(end.pair->ready_to_receive({.mtu = 1024}));
        ASSERT_TRUE(end.pair->ready_to_send({}));
    }
    link::Envelope envelope(test::End& from, const Path& path, wire::Qpn to) {
        return *from.host.device().envelope(path, from.pair->qpn(), to);
    }
    bool send(test::End& from, const link::Envelope& envelope, wire::Qpn to, std::uint32_t length = 500) {
        return post(
            from, {.operation = Operation::send, .ud = {.envelope = &envelope, .qpn = to, .qkey = wire::QKey{0x1234}}},
            0, length);
    }
};

class DatagramsOver : public UnreliableDatagrams, public testing::WithParamInterface<unsigned> {};

TEST_P(DatagramsOver, ShowWhereTheyComeFrom) {
    ready(a), ready(b);
    b.receive(1, 0, 600);
    test::fill(std::span(a.data).first(500));
    const auto outside = envelope(a, world.path(host_a, host_b, GetParam()), b.pair->qpn());
    ASSERT_TRUE(send(a, outside, b.pair->qpn()));
    ASSERT_TRUE(complete(1, 1));
    EXPECT_EQ(at_b[0].length, 540u);
    EXPECT_EQ(at_b[0].source, a.pair->qpn());
    EXPECT_EQ(at_b[0].flags, transport::Completion::has_grh);
    EXPECT_TRUE(equal(a, 0, b, 40, 500));

    // The version of what is in the forty bytes, and the sender's address at its end.
    const bool ipv4 = GetParam() == host_a.gid_v2_ipv4();
    EXPECT_EQ(b.data[ipv4 ? 20 : 0] >> 4, std::byte{static_cast<unsigned char>(ipv4 ? 4 : 6)});
    const auto gid = host_a.device().gids().at(GetParam())->gid;
    const auto* const source = b.data.data() + (ipv4 ? 20 + 12 : 8);
    EXPECT_EQ(std::memcmp(source, gid.bytes.data() + (ipv4 ? 12 : 0), ipv4 ? 4 : 16), 0);
    if (ipv4) {
        for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(b.data[i], std::byte{0});
    }
}

INSTANTIATE_TEST_SUITE_P(Carriers, DatagramsOver, testing::Values(0u, 3u, 5u));

TEST_F(UnreliableDatagrams, ReachAllOfAGroupButTheirSender) {
    test::End other(host_a);  // on the sender's host
    ready(a), ready(b), ready(other);
    const auto group = link::gid_of(wire::ipv4(239, 1, 2, 3));
    for (auto* const end : {&a, &b, &other}) {
        ASSERT_TRUE(end->pair->attach(group));
        end->receive(1, 0, 1024);
    }
    const Path path{.gid_index = host_a.gid_v2_ipv4(),
                    .address = {.global = true, .dgid = group, .hop_limit = 1},
                    .mac = link::multicast_mac(link::Carrier::roce_v2_ipv4, group)};
    const auto outside = envelope(a, path, wire::multicast_qpn);
    ASSERT_TRUE(send(a, outside, wire::multicast_qpn));
    ASSERT_TRUE(complete(1, 1));
    world.run_for(millisecond);
    EXPECT_EQ(other.poll().size(), 1u);
    EXPECT_TRUE(a.poll().empty()) << "its own receive request is still there";
    EXPECT_EQ(host_a.counter("rx_dropped_own_multicast"), 1u);

    ASSERT_TRUE(b.pair->detach(group));
    b.receive(2, 0, 1024);
    ASSERT_TRUE(send(a, outside, wire::multicast_qpn));
    world.run_for(millisecond);
    EXPECT_TRUE(b.poll().empty());
    EXPECT_EQ(host_b.counter("rx_dropped_multicast"), 1u);
}

TEST_F(UnreliableDatagrams, AloneAreMulticast) {
    a.make(QueuePairType::rc);
    const auto group = link::gid_of(wire::ipv4(239, 1, 2, 3));
    EXPECT_EQ(a.pair->attach(group).error().code, EINVAL);
    EXPECT_EQ(a.pair->detach(group).error().code, EINVAL);
}

TEST_F(UnreliableDatagrams, ReachTheirSender) {
    ready(a);
    a.receive(1, 1000, 600);
    test::fill(std::span(a.data).first(500));
    const auto outside = envelope(a, world.path(host_a, host_a, host_a.gid_v2_ipv4()), a.pair->qpn());
    ASSERT_TRUE(send(a, outside, a.pair->qpn()));
    ASSERT_TRUE(complete(2));
    EXPECT_TRUE(equal(a, 0, a, 1040, 500));
    EXPECT_EQ(host_a.port().out_counters().packets.value(), 0u) << "it never left";
    EXPECT_EQ(host_a.counter("tx_loopback_packets"), 1u);
}

TEST_F(UnreliableDatagrams, OfOneDeviceToItselfAreReliableOnAConnection) {
    test::End other(host_a);
    a.make(QueuePairType::rc), other.make(QueuePairType::rc);
    test::connect(world, a, other);
    test::fill(std::span(a.data).first(30000));
    ASSERT_TRUE(post(a, to(other, 0, Operation::write), 0, 30000));
    ASSERT_TRUE(complete(1));
    EXPECT_EQ(at_a[0].status, Status::success);
    EXPECT_TRUE(equal(a, 0, other, 0, 30000));
    EXPECT_EQ(host_a.port().out_counters().packets.value(), 0u);
}

TEST_F(UnreliableDatagrams, LongerThanThePathMtuAreNotSent) {
    ready(a), ready(b);
    const auto outside = envelope(a, world.path(host_a, host_b, host_a.gid_v2_ipv4()), b.pair->qpn());
    ASSERT_TRUE(send(a, outside, b.pair->qpn(), 1025));
    ASSERT_TRUE(complete(1));
    EXPECT_EQ(at_a[0].status, Status::local_length_error);
    EXPECT_EQ(a.pair->state(), transport::QueuePairState::sqe);
}

TEST_F(UnreliableDatagrams, OfAServiceGoOnInAnotherPartition) {
    const std::vector<wire::PKey> pkeys{wire::PKey{0xffff}, wire::PKey{0x8001}};
    host_a.device().set_pkeys(pkeys), host_b.device().set_pkeys(pkeys);
    const std::uint16_t slots = 4;
    const auto service = Datagrams::create({.device = &host_b.device(), .slots = slots}).value();
    const auto qpn = service->pair().qpn();
    a.make(QueuePairType::ud);
    ASSERT_TRUE(a.pair->init({.pkey_index = 1, .qkey = wire::QKey{0x1234}}));
    ASSERT_TRUE(a.pair->ready_to_receive({.mtu = 1024}));
    ASSERT_TRUE(a.pair->ready_to_send({}));
    const auto outside = envelope(a, world.path(host_a, host_b, host_a.gid_v2_ipv4()), qpn);
    const auto arrived = [&] {
        unsigned whole = 0;
        service->drain(slots, [&](const auto&, auto, auto payload) { whole += payload.size() == 100; });
        return whole;
    };
    service->pair().set_qkey(wire::QKey{0x1234});
    ASSERT_TRUE(send(a, outside, qpn, 100));
    world.run_for(millisecond);
    EXPECT_EQ(arrived(), 0u);
    EXPECT_EQ(host_b.counter("rx_dropped_pkey"), 1u);

    ASSERT_TRUE(service->restart({.pkey_index = 1, .qkey = wire::QKey{0x1234}}));
    EXPECT_EQ(service->pair().qpn(), qpn);
    for (unsigned i = 0; i < slots; ++i) ASSERT_TRUE(send(a, outside, qpn, 100));
    world.run_for(millisecond);
    ASSERT_TRUE(service->restart({.pkey_index = 1, .qkey = wire::QKey{0x1234}})) << "with all of them still waiting";
    EXPECT_EQ(arrived(), 0u);
    for (unsigned round = 0; round < 3; ++round) {
        for (unsigned i = 0; i < slots; ++i) ASSERT_TRUE(send(a, outside, qpn, 100));
        world.run_for(millisecond);
        EXPECT_EQ(arrived(), slots) << "each buffer is there once";
    }
}

}  // namespace
}  // namespace verbline::rdma
