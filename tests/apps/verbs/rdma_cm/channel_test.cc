// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbs/rdma_cm/channel.h"

#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "apps/verbs/rdma_cm/descriptor_set.h"

namespace verbline::verbs {
namespace {

class Channels : public testing::Test {
protected:
    ~Channels() override { close(channel->descriptor()); }
    bool readable() const {
        pollfd ready{.fd = channel->descriptor(), .events = POLLIN, .revents = 0};
        return poll(&ready, 1, 0) == 1;
    }
    void push() const {
        channel->queue().events.emplace_back();
        channel->queue().on_event();
    }
    void pop() const {
        channel->queue().events.pop_front();
        channel->taken();
        channel->settle();
    }

    const std::shared_ptr<Channel> channel = *Channel::open(O_RDWR | O_CLOEXEC | O_NONBLOCK);
};

TEST_F(Channels, AreReadableWhileThereAreEvents) {
    EXPECT_FALSE(readable());
    EXPECT_EQ(channel->wait(), EAGAIN);
    push(), push();
    EXPECT_EQ(channel->wait(), 0);
    pop();
    EXPECT_TRUE(readable());
    EXPECT_EQ(channel->wait(), 0);
    pop();
    EXPECT_FALSE(readable());
}

TEST_F(Channels, ForgetEventsThatAreGone) {
    push(), push(), push();
    channel->queue().events.resize(1);
    channel->settle();
    EXPECT_TRUE(readable());
    channel->queue().events.clear();
    channel->settle();
    EXPECT_FALSE(readable());
}

TEST_F(Channels, CountEventsThatCameFromElsewhere) {
    channel->queue().events.resize(2);
    channel->settle();
    EXPECT_EQ(channel->wait(), 0);
    EXPECT_EQ(channel->wait(), 0);
    EXPECT_EQ(channel->wait(), EAGAIN);
}

TEST_F(Channels, GiveBackAnEventThatWasNotTaken) {
    push();
    EXPECT_EQ(channel->wait(), 0);
    channel->put_back();
    EXPECT_EQ(channel->wait(), 0);
}

TEST_F(Channels, TakeTheFlagsOfOpen) {
    EXPECT_NE(fcntl(channel->descriptor(), F_GETFL) & O_NONBLOCK, 0);
    EXPECT_EQ(fcntl(channel->descriptor(), F_GETFD), FD_CLOEXEC);
    const auto plain = *Channel::open(O_RDWR);
    EXPECT_EQ(fcntl(plain->descriptor(), F_GETFL) & O_NONBLOCK, 0);
    EXPECT_EQ(fcntl(plain->descriptor(), F_GETFD), 0);
    std::jthread waiter([&] { EXPECT_EQ(plain->wait(), 0); });
    plain->queue().events.emplace_back();
    plain->queue().on_event();
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

TEST(DescriptorSets, HoldWhatWasAdded) {
    static DescriptorSet set;
    for (const int descriptor : {0, 63, 64, DescriptorSet::capacity - 1}) {
        EXPECT_FALSE(set.contains(descriptor));
        set.add(descriptor);
        EXPECT_TRUE(set.contains(descriptor));
    }
    set.remove(63);
    EXPECT_FALSE(set.contains(63));
    EXPECT_TRUE(set.contains(64));
    EXPECT_FALSE(set.contains(-1));
    EXPECT_FALSE(set.contains(DescriptorSet::capacity));
}

}  // namespace
}  // namespace verbline::verbs
