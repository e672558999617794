// SPDX-License-Identifier: BSD-3-Clause
// Queue pairs on their way through the states (IBTA volume 1, 10.3).
#include <gtest/gtest.h>

#include "tests/datapath/rdma/two_ends.h"

namespace verbline::rdma {
namespace {

using transport::QueuePairType, transport::QueuePairState;

class States : public test::TwoEnds {};

TEST_F(States, PostingBeginsWhereVerbsSaySo) {
    a.make(QueuePairType::rc);
    EXPECT_FALSE(post(a, {.operation = Operation::send}, 0, 8));
    const auto segment = a.segment(0, 8);
    EXPECT_FALSE(a.pair->post(transport::ReceiveRequest{.segments = {&segment, 1}}));
    ASSERT_TRUE(a.pair->init({}));
    EXPECT_TRUE(a.pair->post(transport::ReceiveRequest{.segments = {&segment, 1}}));
    EXPECT_FALSE(post(a, {.operation = Operation::send}, 0, 8));
}

TEST_F(States, ComeInOrder) {
    a.make(QueuePairType::rc);
    EXPECT_FALSE(a.pair->ready_to_send({}));
    EXPECT_FALSE(a.pair->drain());
    EXPECT_FALSE(a.pair->resume());
    ASSERT_TRUE(a.pair->init({}));
    EXPECT_FALSE(a.pair->ready_to_send({}));
    ReadyToReceive attributes{.path = world.path(host_a, host_b, host_a.gid_v2_ipv4())};
    for (const std::uint32_t mtu : {0u, 128u, 1000u, 8192u}) {
        attributes.mtu = mtu;
        EXPECT_FALSE(a.pair->ready_to_receive(attributes)) << mtu << " is no path MTU";
        EXPECT_EQ(a.pair->state(), QueuePairState::init);
    }
    attributes.mtu = 1024;
    EXPECT_TRUE(a.pair->ready_to_receive(attributes)) << "all else was right";
    EXPECT_FALSE(a.pair->ready_to_receive(attributes)) << "once";
    EXPECT_TRUE(a.pair->ready_to_send({}));
    EXPECT_FALSE(a.pair->ready_to_send({})) << "once";
}

TEST_F(States, EstablishedIsToldOnceByTheFirstRequest) {
    a.make(QueuePairType::rc), b.make(QueuePairType::rc);
    for (auto [end, peer] : {std::pair(&a, &b), std::pair(&b, &a)}) {
        ASSERT_TRUE(end->pair->init({.access = test::every_access}));
        ASSERT_TRUE(end->pair->ready_to_receive(
            {.remote = peer->pair->qpn(), .path = world.path(end->host, peer->host, 3), .first = wire::Psn(100)}));
    }
    ASSERT_TRUE(a.pair->ready_to_send({.first = wire::Psn(100)}));
    b.receive(1, 0, 64), b.receive(2, 0, 64);
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(post(a, {.operation = Operation::send}, 0, 64));
    ASSERT_TRUE(complete(2, 2));
    EXPECT_EQ(count(host_b, EventKind::communication_established), 1u);
    EXPECT_EQ(b.pair->state(), QueuePairState::rtr);
}

TEST_F(States, DrainFinishesWhatHasBegun) {
    connect();
    host_a.port().setup().delay = 10 * microsecond;
    ASSERT_TRUE(post(a, to(b, 0, Operation::write, 1), 0, 20000));
    world.step(world.now() + 1);
    ASSERT_TRUE(a.pair->drain());
    ASSERT_TRUE(post(a, to(b, 0, Operation::write, 2), 0, 64));
    world.run_for(10 * millisecond);
    ASSERT_TRUE(complete(1));
    EXPECT_EQ(at_a.size(), 1u);
    EXPECT_EQ(at_a[0].id, 1u);
    EXPECT_EQ(count(host_a, EventKind::send_queue_drained), 1u);
    EXPECT_EQ(a.pair->state(), QueuePairState::sqd);

    b.receive(3, 0, 64);
    a.receive(4, 0, 64);
    ASSERT_TRUE(post(b, {.operation = Operation::send}, 0, 64));
    ASSERT_TRUE(complete(2, 1)) << "receiving goes on";
    ASSERT_TRUE(a.pair->resume());
    ASSERT_TRUE(complete(3, 1));
    EXPECT_EQ(at_a[2].id, 2u);
    EXPECT_EQ(count(host_a, EventKind::send_queue_drained), 1u);
}

TEST_F(States, DrainOfAnIdleQueueIsToldAtOnce) {
    connect();
    ASSERT_TRUE(a.pair->drain());
    world.run_for(microsecond);
    EXPECT_EQ(count(host_a, EventKind::send_queue_drained), 1u);
}

TEST_F(States, UnreliableSendQueueStopsAloneAndGoesOn) {
    connect(QueuePairType::uc);
    b.receive(1, 0, 64), a.receive(2, 0, 64);
    ASSERT_TRUE(post(a, to(b, 0, Operation::read, 1), 0, 64));  // not UC's
    ASSERT_TRUE(post(a, {.id = 2, .operation = Operation::send}, 0, 64));
    ASSERT_TRUE(complete(2));
    EXPECT_EQ(at_a[0].status, Status::local_queue_pair_error);
    EXPECT_EQ(at_a[1].status, Status::flushed);
    EXPECT_EQ(a.pair->state(), QueuePairState::sqe);

    ASSERT_TRUE(post(b, {.operation = Operation::send}, 0, 64));
    ASSERT_TRUE(complete(3, 1)) << "it receives in SQE";
    EXPECT_EQ(at_a[2].status, Status::success);
    ASSERT_TRUE(a.pair->resume());
    ASSERT_TRUE(post(a, {.id = 3, .operation = Operation::send}, 0, 64));
    ASSERT_TRUE(complete(4, 2));
    EXPECT_EQ(at_a[3].status, Status::success);
    EXPECT_EQ(at_b[1].status, Status::success);
}

TEST_F(States, ErrorFlushesInOrder) {
    connect();
    host_b.port().setup().in.drop_if = [](const rte_mbuf&) { return true; };
    for (std::uint64_t id = 1; id <= 4; ++id) ASSERT_TRUE(post(a, to(b, 0, Operation::write, id), 0, 64));
    for (std::uint64_t id = 11; id <= 14; ++id) a.receive(id, 0, 64);
    world.run_for(microsecond);
    a.pair->error();
    ASSERT_TRUE(complete(8));
    std::vector<std::uint64_t> sends, receives;
    for (const auto& each : at_a) {
        EXPECT_EQ(each.status, Status::flushed);
        (each.id < 10 ? sends : receives).push_back(each.id);
    }
    EXPECT_EQ(sends, (std::vector<std::uint64_t>{1, 2, 3, 4}));
    EXPECT_EQ(receives, (std::vector<std::uint64_t>{11, 12, 13, 14}));
    EXPECT_EQ(count(host_a, EventKind::last_wqe_reached), 0u) << "nothing is shared";
}

TEST_F(States, WhatIsPostedInErrorIsFlushed) {
    connect();
    a.pair->error();
    ASSERT_TRUE(post(a, {.id = 1, .operation = Operation::send}, 0, 64, 0));
    a.receive(2, 0, 64);
    ASSERT_TRUE(complete(2));
    EXPECT_EQ(at_a[0].status, Status::flushed);
    EXPECT_EQ(at_a[1].status, Status::flushed);
}

TEST_F(States, ResetForgetsAndConnectsAgain) {
    connect();
    host_b.port().setup().in.drop_if = [](const rte_mbuf&) { return true; };
    ASSERT_TRUE(post(a, to(b, 0, Operation::write, 1), 0, 5000));
    a.receive(2, 0, 64);
    world.run_for(microsecond);
    host_b.port().setup().in.drop_if = {};
    a.pair->reset(), b.pair->reset();
    world.run_for(10 * millisecond);
    EXPECT_TRUE(a.poll().empty()) << "nobody is told";
    test::connect(world, a, b, {.send = {.first = wire::Psn(0xfffffe), .max_reads = 4}});
    test::fill(std::span(a.data).first(5000));
    ASSERT_TRUE(post(a, to(b, 0, Operation::write, 3), 0, 5000));
    ASSERT_TRUE(complete(1));
    EXPECT_EQ(at_a[0].id, 3u);
    EXPECT_TRUE(equal(a, 0, b, 0, 5000));
}

}  // namespace
}  // namespace verbline::rdma
