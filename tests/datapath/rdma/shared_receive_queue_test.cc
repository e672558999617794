// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/rdma/shared_receive_queue.h"

#include <gtest/gtest.h>

#include "tests/datapath/rdma/two_ends.h"

namespace verbline::rdma {
namespace {

using transport::QueuePairType, transport::QueuePairState;

class Shared : public test::TwoEnds {
protected:
    void post_receive(SharedReceiveQueue& queue, std::uint64_t id) {
        const auto segment = b.segment(id * 1024, 1024);
        ASSERT_TRUE(queue.post({.id = id, .segments = {&segment, 1}}));
    }
    void connect_shared() {
        srq = std::move(*host_b.device().create_shared_receive_queue(b.pd, {.requests = 8, .segments = 1}));
        for (std::uint64_t id = 0; id < 4; ++id) post_receive(*srq, id);
        a.make(QueuePairType::rc);
        auto options = b.options(QueuePairType::rc);
        options.shared = srq.get();
        b.make(options);
        test::connect(world, a, b);
    }

    std::unique_ptr<SharedReceiveQueue> srq;
};

TEST_F(Shared, ServesInOrderAndTellsOfItsLimitOnce) {
    connect_shared();
    srq->arm_limit(3);
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(post(a, {.operation = Operation::send}, 0, 64));
    ASSERT_TRUE(complete(4, 4));
    for (std::uint64_t i = 0; i < 4; ++i) EXPECT_EQ(at_b[i].id, i);
    ASSERT_EQ(count(host_b, EventKind::srq_limit_reached), 1u);
    EXPECT_EQ(last(host_b, EventKind::srq_limit_reached).srq, srq->id());
    b.pair.reset();
}

TEST_F(Shared, KeepsItsRequestsWhenAQueuePairFails) {
    connect_shared();
    b.pair->error();
    world.run_for(millisecond);
    EXPECT_TRUE(b.poll().empty()) << "what is shared is not flushed";
    EXPECT_EQ(count(host_b, EventKind::last_wqe_reached), 1u);
    b.pair.reset();
}

TEST_F(Shared, TakesBackNothingThatAMessageHolds) {
    connect_shared();
    host_a.port().setup().out.drop_if = [n = 0](const rte_mbuf&) mutable { return ++n > 1; };
    ASSERT_TRUE(post(a, {.operation = Operation::send}, 0, 1024));  // takes one
    ASSERT_TRUE(complete(0, 1));
    b.pair->reset();
    EXPECT_EQ(b.pair->state(), QueuePairState::reset);
    EXPECT_EQ(at_b.size(), 1u);
    b.pair.reset();
}

class Xrc : public Shared {
protected:
    void connect_xrc() {
        domain.emplace(host_b.device().create_xrc_domain());
        srq = std::move(
            *host_b.device().create_shared_receive_queue(b.pd, {.requests = 8, .segments = 1}, &*domain, b.cq.get()));
        a.make(QueuePairType::xrc_initiator);
        auto options = b.options(QueuePairType::xrc_target);
        options.xrc_domain = &*domain;
        b.make(options);
        test::connect(world, a, b);
    }
    bool send(std::uint64_t id) {
        return post(a, {.id = id, .operation = Operation::send, .xrc_srq = srq->number()}, 0, 1000);
    }

    std::optional<XrcDomain> domain;
};

TEST_F(Xrc, SendsToTheQueueThatARequestNames) {
    connect_xrc();
    auto other = std::move(
        *host_b.device().create_shared_receive_queue(b.pd, {.requests = 8, .segments = 1}, &*domain, b.cq.get()));
    post_receive(*srq, 1), post_receive(*other, 2);
    test::fill(std::span(a.data).first(1000));
    ASSERT_TRUE(post(a, {.operation = Operation::send, .xrc_srq = other->number()}, 0, 1000));
    ASSERT_TRUE(complete(1, 1));
    EXPECT_EQ(at_b[0].id, 2u);
    EXPECT_EQ(at_b[0].qpn, b.pair->qpn());
    EXPECT_TRUE(equal(a, 0, b, 2048, 1000));
    ASSERT_TRUE(send(1));
    ASSERT_TRUE(complete(2, 2));
    EXPECT_EQ(at_b[1].id, 1u);
    b.pair.reset();
}

TEST_F(Xrc, WritesReadsAndAdds) {
    connect_xrc();
    test::fill(std::span(a.data).first(5000));
    ASSERT_TRUE(post(a, to(b, 0, Operation::write), 0, 5000));
    ASSERT_TRUE(post(a, to(b, 0, Operation::read), 10000, 5000));
    auto add = to(b, 6000, Operation::fetch_add);
    add.swap_or_add = 3;
    ASSERT_TRUE(post(a, add, 20000, 8));
    ASSERT_TRUE(complete(3));
    for (const auto& each : at_a) EXPECT_EQ(each.status, Status::success);
    EXPECT_TRUE(equal(a, 0, b, 0, 5000));
    EXPECT_TRUE(equal(a, 0, a, 10000, 5000));
    EXPECT_EQ(b.data[6000], std::byte{3});
    b.pair.reset();
}

TEST_F(Xrc, TargetLivesAsLongAsAHandle) {
    connect_xrc();
    const auto qpn = b.pair->qpn();
    auto opened = host_b.device().open_xrc_target(*domain, qpn);
    ASSERT_TRUE(opened);
    const auto strange = host_b.device().create_xrc_domain();
    EXPECT_FALSE(host_b.device().open_xrc_target(strange, qpn)) << "another domain's";
    b.pair.reset();
    post_receive(*srq, 5);
    ASSERT_TRUE(send(1));
    ASSERT_TRUE(complete(1, 1));
    EXPECT_EQ(at_a[0].status, Status::success);
    EXPECT_EQ(at_b[0].id, 5u);

    opened->reset();
    EXPECT_FALSE(host_b.device().open_xrc_target(*domain, qpn));
    const auto before = host_b.counter("rx_dropped_qpn");
    ASSERT_TRUE(send(2));
    world.run_for(millisecond);
    EXPECT_GT(host_b.counter("rx_dropped_qpn"), before);
}

TEST_F(Xrc, ReachesNothingOfAnotherDomain) {
    connect_xrc();
    const auto strange = host_b.device().create_xrc_domain();
    auto other = std::move(
        *host_b.device().create_shared_receive_queue(b.pd, {.requests = 8, .segments = 1}, &strange, b.cq.get()));
    post_receive(*other, 1);
    ASSERT_TRUE(post(a, {.operation = Operation::send, .xrc_srq = other->number()}, 0, 64));
    ASSERT_TRUE(complete(1));
    EXPECT_EQ(at_a[0].status, Status::remote_invalid_request);
    EXPECT_EQ(count(host_b, EventKind::qp_request_error), 1u);
    b.pair.reset();
}

class XrcQueueDestroyed : public Xrc {
protected:
    /// Posts a SEND of five packets, of which two arrive.
    void send_in_part() {
        connect_xrc();
        post_receive(*srq, 1);
        const auto number = srq->number();
        host_a.port().setup().out.drop_if = [n = 0](const rte_mbuf&) mutable { return ++n > 2; };
        ASSERT_TRUE(post(a, {.operation = Operation::send, .xrc_srq = number}, 0, 900));
        ASSERT_TRUE(world.run_until([&] { return host_b.counter("rx_packets") == 2; }));
    }
    void connect_xrc() {
        domain.emplace(host_b.device().create_xrc_domain());
        completions = host_b.device().create_cq(16);
        srq = std::move(*host_b.device().create_shared_receive_queue(b.pd, {.requests = 8, .segments = 1}, &*domain,
                                                                     completions.get()));
        a.make(QueuePairType::xrc_initiator);
        auto options = b.options(QueuePairType::xrc_target);
        options.xrc_domain = &*domain;
        b.make(options);
        test::connect(world, a, b, {.mtu = 256});
    }
    void destroy_queue() {
        srq.reset();
        completions.reset();
        host_a.port().setup().out.drop_if = {};
    }

    std::unique_ptr<transport::CompletionQueue> completions;
};

TEST_F(XrcQueueDestroyed, InMidMessageIsRefusedLikeAQueueThatIsNotThere) {
    send_in_part();
    destroy_queue();
    ASSERT_TRUE(complete(1));
    EXPECT_EQ(at_a[0].status, Status::remote_invalid_request);
    EXPECT_TRUE(at_b.empty());
    EXPECT_EQ(count(host_b, EventKind::qp_request_error), 1u);
    EXPECT_EQ(count(host_b, EventKind::last_wqe_reached), 1u);
    EXPECT_EQ(b.pair->state(), QueuePairState::error);
    b.pair.reset();
}

TEST_F(XrcQueueDestroyed, InMidMessageThenTheTarget) {
    send_in_part();
    destroy_queue();
    b.pair.reset();
    world.run_for(millisecond);
    EXPECT_TRUE(at_b.empty());
}

TEST_F(XrcQueueDestroyed, InMidMessageThenTheTargetIsReset) {
    send_in_part();
    destroy_queue();
    b.pair->error();
    b.pair->reset();
    EXPECT_EQ(b.pair->state(), QueuePairState::reset);
    b.pair.reset();
}

TEST_F(XrcQueueDestroyed, WhileTheRefusalOfItsMessageWaits) {
    connect_xrc();
    post_receive(*srq, 1);
    test::End c{host_a}, d{host_b};
    c.make(QueuePairType::uc), d.make(QueuePairType::uc);
    test::connect(world, c, d, {.mtu = 256});
    // Nothing leaves any more, and what can be staged is.
    host_b.port().setup().transmit_limit = 0;
    for (int i = 0; i < 64; ++i) ASSERT_TRUE(post(d, {.operation = Operation::send}, 0, 4096));
    world.run_for(microsecond);
    // The WRITE takes a receive request, and names memory that is not there.
    auto request = to(b, 0, Operation::write_with_immediate);
    request.xrc_srq = srq->number();
    request.rkey = wire::RKey{1};
    ASSERT_TRUE(post(a, request, 0, 100));
    world.run_for(10 * microsecond);
    ASSERT_EQ(b.pair->state(), QueuePairState::rts) << "the refusal has not left";
    destroy_queue();
    b.pair->error();
    EXPECT_TRUE(b.poll().empty());
    b.pair.reset();
}

}  // namespace
}  // namespace verbline::rdma
