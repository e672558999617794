// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/transport/receive_queue.h"

#include <array>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace verbline::transport {
namespace {

TEST(ReceiveQueue, GivesInTheOrderOfPosting) {
    ReceiveQueue queue({.requests = 3, .segments = 2});
    const std::array<Segment, 2> segments{Segment{.address = 16, .length = 32}, Segment{.address = 64, .length = 8}};
    for (std::uint64_t i = 0; i < 3; ++i) {
        ASSERT_TRUE(queue.post({.id = i, .segments = std::span(segments).first(i % 3)}));
    }
    EXPECT_EQ(queue.waiting(), 3u);
    for (std::uint64_t i = 0; i < 3; ++i) {
        const auto* const work = queue.take();
        ASSERT_NE(work, nullptr);
        EXPECT_EQ(work->id, i);
        ASSERT_EQ(work->segment_list().size(), i % 3);
        if (i == 2) {
            EXPECT_EQ(work->segment_list()[1].address, 64u);
        }
    }
    EXPECT_EQ(queue.take(), nullptr);
}

TEST(ReceiveQueue, IsFullUntilRequestsAreGivenBackInWhateverOrder) {
    ReceiveQueue queue({.requests = 4, .segments = 1});
    std::vector<const ReceiveWork*> taken;
    for (std::uint64_t i = 0; i < 4; ++i) ASSERT_TRUE(queue.post({.id = i}));
    EXPECT_EQ(queue.post({.id = 4}).error(), PostError::queue_full);
    for (int i = 0; i < 4; ++i) taken.push_back(queue.take());
    EXPECT_EQ(queue.post({.id = 4}).error(), PostError::queue_full) << "taken is not given back";
    queue.give_back(*taken[2]);
    EXPECT_TRUE(queue.post({.id = 5}));
    EXPECT_EQ(taken[1]->id, 1u) << "the others stay what they are";
    queue.give_back(*taken[0]);
    EXPECT_TRUE(queue.post({.id = 6}));
    EXPECT_EQ(queue.take()->id, 5u);
    EXPECT_EQ(queue.take()->id, 6u);
}

TEST(ReceiveQueue, RefusesMoreSegmentsThanAgreedOn) {
    ReceiveQueue queue({.requests = 2, .segments = 1});
    const std::vector<Segment> many(queue.limits().segments + 1);
    EXPECT_EQ(queue.post({.segments = many}).error(), PostError::invalid);
    EXPECT_EQ(queue.waiting(), 0u);
}

TEST(ReceiveQueue, TellsOfItsLimitOnce) {
    ReceiveQueue queue({.requests = 4, .segments = 1});
    for (std::uint64_t i = 0; i < 4; ++i) ASSERT_TRUE(queue.post({.id = i}));
    queue.arm_limit(3);
    queue.take();
    EXPECT_FALSE(queue.limit_reached()) << "three wait: not fewer than the limit";
    queue.take();
    EXPECT_TRUE(queue.limit_reached());
    queue.take();
    EXPECT_FALSE(queue.limit_reached());
    EXPECT_EQ(queue.limit(), 0u);
}

TEST(ReceiveQueue, PassesRequestsBetweenThreads) {
    constexpr std::uint64_t count = 100'000;
    ReceiveQueue queue({.requests = 8, .segments = 1});
    std::jthread user([&] {
        for (std::uint64_t i = 0; i < count;) {
            const Segment segment{.address = i * 5, .length = 1};
            if (queue.post({.id = i, .segments = {&segment, 1}})) {
                ++i;
            } else {
                std::this_thread::yield();
            }
        }
    });
    bool whole = true;
    for (std::uint64_t i = 0; i < count;) {
        const auto* const work = queue.take();
        if (work == nullptr) {
            std::this_thread::yield();
            continue;
        }
        whole &= work->id == i && work->segment_list()[0].address == i * 5;
        queue.give_back(*work);
        ++i;
    }
    EXPECT_TRUE(whole);
}

}  // namespace
}  // namespace verbline::transport
