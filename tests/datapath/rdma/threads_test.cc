// SPDX-License-Identifier: BSD-3-Clause
// One thread polls the shards, another posts and polls completions, a third makes and destroys things meanwhile: what
// the API promises to threads.
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include <gtest/gtest.h>

#include "tests/sim/world.h"
#include "tests/support/eal.h"
#include "tests/support/rdma_end.h"

namespace verbline::rdma {
namespace {

using transport::QueuePairType;

TEST(Threads, MayPostAndChangeWhileAnotherPolls) {
    sim::World world(sim::Seed{1}, *test::packet_pool());
    auto &host_a = world.add_host(), &host_b = world.add_host();
    test::End a(host_a, test::EndSizes{}), b(host_b, test::EndSizes{});
    a.make(QueuePairType::rc), b.make(QueuePairType::rc);
    test::connect(world, a, b);
    test::fill(std::span(a.data).first(256));

    std::atomic<bool> over{false};
    std::thread poller([&] {
        while (!over) world.run_for(10 * microsecond);
    });
    std::thread builder([&] {
        std::vector<std::byte> memory(4096);
        for (int i = 0; i < 300; ++i) {
            auto region = host_b.device().register_memory(b.pd, memory, test::every_access);
            auto pair = host_b.device().create_queue_pair(b.options(QueuePairType::rc));
            ASSERT_TRUE(region && pair);
            ASSERT_TRUE((*pair)->init({.access = test::every_access}));
            if (i % 2 == 0) (*pair)->error();
        }
    });

    constexpr int messages = 3000;
    int posted = 0, done = 0;
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    const auto segment = a.segment(0, 256);
    while (done < messages && std::chrono::steady_clock::now() < limit) {
        if (posted < messages && a.pair->post(transport::SendRequest{.segments = {&segment, 1},
                                                                     .operation = transport::SendOperation::write,
                                                                     .flags = transport::send_signalled,
                                                                     .remote_address = b.address(0),
                                                                     .rkey = b.region->rkey()})) {
            ++posted;
        }
        for (const auto& completion : a.poll()) {
            EXPECT_EQ(completion.status, transport::Status::success);
            ++done;
        }
    }
    builder.join();
    over = true;
    poller.join();
    EXPECT_EQ(done, messages);
    EXPECT_EQ(std::memcmp(a.data.data(), b.data.data(), 256), 0);
}

}  // namespace
}  // namespace verbline::rdma
