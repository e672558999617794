// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/memif/notifier.h"

#include <array>
#include <cstdint>
#include <thread>

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/support/cancelled_thread.h"

namespace verbline::pmd::memif {
namespace {

constexpr eventfd_t full = ~eventfd_t{0} - 1;  ///< the most that write(2) can leave in a counter

bool kernel_has_aio() {
    aio_context_t context = 0;
    if (syscall(SYS_io_setup, 1, &context) != 0) return false;
    syscall(SYS_io_destroy, context);
    return true;
}

eventfd_t taken_from(const FileDescriptor& event) {
    eventfd_t value = 0;
    pollfd one{.fd = event.get(), .events = POLLIN, .revents = 0};
    if (poll(&one, 1, 0) == 1) eventfd_read(event.get(), &value);
    return value;
}

TEST(IsEventfd, DistinguishesEventfds) {
    const FileDescriptor event(eventfd(0, EFD_CLOEXEC)), epoll(epoll_create1(EPOLL_CLOEXEC)),
        memory(memfd_create("anon_inode:[eventfd]", MFD_CLOEXEC));
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe(ends.data()), 0);
    const FileDescriptor reader(ends[0]), writer(ends[1]);
    EXPECT_TRUE(is_eventfd(event.get()));
    for (const auto* other : {&epoll, &memory, &reader, &writer}) EXPECT_FALSE(is_eventfd(other->get()));
    EXPECT_FALSE(is_eventfd(-1));
}

TEST(NotifierTest, MakesAnEventfdReadable) {
    const Notifier notifier;
    const FileDescriptor event(eventfd(0, EFD_CLOEXEC));
    EXPECT_EQ(taken_from(event), 0u);
    for (unsigned i = 0; i < 1000; ++i) notifier.notify(event.get());
    EXPECT_EQ(taken_from(event), 1000u) << "more often than completions have room";
}

TEST(NotifierTest, NeverBlocksOnAFullCounter) {
    const Notifier notifier;
    const FileDescriptor event(eventfd(0, EFD_CLOEXEC));  // blocking
    ASSERT_EQ(eventfd_write(event.get(), full), 0);
    for (unsigned i = 0; i < 3; ++i) notifier.notify(event.get());
    // A completion of asynchronous I/O saturates the counter; without it, nothing is written.
    EXPECT_EQ(taken_from(event), kernel_has_aio() ? ~eventfd_t{0} : full);
}

TEST(NotifierTest, ServesSeveralThreads) {
    const Notifier notifier;
    const FileDescriptor one(eventfd(0, EFD_CLOEXEC)), two(eventfd(0, EFD_CLOEXEC));
    const auto signal = [&](const FileDescriptor& event) {
        for (unsigned i = 0; i < 10'000; ++i) notifier.notify(event.get());
    };
    { const std::jthread first(signal, std::cref(one)), second(signal, std::cref(two)); }
    // A completion may find no room while the other thread takes them out; then the counter is not zero either.
    EXPECT_GT(taken_from(one), 9000u);
    EXPECT_GT(taken_from(two), 9000u);
}

/// A program may cancel a thread that sends: that must not unwind a burst of its device.
TEST(SignalEventfdTest, IsNoCancellationPoint) {
    const FileDescriptor event(eventfd(0, EFD_CLOEXEC));
    EXPECT_TRUE(test::returns_when_cancelled([&] { signal_eventfd(event.get(), nullptr); }));
    EXPECT_EQ(taken_from(event), 1u);
}

TEST(NotifierTest, IgnoresDescriptorThatIsNoEventfd) {
    const Notifier notifier;
    notifier.notify(-1);
    notifier.notify(STDIN_FILENO);
}

}  // namespace
}  // namespace verbline::pmd::memif
