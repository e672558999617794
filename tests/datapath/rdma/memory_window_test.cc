// SPDX-License-Identifier: BSD-3-Clause
// Memory windows as queue pairs use them: binds and invalidates in the order of the send queue.
#include <cerrno>

#include <gtest/gtest.h>

#include "datapath/rdma/memory_region.h"
#include "tests/datapath/rdma/two_ends.h"

namespace verbline::rdma {
namespace {

using memory::Access, memory::WindowType;

constexpr std::uint32_t bytes = 1000, at = 4096;

class Window : public test::TwoEnds {
protected:
    /// B binds [at, at + bytes) of its region, and says so.
    wire::RKey bind(WindowType type, Access rights = Access::remote_write) {
        connect();
        window.emplace(std::move(*host_b.device().allocate_window(b.pd, type)));
        const auto key = memory::next_key(window->rkey());
        EXPECT_TRUE(bind_again(key, rights));
        EXPECT_TRUE(complete(0, ++told));
        EXPECT_EQ(at_b.back().status, Status::success);
        EXPECT_EQ(at_b.back().kind, transport::CompletionKind::bind_window);
        return key;
    }
    bool bind_again(wire::RKey key, Access rights) {
        return b.pair
            ->post(Request{.operation = Operation::bind_window,
                           .flags = transport::send_signalled,
                           .bind = {.window = window->rkey(),
                                    .new_key = key,
                                    .region = b.region->rkey(),
                                    .address = b.address(at),
                                    .length = bytes,
                                    .rights = rights}})
            .has_value();
    }
    Status write(wire::RKey key, std::size_t offset, std::uint32_t size) {
        auto request = to(b, offset, Operation::write);
        request.rkey = key;
        EXPECT_TRUE(post(a, request, 0, size));
        EXPECT_TRUE(complete(at_a.size() + 1));
        return at_a.back().status;
    }

    std::optional<MemoryWindow> window;
    std::size_t told = 0;
};

class WindowOfType : public Window, public testing::WithParamInterface<WindowType> {};

TEST_P(WindowOfType, GrantsWhatIsBound) {
    const auto key = bind(GetParam());
    test::fill(std::span(a.data).first(bytes));
    EXPECT_EQ(write(key, at, bytes), Status::success);
    EXPECT_TRUE(equal(a, 0, b, at, bytes));
    EXPECT_EQ(write(key, at + 1, bytes), Status::remote_access_error) << "one byte beyond";
}

TEST_P(WindowOfType, GrantsNoOtherRight) {
    const auto key = bind(GetParam(), Access::remote_read);
    EXPECT_EQ(write(key, at, bytes), Status::remote_access_error);
}

TEST_P(WindowOfType, GrantsNothingByTheKeyItHadBefore) {
    bind(GetParam());
    EXPECT_EQ(write(window->rkey(), at, bytes), Status::remote_access_error);
}

INSTANTIATE_TEST_SUITE_P(Types, WindowOfType,
                         testing::Values(WindowType::type1, WindowType::type2a, WindowType::type2b));

TEST_F(Window, IsInvalidatedByThePeer) {
    const auto key = bind(WindowType::type2b);
    EXPECT_EQ(write(key, at, 8), Status::success);
    b.receive(9, 0, 64);
    ASSERT_TRUE(
        post(a, {.operation = Operation::send_with_invalidate, .immediate = static_cast<std::uint32_t>(key)}, 0, 64));
    ASSERT_TRUE(complete(2, ++told));
    EXPECT_EQ(at_b.back().flags, transport::Completion::has_invalidated);
    EXPECT_EQ(at_b.back().immediate, static_cast<std::uint32_t>(key));
    EXPECT_EQ(write(key, at, 8), Status::remote_access_error);
}

TEST_F(Window, IsInvalidatedAtHome) {
    const auto key = bind(WindowType::type2a);
    ASSERT_TRUE(b.pair->post(Request{.operation = Operation::local_invalidate,
                                     .flags = transport::send_signalled,
                                     .immediate = static_cast<std::uint32_t>(key)}));
    ASSERT_TRUE(complete(0, ++told));
    EXPECT_EQ(at_b.back().status, Status::success);
    EXPECT_EQ(at_b.back().kind, transport::CompletionKind::local_invalidate);
    EXPECT_EQ(write(key, at, 8), Status::remote_access_error);
}

TEST_F(Window, OfType2IsNotBoundTwice) {
    const auto key = bind(WindowType::type2b);
    EXPECT_TRUE(bind_again(memory::next_key(key), Access::remote_write));
    ASSERT_TRUE(complete(0, ++told));
    EXPECT_EQ(at_b.back().status, Status::window_bind_error);
    EXPECT_EQ(b.pair->state(), transport::QueuePairState::error);
}

TEST_F(Window, HoldsItsRegion) {
    bind(WindowType::type1);
    EXPECT_EQ(b.region->release().error().code, EBUSY);
    window.reset();
    EXPECT_TRUE(b.region->release());
}

TEST_F(Window, GrantsNothingOfARegionThatIsNoMore) {
    const auto key = bind(WindowType::type1);
    EXPECT_EQ(write(key, at, 8), Status::success);
    b.region.reset();
    b.region.emplace(*host_b.device().register_memory(b.pd, b.data, test::every_access));
    EXPECT_EQ(write(key, at, 8), Status::remote_access_error);
}

TEST_F(Window, IsUnboundWithItsQueuePair) {
    bind(WindowType::type2b);
    b.pair.reset();
    EXPECT_TRUE(b.region->release());
}

}  // namespace
}  // namespace verbline::rdma
