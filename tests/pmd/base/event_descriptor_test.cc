// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/base/event_descriptor.h"

#include <array>
#include <type_traits>
#include <utility>

#include <fcntl.h>
#include <poll.h>

#include <gtest/gtest.h>

#include "tests/support/cancelled_thread.h"
#include "tests/support/descriptor_limit.h"

namespace verbline {
namespace {

bool readable(const EventDescriptor& event) {
    pollfd one{.fd = event.get(), .events = POLLIN, .revents = 0};
    return poll(&one, 1, 0) == 1;
}

TEST(EventDescriptor, IsReadableFromASignalUntilItIsDrained) {
    const auto event = EventDescriptor::make();
    ASSERT_TRUE(event);
    EXPECT_FALSE(readable(event));
    event.signal();
    event.signal();
    EXPECT_TRUE(readable(event));
    EXPECT_TRUE(event.drain());
    EXPECT_FALSE(readable(event));
    EXPECT_FALSE(event.drain()) << "both signals went at once";
}

TEST(EventDescriptor, DoesNotBlockWhenItIsFull) {
    const auto event = EventDescriptor::make();
    ASSERT_EQ(eventfd_write(event.get(), ~eventfd_t{0} - 1), 0);
    event.signal();
    EXPECT_TRUE(event.drain());
}

TEST(EventDescriptor, SignalsAnyEventfd) {
    const auto event = EventDescriptor::make();
    EventDescriptor::signal(event.get());
    EXPECT_TRUE(event.drain());
}

/// A program may cancel a thread that polls: that must not unwind a round of its device.
TEST(EventDescriptor, SignalIsNoCancellationPoint) {
    const auto event = EventDescriptor::make();
    EXPECT_TRUE(test::returns_when_cancelled([&] { event.signal(); }));
    EXPECT_TRUE(event.drain());
}

TEST(EventDescriptor, EndsWithThePrograms) {
    EXPECT_NE(fcntl(EventDescriptor::make().get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(EventDescriptor, HasOneOwner) {
    static_assert(!std::is_copy_constructible_v<EventDescriptor> && !std::is_copy_assignable_v<EventDescriptor>);
    auto first = EventDescriptor::make();
    const int descriptor = first.get();
    const auto second = std::move(first);
    EXPECT_FALSE(first) << "moved from";  // NOLINT(bugprone-use-after-move)
    EXPECT_EQ(second.get(), descriptor);
    second.signal();
    EXPECT_TRUE(second.drain());
}

TEST(EventDescriptor, FailedCreationSetsErrnoAndIsInert) {
    const test::DescriptorLimit limit(0);
    const auto none = EventDescriptor::make();
    EXPECT_EQ(errno, EMFILE);
    EXPECT_FALSE(none);
    EXPECT_EQ(none.get(), -1);
    none.signal();
    EXPECT_FALSE(none.drain());
}

}  // namespace
}  // namespace verbline
