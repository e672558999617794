// SPDX-License-Identifier: BSD-3-Clause
// A peer that is not there, not ready or slow; and packets on the wrong shard.
#include <gtest/gtest.h>

#include "tests/datapath/rdma/two_ends.h"
#include "tests/support/packet.h"

namespace verbline::rdma {
namespace {

using transport::QueuePairType, transport::QueuePairState;

class Recovery : public test::TwoEnds {};

TEST_F(Recovery, GivesUpAfterTheAgreedTimeouts) {
    connect(QueuePairType::rc, {.send = {.first = wire::Psn(100), .timeout = 10, .retries = 3, .max_reads = 4}});
    host_b.port().setup().in.drop_if = [](const rte_mbuf&) { return true; };
    const auto begin = world.now();
    ASSERT_TRUE(post(a, to(b, 0, Operation::write, 1), 0, 64));
    ASSERT_TRUE(complete(1));
    EXPECT_EQ(at_a[0].status, Status::retry_exceeded);
    EXPECT_EQ(host_a.counter("local_ack_timeout_err"), 4u);
    const Time timeout = 4096 * 1024;
    EXPECT_GE(at_a[0].time - begin, 4 * timeout);
    EXPECT_LE(at_a[0].time - begin, 6 * timeout);
    EXPECT_EQ(a.pair->state(), QueuePairState::error);
}

// As one whose process has lost its CPU for a while: everything arrives, and is answered, later.
TEST_F(Recovery, TakesAPeerThatIsLateForOneThatHasLostNothing) {
    connect(QueuePairType::rc, {.send = {.first = wire::Psn(100), .timeout = 20, .max_reads = 4}});
    constexpr std::size_t many = 60, few = 20;
    const auto post_messages = [&](std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) ASSERT_TRUE(post(a, to(b, 0, Operation::write, i), 0, 64));
    };
    for (std::size_t round = 1; round <= 4; ++round) {
        post_messages(many);
        ASSERT_TRUE(complete(round * many));  // it knows how long answers take, and the window is open
    }
    auto& delay = host_b.port().setup().delay;
    const auto usual = std::exchange(delay, 400 * millisecond);
    post_messages(few);
    ASSERT_TRUE(complete(4 * many + few));
    EXPECT_GT(host_a.counter("roce_adp_retrans"), 2u) << "it has sent again, and again";
    EXPECT_EQ(host_a.counter("local_ack_timeout_err"), 0u);
    delay = usual;
    world.run_for(second);  // what it has sent too often is through

    host_b.port().setup().in.drop_if = [](const rte_mbuf&) { return true; };
    const auto before = host_a.counter("tx_packets");
    post_messages(many);
    world.run_for(1);
    EXPECT_GE(host_a.counter("tx_packets"), before + many) << "all of it goes without waiting for any answer";
}

TEST_F(Recovery, GivesUpOnAReceiverThatIsNeverReady) {
    connect(QueuePairType::rc, {.rnr_timer = 14, .send = {.first = wire::Psn(100), .rnr_retries = 2, .max_reads = 4}});
    const auto begin = world.now();
    ASSERT_TRUE(post(a, {.operation = Operation::send}, 0, 64));
    ASSERT_TRUE(complete(1));
    EXPECT_EQ(at_a[0].status, Status::rnr_retry_exceeded);
    EXPECT_EQ(host_b.counter("tx_rnr_naks"), 3u);
    EXPECT_GE(at_a[0].time - begin, 2 * 1'280 * microsecond) << "it waited as long as it was told to";
    EXPECT_LE(at_a[0].time - begin, 3 * 1'280 * microsecond);
}

TEST_F(Recovery, WaitsForAReceiverForEver) {
    connect(QueuePairType::rc, {.rnr_timer = 1, .send = {.first = wire::Psn(100), .rnr_retries = 7, .max_reads = 4}});
    ASSERT_TRUE(post(a, {.operation = Operation::send}, 0, 64));
    world.run_for(5 * millisecond);
    EXPECT_TRUE(a.poll().empty());
    EXPECT_GT(host_b.counter("tx_rnr_naks"), 100u);
    b.receive(1, 0, 64);
    ASSERT_TRUE(complete(1, 1));
    EXPECT_EQ(at_a[0].status, Status::success);
}

TEST_F(Recovery, IsNotNeededWhereCreditsAreGiven) {
    connect(QueuePairType::rc, {.produce_credits = true});
    for (std::uint64_t i = 0; i < 3; ++i) b.receive(i, 0, 64);
    ASSERT_TRUE(post(a, {.operation = Operation::send}, 0, 64));
    ASSERT_TRUE(complete(1, 1));  // now A knows how many are left
    const auto sent = host_a.counter("tx_packets");
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(post(a, {.operation = Operation::send}, 0, 64));
    world.run_for(100 * microsecond);
    EXPECT_LE(host_a.counter("tx_packets"), sent + 3) << "the two that there is credit for, and one that asks";
    for (std::uint64_t i = 3; i < 11; ++i) b.receive(i, 0, 64);
    ASSERT_TRUE(complete(11, 11));
    for (const auto& each : at_a) EXPECT_EQ(each.status, Status::success);
}

TEST_F(Recovery, OfALostAnswerExecutesNothingTwice) {
    connect();
    host_a.port().setup().in.drop_if = [n = 0](const rte_mbuf&) mutable { return n++ == 0; };
    auto add = to(b, 0, Operation::fetch_add);
    add.swap_or_add = 1;
    ASSERT_TRUE(post(a, add, 0, 8));
    ASSERT_TRUE(complete(1));
    EXPECT_EQ(at_a[0].status, Status::success);
    EXPECT_EQ(b.data[0], std::byte{1});
    EXPECT_EQ(host_b.counter("duplicate_request"), 1u);
}

/// READs that were answered, and come again when their memory is not the peer's any more (IBTA 9.7.5.1.2): the peer has
/// its data, and what it asks for once more is worth nothing to it.
class RepeatedRead : public Recovery {
protected:
    static constexpr std::uint32_t bytes = 3000;  // three packets

    /// A READs from B by `key`; the request is kept for `repeat`.
    void read(wire::RKey key, std::uint64_t address) {
        host_b.port().setup().in.drop_if = [this](const rte_mbuf& frame) {
            const auto* const first = rte_pktmbuf_mtod(&frame, const std::byte*);
            if (request.empty()) request.assign(first, first + frame.data_len);
            return false;
        };
        auto work = to(b, 0, Operation::read);
        work.rkey = key, work.remote_address = address;
        ASSERT_TRUE(post(a, work, 0, bytes));
        ASSERT_TRUE(complete(1));
        ASSERT_EQ(at_a.back().status, Status::success);
    }
    /// The network brings the READ once more.
    void repeat() {
        auto* frame = test::make_packet(request).release();
        ASSERT_EQ(host_a.port().tx_burst(0, std::span(&frame, 1)), 1);
    }
    void expect_alive() {
        EXPECT_EQ(host_b.counter("duplicate_request"), 1u);
        EXPECT_EQ(host_b.counter("rx_dropped_repeated_read"), 1u);
        EXPECT_EQ(host_b.counter("resp_remote_access_errors"), 0u);
        EXPECT_EQ(b.pair->state(), QueuePairState::rts);
        b.receive(1, 0, 64);
        ASSERT_TRUE(post(a, {.operation = Operation::send}, 0, 64));
        ASSERT_TRUE(complete(at_a.size() + 1, at_b.size() + 1));
        EXPECT_EQ(at_a.back().status, Status::success);
    }

    test::ByteVector request;
};

TEST_F(RepeatedRead, OfAnInvalidatedKeyIsDropped) {
    connect();
    auto window = *host_b.device().allocate_window(b.pd, memory::WindowType::type2b);
    const auto key = memory::next_key(window.rkey());
    ASSERT_TRUE(b.pair->post(Request{.operation = Operation::bind_window,
                                     .flags = transport::send_signalled,
                                     .bind = {.window = window.rkey(),
                                              .new_key = key,
                                              .region = b.region->rkey(),
                                              .address = b.address(0),
                                              .length = bytes,
                                              .rights = memory::Access::remote_read}}));
    ASSERT_TRUE(complete(0, 1));
    read(key, b.address(0));
    b.receive(9, 0, 64);
    // In one burst: the invalidation is executed before the repeated READ would be answered.
    repeat();
    ASSERT_TRUE(
        post(a, {.operation = Operation::send_with_invalidate, .immediate = static_cast<std::uint32_t>(key)}, 0, 64));
    host_a.device().poll(0, world.now());
    ASSERT_TRUE(complete(2, 2));
    EXPECT_EQ(at_a.back().status, Status::success);
    EXPECT_EQ(at_b.back().flags, transport::Completion::has_invalidated);
    expect_alive();
}

TEST_F(RepeatedRead, OfADeregisteredRegionIsDropped) {
    connect();
    std::vector<std::byte> more(bytes);
    auto region = *host_b.device().register_memory(b.pd, more, test::every_access);
    read(region.rkey(), reinterpret_cast<std::uint64_t>(more.data()));
    ASSERT_TRUE(region.release());
    repeat();
    world.run_for(millisecond);
    expect_alive();
}

TEST(Shards, HandOverWhatArrivesAtTheWrongOne) {
    sim::World world{sim::Seed{1}, *test::packet_pool()};
    auto& host_a = world.add_host();
    auto& host_b = world.add_host({.shards = 2});
    test::End a(host_a, {}), b(host_b, {});
    a.make(QueuePairType::rc);
    auto options = b.options(QueuePairType::rc);
    options.shard = 1;
    b.make(options);
    ASSERT_EQ(static_cast<std::uint32_t>(b.pair->qpn()) & 1, 1u) << "the number says whose it is";
    test::connect(world, a, b);
    test::fill(std::span(a.data).first(20000));
    const auto segment = a.segment(0, 20000);
    ASSERT_TRUE(a.pair->post(transport::SendRequest{.segments = {&segment, 1},
                                                    .operation = transport::SendOperation::write,
                                                    .flags = transport::send_signalled,
                                                    .remote_address = b.address(0),
                                                    .rkey = b.region->rkey()}));
    std::vector<transport::Completion> done;
    ASSERT_TRUE(world.run_until([&] {
        done = a.poll();
        return !done.empty();
    }));
    EXPECT_EQ(done[0].status, transport::Status::success);
    EXPECT_EQ(std::memcmp(a.data.data(), b.data.data(), 20000), 0);
    EXPECT_GT(host_b.counter("rx_handed_over"), 0u);
}

}  // namespace
}  // namespace verbline::rdma
