// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/ucma/event_channel.h"

#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace verbline::verbs {
namespace {

class Channels : public testing::Test {
protected:
    ~Channels() override { close(channel->descriptor()); }
    bool readable() const {
        pollfd ready{.fd = channel->descriptor(), .events = POLLIN, .revents = 0};
        return poll(&ready, 1, 0) == 1;
    }
    void push(std::size_t count) const {
        for (; count != 0; --count) channel->queue().events.emplace_back(), channel->queue().on_event();
        channel->changed();
    }
    void pop(std::size_t count = 1) const {
        for (; count != 0; --count) channel->queue().events.pop_front();
        channel->changed();
    }
    /// What the eventfd counts, which it then no longer does.
    std::uint64_t written() const {
        std::uint64_t count = 0;
        return read(channel->descriptor(), &count, sizeof count) == sizeof count ? count : 0;
    }

    unsigned told = 0;
    const std::shared_ptr<EventChannel> channel =
        *EventChannel::open(O_RDWR | O_CLOEXEC | O_NONBLOCK, [this](const auto& changed) {
            EXPECT_EQ(changed, channel);
            ++told;
        });
};

TEST_F(Channels, AreReadableWhileThereAreEvents) {
    EXPECT_FALSE(readable());
    EXPECT_EQ(channel->wait(), EAGAIN);
    push(2);
    EXPECT_EQ(told, 2);
    EXPECT_FALSE(readable()) << "not while the engine is held";
    channel->settle();
    EXPECT_TRUE(readable());
    pop(), channel->settle();
    EXPECT_TRUE(readable());
    pop(), channel->settle();
    EXPECT_FALSE(readable());
}

TEST_F(Channels, AreWrittenToOnceForABurst) {
    for (int each = 0; each < 3; ++each) push(2), channel->settle();
    EXPECT_EQ(written(), 1);
}

TEST_F(Channels, AreNotWrittenToForEventsThatAreTakenAtOnce) {
    push(1), pop();
    channel->settle();
    EXPECT_EQ(written(), 0);
}

TEST_F(Channels, SignalAgainAfterAWait) {
    push(2), channel->settle();
    EXPECT_EQ(channel->wait(), 0);
    EXPECT_FALSE(readable()) << "whoever waited takes an event first";
    pop(), channel->settle();
    EXPECT_EQ(channel->wait(), 0);
    channel->settle();
    EXPECT_TRUE(readable()) << "it did not take the event";
}

TEST_F(Channels, AreWaitedForWhenTheDescriptorIsClosed) {
    const auto closed = *EventChannel::open(O_RDWR | O_NONBLOCK, [](const auto&) {});
    close(closed->descriptor());
    EXPECT_EQ(closed->wait(), EAGAIN) << "whoever was on the way to wait does, as if it had come before";
}

TEST_F(Channels, AreSettledByTheLastUser) {
    push(1), channel->settle();
    ASSERT_EQ(written(), 1) << "somebody has read, and did not yet say so";
    push(1), channel->settle();
    EXPECT_FALSE(readable()) << "it will look itself";
    pop(2), channel->settle();
    EXPECT_FALSE(readable());
}

TEST_F(Channels, TakeTheFlagsOfOpen) {
    EXPECT_NE(fcntl(channel->descriptor(), F_GETFL) & O_NONBLOCK, 0);
    EXPECT_EQ(fcntl(channel->descriptor(), F_GETFD), FD_CLOEXEC);
    const auto plain = *EventChannel::open(O_RDWR, [](const auto&) {});
    EXPECT_EQ(fcntl(plain->descriptor(), F_GETFL) & O_NONBLOCK, 0);
    EXPECT_EQ(fcntl(plain->descriptor(), F_GETFD), 0);
    std::jthread waiter([&] { EXPECT_EQ(plain->wait(), 0); });
    plain->queue().events.emplace_back();
    plain->changed();
    plain->settle();
    waiter.join();
    close(plain->descriptor());
}

TEST_F(Channels, KnowWhetherAnotherFileTookTheirPlace) {
    EXPECT_TRUE(channel->intact());
    const int other = eventfd(0, 0);
    dup2(other, channel->descriptor());
    close(other);
    EXPECT_FALSE(channel->intact());
}

TEST_F(Channels, LookForAnotherFileOnceAMillisecond) {
    EXPECT_TRUE(channel->intact(second));
    const int other = eventfd(0, 0);
    dup2(other, channel->descriptor());
    close(other);
    EXPECT_TRUE(channel->intact(second + millisecond - 1)) << "a look is two system calls";
    EXPECT_FALSE(channel->intact(second + millisecond));
    EXPECT_FALSE(channel->intact(second + millisecond)) << "and at once, once that is known";
}

TEST_F(Channels, AreNotIntactWhenTheDescriptorIsClosed) {
    const auto closed = *EventChannel::open(O_RDWR, [](const auto&) {});
    close(closed->descriptor());
    EXPECT_FALSE(closed->intact()) << "a write to it is the kernel's to refuse";
}

TEST_F(Channels, SayWhetherTheyHaveIds) {
    EXPECT_FALSE(channel->has_ids());
    channel->queue().ids = 2;
    channel->changed();
    EXPECT_TRUE(channel->has_ids());
}

}  // namespace
}  // namespace verbline::verbs
