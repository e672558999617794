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

/// Queues of one request each: whoever sees a completion may post at once, in this thread, while another polls.
void post_with_each_completion(QueuePairType type) {
    sim::World world(sim::Seed{1}, *test::packet_pool());
    auto &host_a = world.add_host(), &host_b = world.add_host();
    test::End a(host_a, {.requests = 1}), b(host_b, {.requests = 1});
    a.make(type), b.make(type);
    test::connect(world, a, b);
    const rdma::Path to_b = world.path(host_a, host_b, 3);
    const auto envelope = *host_a.device().envelope(to_b, a.pair->qpn(), b.pair->qpn());
    const auto segment = a.segment(0, 64);
    const transport::SendRequest request{.segments = {&segment, 1},
                                         .flags = transport::send_signalled,
                                         .ud = {.envelope = type == QueuePairType::ud ? &envelope : nullptr,
                                                .qpn = b.pair->qpn(),
                                                .qkey = wire::QKey{0x1234}}};
    b.receive(0, 0, 256);
    ASSERT_TRUE(a.pair->post(request));

    std::atomic<bool> over{false};
    std::thread poller([&] {
        while (!over) world.run_for(10 * microsecond);
    });
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    constexpr int messages = 20'000;
    bool posts = true;
    for (int posted = 1, sent = 0, received = 0; posts && received < messages;) {
        if (std::chrono::steady_clock::now() > limit) break;
        if (!b.poll().empty()) b.receive(0, 0, 256), ++received;
        if (!a.poll().empty()) ++sent;
        if (sent < posted || received < posted) continue;
        posts = a.pair->post(request).has_value();
        ++posted;
    }
    over = true;
    poller.join();
    EXPECT_TRUE(posts) << "the send request's slot was not free when its completion was there";
}

TEST(Threads, APlaceIsFreeWhenItsCompletionIsThere) {
    post_with_each_completion(QueuePairType::rc);
    post_with_each_completion(QueuePairType::ud);
}

}  // namespace
}  // namespace verbline::rdma
