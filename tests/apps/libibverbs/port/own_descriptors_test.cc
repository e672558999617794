// SPDX-License-Identifier: BSD-3-Clause
// Linked as the library is: the calls in here go through own_descriptors.cc.
#include "apps/libibverbs/port/own_descriptors.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "apps/libibverbs/port/owner.h"
#include "control/host/netlink_socket.h"

namespace verbline::verbs {
namespace {

class OwnDescriptorsTest : public testing::Test {
protected:
    void SetUp() override { Owner::claim(); }
    /// A number that the program could have got, which is nobody's now.
    static int a_low_number() {
        const int low = dup(STDOUT_FILENO);
        syscall(SYS_close, low);
        return low;
    }
    const int low = a_low_number();
};

TEST_F(OwnDescriptorsTest, AreMovedAndMarked) {
    const std::array opened{eventfd(0, EFD_CLOEXEC), epoll_create1(0), socket(AF_UNIX, SOCK_DGRAM, 0),
                            open("/dev/null", O_RDONLY)};
    for (const int each : opened) {
        EXPECT_GT(each, 2 * low);
        EXPECT_TRUE(OwnDescriptors::guards(each)) << each;
        EXPECT_EQ(fcntl(each, F_GETFD), FD_CLOEXEC);
    }
    EXPECT_EQ(a_low_number(), low) << "none is left behind";
    for (const int each : opened) {
        EXPECT_EQ(close(each), 0);
        EXPECT_FALSE(OwnDescriptors::guards(each));
    }
}

/// A thread that is to be cancelled opens one of ours.
void* open_when_cancelled(void* opened) {
    pthread_cancel(pthread_self());
    *static_cast<int*>(opened) = eventfd(0, EFD_CLOEXEC);
    pthread_testcancel();
    return nullptr;
}

TEST_F(OwnDescriptorsTest, OpeningOneIsNoCancellationPoint) {
    int opened = -1;
    pthread_t thread{};
    ASSERT_EQ(pthread_create(&thread, nullptr, open_when_cancelled, &opened), 0);
    void* result = nullptr;
    pthread_join(thread, &result);
    EXPECT_EQ(result, PTHREAD_CANCELED);
    EXPECT_TRUE(OwnDescriptors::guards(opened));
    close(opened);
}

TEST_F(OwnDescriptorsTest, AreMarkedWhenTheyComeWithAMessage) {
    std::array<int, 2> ends{};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends.data()), 0);
    alignas(cmsghdr) std::array<char, CMSG_SPACE(2 * sizeof(int))> control{};
    char byte = 0;
    iovec vector{&byte, 1};
    msghdr message{
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = control.data(), .msg_controllen = control.size()};
    auto* const part = CMSG_FIRSTHDR(&message);
    *part = {.cmsg_len = CMSG_LEN(2 * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    std::memcpy(CMSG_DATA(part), ends.data(), sizeof ends);
    ASSERT_EQ(sendmsg(ends[0], &message, 0), 1);
    ASSERT_EQ(recvmsg(ends[1], &message, MSG_CMSG_CLOEXEC), 1);
    std::array<int, 2> received{};
    std::memcpy(received.data(), CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof received);
    for (const int each : received) {
        EXPECT_TRUE(OwnDescriptors::guards(each));
        EXPECT_EQ(close(each), 0);
    }
    for (const int each : ends) EXPECT_EQ(close(each), 0);
}

TEST_F(OwnDescriptorsTest, OfNetlinkToo) {
    int descriptor = -1;
    {
        const auto socket = host::NetlinkSocket::open("");
        ASSERT_TRUE(socket) << socket.error().what;
        descriptor = socket->fd();
        EXPECT_GT(descriptor, 2 * low);
        EXPECT_TRUE(OwnDescriptors::guards(descriptor));
    }
    EXPECT_FALSE(OwnDescriptors::guards(descriptor));
    EXPECT_LT(fcntl(descriptor, F_GETFD), 0) << "closed";
}

TEST_F(OwnDescriptorsTest, OfFilesThatAreClosedAsStreams) {
    const int descriptor = open("/dev/null", O_WRONLY);
    auto* const file = fdopen(descriptor, "w");
    ASSERT_NE(file, nullptr);
    EXPECT_EQ(std::fclose(file), 0);
    EXPECT_FALSE(OwnDescriptors::guards(descriptor));
}

TEST_F(OwnDescriptorsTest, AChildMayCloseItsCopies) {
    const int descriptor = eventfd(0, 0);
    const auto child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
    if (child == 0) _exit(OwnDescriptors::guards(descriptor) ? 1 : 0);
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(OwnDescriptors::guards(descriptor));
    EXPECT_EQ(close(descriptor), 0);
}

TEST_F(OwnDescriptorsTest, ANumberThatWasClosedPastTheLibraryIsTheProgramsAgain) {
    const int descriptor = eventfd(0, 0), other = eventfd(0, 0);
    syscall(SYS_close, descriptor);
    EXPECT_FALSE(OwnDescriptors::guards(descriptor)) << "another file may be put in its place";
    const auto of_program = static_cast<int>(syscall(SYS_eventfd2, 0, 0));
    ASSERT_EQ(dup2(of_program, descriptor), descriptor);
    EXPECT_FALSE(OwnDescriptors::guards(descriptor));
    EXPECT_EQ(OwnDescriptors::next(std::min(descriptor, other)), other);
    EXPECT_TRUE(OwnDescriptors::is_lost(descriptor));
    EXPECT_FALSE(OwnDescriptors::is_lost(other));
    EXPECT_EQ(close(descriptor), -1) << "by the library";
    EXPECT_GE(fcntl(descriptor, F_GETFD), 0) << "the program's file is still open";
    EXPECT_FALSE(OwnDescriptors::is_lost(descriptor));
    for (const int each : {of_program, descriptor, other}) EXPECT_EQ(close(each), 0);
}

TEST_F(OwnDescriptorsTest, FailuresAreLeftAlone) {
    errno = 0;
    EXPECT_EQ(open("/nowhere/to/be/found", O_RDONLY), -1);
    EXPECT_EQ(errno, ENOENT);
    errno = EAGAIN;
    EXPECT_EQ(OwnDescriptors::adopt(-1), -1);
    EXPECT_EQ(errno, EAGAIN);
}

}  // namespace
}  // namespace verbline::verbs
