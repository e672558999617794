// SPDX-License-Identifier: BSD-3-Clause
// Send requests and what becomes of them: signalling, inline data, fences, nothing at all; and completion events.
#include <gtest/gtest.h>

#include "tests/datapath/rdma/two_ends.h"

namespace verbline::rdma {
namespace {

using transport::CompletionKind, transport::QueuePairType;

class Requests : public test::TwoEnds {};

TEST_F(Requests, ReportSuccessOnlyWhenAsked) {
    connect();
    ASSERT_TRUE(post(a, to(b, 0, Operation::write, 1), 0, 64, 0));
    ASSERT_TRUE(post(a, to(b, 0, Operation::read, 2), 0, 64, 0));
    ASSERT_TRUE(post(a, to(b, 0, Operation::write, 3), 0, 64));
    ASSERT_TRUE(complete(1));
    world.run_for(millisecond);
    ASSERT_TRUE(a.poll().empty());
    EXPECT_EQ(at_a[0].id, 3u);
}

TEST_F(Requests, ReportFailureInAnyCase) {
    connect();
    auto bad = to(b, 0, Operation::write, 1);
    bad.rkey = wire::RKey{1};
    ASSERT_TRUE(post(a, bad, 0, 64, 0));
    ASSERT_TRUE(post(a, to(b, 0, Operation::write, 2), 0, 64, 0));
    ASSERT_TRUE(complete(2));
    EXPECT_EQ(at_a[0].status, Status::remote_access_error);
    EXPECT_EQ(at_a[1].status, Status::flushed);
}

TEST_F(Requests, ReportAllIfTheQueuePairSaysSo) {
    auto options = a.options(QueuePairType::rc);
    options.signal_all = true;
    a.make(options), b.make(QueuePairType::rc);
    test::connect(world, a, b);
    ASSERT_TRUE(post(a, to(b, 0, Operation::write, 1), 0, 64, 0));
    EXPECT_TRUE(complete(1));
}

TEST_F(Requests, SlotsOfUnsignalledOnesAreUsedAgain) {
    connect();
    for (int i = 0; i < 1000; ++i) {
        while (!post(a, to(b, 0, Operation::write), 0, 64, 0)) world.run_for(microsecond);
    }
    ASSERT_TRUE(post(a, to(b, 0, Operation::write, 7), 0, 64) ||
                (world.run_for(millisecond), post(a, to(b, 0, Operation::write, 7), 0, 64)));
    ASSERT_TRUE(complete(1));
    EXPECT_EQ(at_a[0].id, 7u);
}

TEST_F(Requests, InlineDataIsFreeAtOnce) {
    connect();
    test::fill(std::span(a.data).first(64));
    const std::vector sent(a.data.begin(), a.data.begin() + 64);
    ASSERT_TRUE(post(a, to(b, 0, Operation::write), 0, 64, transport::send_signalled | transport::send_inline));
    std::fill_n(a.data.begin(), 64, std::byte{0});
    ASSERT_TRUE(complete(1));
    EXPECT_EQ(std::memcmp(b.data.data(), sent.data(), 64), 0);
}

TEST_F(Requests, GatherAndScatter) {
    connect();
    test::fill(a.data);
    const std::array<transport::Segment, 2> from{a.segment(100, 1500), a.segment(5000, 777)},
        into{b.segment(1, 3), b.segment(9000, 4000)};
    ASSERT_TRUE(b.pair->post(transport::ReceiveRequest{.id = 1, .segments = into}));
    ASSERT_TRUE(a.pair->post(Request{.segments = from, .flags = transport::send_signalled}));
    ASSERT_TRUE(complete(1, 1));
    EXPECT_EQ(at_b[0].length, 2277u);
    EXPECT_TRUE(equal(a, 100, b, 1, 3));
    EXPECT_TRUE(equal(a, 103, b, 9000, 1497));
    EXPECT_TRUE(equal(a, 5000, b, 9000 + 1497, 777));
}

TEST_F(Requests, OfNothing) {
    connect();
    b.receive(1, 0, 64), b.receive(2, 0, 64);
    const auto bytes = b.data;
    for (const auto operation : {Operation::send, Operation::write, Operation::read, Operation::write_with_immediate}) {
        ASSERT_TRUE(post(a, {.operation = operation, .immediate = 5}, 0, 0)) << "no key is needed";
    }
    ASSERT_TRUE(complete(4, 2));
    for (const auto& each : at_a) EXPECT_EQ(each.status, Status::success);
    for (const auto& each : at_b) EXPECT_EQ(each.length, 0u);
    EXPECT_EQ(at_b[1].immediate, 5u);
    EXPECT_EQ(b.data, bytes);
}

TEST_F(Requests, FencedOnesWaitForReads) {
    connect();
    host_a.port().setup().delay = 20 * microsecond;
    test::fill(b.data);
    b.receive(1, 40000, 4096);
    // What is read is sent back at once: without the fence it would be sent before it has come.
    ASSERT_TRUE(post(a, to(b, 0, Operation::read), 0, 4000));
    ASSERT_TRUE(post(a, {.operation = Operation::send}, 0, 4000, transport::send_signalled | transport::send_fence));
    ASSERT_TRUE(complete(2, 1));
    EXPECT_TRUE(equal(b, 0, b, 40000, 4000));
}

TEST_F(Requests, CarryImmediateDataOfEachKind) {
    connect();
    b.receive(1, 0, 64), b.receive(2, 0, 64);
    ASSERT_TRUE(post(a, {.operation = Operation::send_with_immediate, .immediate = 0x01020304}, 0, 16));
    auto write = to(b, 1000, Operation::write_with_immediate);
    write.immediate = 0xfffefdfc;
    ASSERT_TRUE(post(a, write, 0, 16));
    ASSERT_TRUE(complete(2, 2));
    EXPECT_EQ(at_b[0].kind, CompletionKind::receive);
    EXPECT_EQ(at_b[0].immediate, 0x01020304u);
    EXPECT_EQ(at_b[1].kind, CompletionKind::receive_write_with_immediate);
    EXPECT_EQ(at_b[1].immediate, 0xfffefdfcu);
    EXPECT_EQ(at_b[1].length, 16u);
}

TEST_F(Requests, WriteEightBytesAtOnceAndFlush) {
    connect();
    auto flush = to(b, 0, Operation::flush);
    flush.length = 4096, flush.flush_placement = wire::Feth::global_visibility;
    ASSERT_TRUE(post(a, to(b, 8, Operation::atomic_write), 0, 8));
    ASSERT_TRUE(post(a, flush, 0, 0));
    ASSERT_TRUE(complete(2));
    EXPECT_EQ(at_a[0].kind, CompletionKind::atomic_write);
    EXPECT_EQ(at_a[0].status, Status::success);
    EXPECT_EQ(at_a[1].kind, CompletionKind::flush);
    EXPECT_EQ(at_a[1].status, Status::success);
}

TEST_F(Requests, OfMoreThanTwoGibAreRefused) {
    connect();
    EXPECT_FALSE(post(a, to(b, 0, Operation::write), 0, 0x8000'0001));
    EXPECT_FALSE(post(a, to(b, 0, Operation::read), 0, 0x8000'0001));
}

TEST_F(Requests, SolicitedOnesWakeWhoWaitsForThem) {
    unsigned told = 0;
    b.cq = host_b.device().create_cq(64, [&told] { ++told; });
    connect();
    for (std::uint64_t id = 0; id < 3; ++id) b.receive(id, 0, 64);
    b.cq->arm(transport::CompletionQueue::Armed::solicited);
    ASSERT_TRUE(post(a, {.operation = Operation::send}, 0, 8));
    ASSERT_TRUE(complete(1, 1));
    EXPECT_EQ(told, 0u);
    ASSERT_TRUE(post(a, {.operation = Operation::send}, 0, 8, transport::send_signalled | transport::send_solicited));
    ASSERT_TRUE(complete(2, 2));
    EXPECT_EQ(told, 1u);
    b.cq->arm(transport::CompletionQueue::Armed::any);
    ASSERT_TRUE(post(a, {.operation = Operation::send}, 0, 8));
    ASSERT_TRUE(complete(3, 3));
    EXPECT_EQ(told, 2u);
    b.pair.reset();
}

TEST_F(Requests, OverrunOfACompletionQueueIsToldOnce) {
    a.cq = host_a.device().create_cq(4);
    connect();
    for (std::uint64_t id = 0; id < 20; ++id) ASSERT_TRUE(post(a, to(b, 0, Operation::write, id), 0, 64));
    world.run_for(millisecond);
    EXPECT_TRUE(a.cq->overrun());
    EXPECT_EQ(count(host_a, EventKind::cq_error), 1u);
    EXPECT_EQ(last(host_a, EventKind::cq_error).cq, a.cq.get());
    EXPECT_EQ(host_a.counter("cq_overruns"), 20u - a.cq->capacity());
    a.pair.reset();
}

}  // namespace
}  // namespace verbline::rdma
