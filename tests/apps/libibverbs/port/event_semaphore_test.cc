// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/port/event_semaphore.h"

#include <cerrno>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <gtest/gtest.h>

#include "tests/support/cancelled_thread.h"
#include "tests/support/descriptor_limit.h"

namespace verbline::verbs {
namespace {

bool readable(const EventSemaphore& events) {
    pollfd one{.fd = events.programs(), .events = POLLIN, .revents = 0};
    return poll(&one, 1, 0) == 1;
}

/// As the program does it.
void set_nonblocking(const EventSemaphore& events) {
    fcntl(events.programs(), F_SETFL, O_NONBLOCK);
}

TEST(EventSemaphore, IsReadableUntilEachEventIsTaken) {
    const auto events = EventSemaphore::make();
    ASSERT_TRUE(events);
    EXPECT_FALSE(readable(events));
    events.post();
    events.post();
    EXPECT_TRUE(events.wait());
    EXPECT_TRUE(readable(events));
    EXPECT_TRUE(events.wait());
    EXPECT_FALSE(readable(events));
}

TEST(EventSemaphore, BlocksUnlessTheProgramSaysOtherwise) {
    const auto events = EventSemaphore::make();
    EXPECT_TRUE(events.blocks());
    set_nonblocking(events);
    EXPECT_FALSE(events.blocks());
    EXPECT_FALSE(events.wait());
    EXPECT_EQ(errno, EAGAIN);
}

/// A program reads the descriptor by itself, too.
TEST(EventSemaphore, GivesTheProgramsReadOneEvent) {
    const auto events = EventSemaphore::make();
    events.post();
    events.post();
    eventfd_t taken = 0;
    EXPECT_EQ(eventfd_read(events.programs(), &taken), 0);
    EXPECT_EQ(taken, 1u);
    EXPECT_TRUE(events.wait()) << "the other";
}

/// A program may cancel a thread that polls: that must not unwind a round of the device.
TEST(EventSemaphore, PostIsNoCancellationPoint) {
    const auto events = EventSemaphore::make();
    EXPECT_TRUE(test::returns_when_cancelled([&] { events.post(); }));
    EXPECT_TRUE(readable(events));
}

TEST(EventSemaphore, WaitIsACancellationPoint) {
    const auto events = EventSemaphore::make();
    EXPECT_FALSE(test::returns_when_cancelled([&] { events.wait(); }));
}

TEST(EventSemaphore, NoneSaysWhyAndIsHarmless) {
    const test::DescriptorLimit limit(0);
    const auto none = EventSemaphore::make();
    EXPECT_EQ(errno, EMFILE);
    EXPECT_FALSE(none);
    EXPECT_EQ(none.programs(), -1);
    none.post();
    EXPECT_FALSE(none.wait());
    EXPECT_EQ(errno, EBADF);
}

}  // namespace
}  // namespace verbline::verbs
