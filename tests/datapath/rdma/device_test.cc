// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/rdma/device.h"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "tests/sim/world.h"
#include "tests/support/eal.h"
#include "tests/support/rdma_end.h"

namespace verbline::rdma {
namespace {

using sim::Seed, sim::World;
using test::End, test::fill;
using transport::Completion, transport::QueuePairType, transport::SendOperation, transport::SendRequest,
    transport::Status;

void connect(World& world, End& a, End& b, QueuePairType type, unsigned gid_index) {
    a.make(type), b.make(type);
    test::connect(world, a, b, {.gid_index = gid_index});
}

class RdmaDevice : public testing::TestWithParam<unsigned> {
protected:
    World world{Seed{1}, *test::packet_pool()};
    sim::Host& host_a = world.add_host();
    sim::Host& host_b = world.add_host();
    End a{host_a}, b{host_b};
};

TEST_P(RdmaDevice, SendsReceivesWritesReadsAndAddsOverEachCarrier) {
    connect(world, a, b, QueuePairType::rc, GetParam());
    fill(std::span(a.data).first(5000));
    b.receive(7, 1000, 6000);
    auto s = a.segment(0, 5000);
    ASSERT_TRUE(a.pair->post(SendRequest{.id = 1, .segments = {&s, 1}, .flags = transport::send_signalled}));
    std::vector<Completion> at_a, at_b;
    const auto collect = [&](std::size_t na, std::size_t nb) {
        return world.run_until([&] {
            for (const auto& c : a.poll()) at_a.push_back(c);
            for (const auto& c : b.poll()) at_b.push_back(c);
            return at_a.size() >= na && at_b.size() >= nb;
        });
    };
    ASSERT_TRUE(collect(1, 1));
    EXPECT_EQ(at_b[0].id, 7u);
    EXPECT_EQ(at_b[0].length, 5000u);
    EXPECT_EQ(at_b[0].status, Status::success);
    EXPECT_EQ(std::memcmp(b.data.data() + 1000, a.data.data(), 5000), 0);

    const SendRequest write{.id = 2,
                            .segments = {&s, 1},
                            .operation = SendOperation::write,
                            .flags = transport::send_signalled,
                            .remote_address = b.address(20000),
                            .rkey = b.region->rkey()};
    ASSERT_TRUE(a.pair->post(write));
    auto r = a.segment(30000, 5000);
    const SendRequest read{.id = 3,
                           .segments = {&r, 1},
                           .operation = SendOperation::read,
                           .flags = transport::send_signalled | transport::send_fence,
                           .remote_address = b.address(20000),
                           .rkey = b.region->rkey()};
    ASSERT_TRUE(a.pair->post(read));
    std::uint64_t counter = 41;
    std::memcpy(b.data.data() + 64, &counter, 8);
    auto old = a.segment(40000, 8);
    ASSERT_TRUE(a.pair->post(SendRequest{.id = 4,
                                         .segments = {&old, 1},
                                         .operation = SendOperation::fetch_add,
                                         .flags = transport::send_signalled,
                                         .remote_address = b.address(64),
                                         .rkey = b.region->rkey(),
                                         .swap_or_add = 1}));
    ASSERT_TRUE(collect(4, 1));
    for (const auto& c : at_a) EXPECT_EQ(c.status, Status::success) << c.id;
    EXPECT_EQ(std::memcmp(b.data.data() + 20000, a.data.data(), 5000), 0);
    EXPECT_EQ(std::memcmp(a.data.data() + 30000, a.data.data(), 5000), 0);
    std::uint64_t before = 0, after = 0;
    std::memcpy(&before, a.data.data() + 40000, 8);
    std::memcpy(&after, b.data.data() + 64, 8);
    EXPECT_EQ(before, 41u);
    EXPECT_EQ(after, 42u);
    EXPECT_EQ(host_a.counter("local_ack_timeout_err"), 0u);
}

TEST_P(RdmaDevice, ComesThroughLoss) {
    host_b.port().setup().in.random.loss = 0.02;
    host_a.port().setup().in.random.loss = 0.02;
    host_a.port().setup().delay = host_b.port().setup().delay = 10 * microsecond;
    connect(world, a, b, QueuePairType::rc, GetParam());
    fill(std::span(a.data).first(60000));
    int done = 0;
    for (int round = 0; round < 50; ++round) {
        std::fill(b.data.begin(), b.data.end(), std::byte{0});
        auto s = a.segment(0, 60000);
        ASSERT_TRUE(a.pair->post(SendRequest{.id = 2,
                                             .segments = {&s, 1},
                                             .operation = SendOperation::write,
                                             .flags = transport::send_signalled,
                                             .remote_address = b.address(0),
                                             .rkey = b.region->rkey()}));
        ASSERT_TRUE(world.run_until([&] {
            for (const auto& c : a.poll()) {
                EXPECT_EQ(c.status, Status::success);
                ++done;
            }
            return done > round;
        })) << round;
        ASSERT_EQ(std::memcmp(b.data.data(), a.data.data(), 60000), 0);
    }
    EXPECT_GT(host_a.counter("packet_seq_err"), 0u);
}

INSTANTIATE_TEST_SUITE_P(Carriers, RdmaDevice, testing::Values(0u, 3u, 5u));

}  // namespace
}  // namespace verbline::rdma
