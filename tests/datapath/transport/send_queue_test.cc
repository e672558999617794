// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/transport/send_queue.h"

#include <array>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

namespace verbline::transport {
namespace {

TEST(SendQueue, GrantsAtLeastWhatIsAskedFor) {
    const SendQueue queue({.requests = 5, .segments = 3, .inline_bytes = 100});
    EXPECT_GE(queue.limits().requests, 5u);
    EXPECT_GE(queue.limits().segments, 3u);
    EXPECT_GE(queue.limits().inline_bytes, 100u);
}

TEST(SendQueue, ShowsTheShardNothingBeforeItIsPublished) {
    SendQueue queue({.requests = 4, .segments = 1});
    ASSERT_TRUE(queue.post({.id = 1}));
    EXPECT_EQ(queue.posted(), 0u);
    queue.publish();
    EXPECT_EQ(queue.posted(), 1u);
    ASSERT_TRUE(queue.post({.id = 2}));
    queue.discard_unpublished();
    ASSERT_TRUE(queue.post({.id = 3}));
    queue.publish();
    EXPECT_EQ(queue.posted(), 2u);
    EXPECT_EQ(queue.at(1).id, 3u);
}

TEST(SendQueue, IsFullUntilRequestsAreRetired) {
    SendQueue queue({.requests = 4, .segments = 1});
    for (std::uint64_t i = 0; i < queue.limits().requests; ++i) ASSERT_TRUE(queue.post({.id = i}));
    EXPECT_EQ(queue.post({.id = 9}).error(), PostError::queue_full);
    queue.publish();
    queue.retire();
    EXPECT_EQ(queue.post({.id = 9}).error(), PostError::queue_full) << "not before it is released";
    queue.release();
    EXPECT_TRUE(queue.post({.id = 9}));
    EXPECT_EQ(queue.post({.id = 10}).error(), PostError::queue_full);
}

TEST(SendQueue, CopiesInlineDataAtOnce) {
    SendQueue queue({.requests = 2, .segments = 1, .inline_bytes = 64});
    std::array<char, 8> a{"1234567"}, b{"abcdefg"};
    const std::array<Segment, 2> segments{Segment{reinterpret_cast<std::uint64_t>(a.data()), 7, {}},
                                          Segment{reinterpret_cast<std::uint64_t>(b.data()), 7, {}}};
    ASSERT_TRUE(queue.post({.segments = segments, .flags = send_inline}));
    a.fill('x'), b.fill('x');
    queue.publish();
    const auto data = queue.at(0).inline_data();
    ASSERT_EQ(data.size(), 14u);
    EXPECT_EQ(std::memcmp(data.data(), "1234567abcdefg", 14), 0);
}

TEST(SendQueue, RefusesWhatASlotCannotHold) {
    SendQueue queue({.requests = 2, .segments = 2, .inline_bytes = 16});
    std::vector<char> bytes(queue.limits().inline_bytes + 1);
    const Segment one{reinterpret_cast<std::uint64_t>(bytes.data()), static_cast<std::uint32_t>(bytes.size()), {}};
    EXPECT_EQ(queue.post({.segments = {&one, 1}, .flags = send_inline}).error(), PostError::invalid);
    const std::vector<Segment> many(queue.limits().segments + 1);
    EXPECT_EQ(queue.post({.segments = many}).error(), PostError::invalid);
    queue.publish();
    EXPECT_EQ(queue.posted(), 0u) << "nothing is changed on error";
}

TEST(SendQueue, TakesMessagesOfUpToTwoGib) {
    SendQueue queue({.requests = 4, .segments = 2});
    std::array<Segment, 2> segments{Segment{.length = 0x7fff'ffff}, Segment{.length = 1}};
    EXPECT_TRUE(queue.post({.segments = segments}));
    EXPECT_EQ(queue.at(0).length, 0x8000'0000u);
    segments[1].length = 2;
    EXPECT_EQ(queue.post({.segments = segments}).error(), PostError::invalid);
    segments = {Segment{.length = 0xffff'ffff}, Segment{.length = 0xffff'ffff}};  // whose sum wraps in 32 bits
    EXPECT_EQ(queue.post({.segments = segments}).error(), PostError::invalid);
}

TEST(SendQueue, KeepsWhatABindBinds) {
    SendQueue queue({.requests = 1, .segments = 1});
    const WindowBinding bind{.window = wire::RKey{0x100},
                             .new_key = wire::RKey{0x101},
                             .region = wire::RKey{0x200},
                             .address = 0x1234'5678'9abc,
                             .length = std::uint64_t{1} << 40,
                             .rights = memory::Access::remote_read};
    ASSERT_TRUE(queue.post({.operation = SendOperation::bind_window, .bind = bind}));
    const auto& work = queue.at(0);
    EXPECT_TRUE(work.is_local());
    EXPECT_EQ(work.rkey, bind.window);
    EXPECT_EQ(work.region, bind.region);
    EXPECT_EQ(work.immediate, static_cast<std::uint32_t>(bind.new_key));
    EXPECT_EQ(work.remote_address, bind.address);
    EXPECT_EQ(work.operand[0], bind.length);
    EXPECT_EQ(work.operand[1], static_cast<std::uint64_t>(bind.rights));
}

TEST(SendQueue, ForgetsEverything) {
    SendQueue queue({.requests = 2, .segments = 1});
    ASSERT_TRUE(queue.post({.id = 1}));
    queue.publish();
    queue.clear();
    EXPECT_EQ(queue.posted(), queue.oldest());
    for (std::uint64_t i = 0; i < queue.limits().requests; ++i) EXPECT_TRUE(queue.post({.id = i}));
}

}  // namespace
}  // namespace verbline::transport
